#include "fault.hpp"

#include <algorithm>
#include <vector>

#include "accrual.hpp"
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

namespace isa = npu::isa;

constexpr std::array<std::string_view, static_cast<std::size_t>(FaultKind::count)> kKindNames{
    "decode_as", "rounding", "tail",    "masked_off",     "mask_inverted", "mask_ignored",   "length",        "sew",
    "immediate", "rs1",      "rs2",     "swapped",        "flags_dropped", "zero_extended",  "sign_extended", "nan_payload",
    "zero_sign", "flushed",  "unboxed", "boxing_ignored", "last_lane",     "lanes_exchanged"};
constexpr std::array<std::string_view, 8> kTargetNames{"none", "sew", "twice_sew", "mask", "bits8", "bits16", "bits32", "bits64"};

void run_right(Core& c, const Insn& i) {
  if (c.accruing() && accrues(i.op))
    run_accruing(c, i);
  else
    handler_table()[i.op].handler ? handler_table()[i.op].handler(c, i) : illegal(c, i);
}

std::vector<u64> copy_of(const u64* words, std::size_t count) { return {words, words + count}; }

/// Element widths in bits of the destination; 1 for masks.
unsigned element_bits(const Core& c, FaultTarget target) {
  switch (target) {
    case FaultTarget::none:
      return 0;
    case FaultTarget::sew:
      return 8u << c.vector.sew;
    case FaultTarget::twice_sew:
      return 16u << c.vector.sew;
    case FaultTarget::mask:
      return 1;
    default:
      return 8u << (static_cast<unsigned>(target) - static_cast<unsigned>(FaultTarget::bits8));
  }
}

/// Elements of the destination's register group.
u64 group_elements(const Core& c, FaultTarget target) {
  if (target == FaultTarget::mask) return kVlenBytes * 8;
  const u64 most = c.vector.vlmax(c.vector.sew, c.vector.lmul);
  return std::max<u64>(most, kVlenBytes * 8 / element_bits(c, target));  // a fractional group has its register to itself
}

/// new = f(old) for element e of the destination in one lane; the group may run past v31.
template <class F>
void change(Core& c, unsigned rd, unsigned bits, u64 e, unsigned lane, F f) {
  const u64 at = e * bits;
  u64* file = c.vector.reg((rd + static_cast<unsigned>(at / (kVlenBytes * 8))) % 32);
  u64& word = file[at % (kVlenBytes * 8) / 64 * c.lanes + lane];
  const unsigned shift = at % 64;
  const u64 keep = bits == 64 ? ~u64{0} : (u64{1} << bits) - 1;
  word = (word & ~(keep << shift)) | ((f(word >> shift & keep) & keep) << shift);
}

/// Calls f(element, lane) for the elements of the destination in [first, last) that `which` selects.
template <class F>
void elements(Core& c, u64 first, u64 last, F f) {
  for (u64 e = first; e < last; ++e) {
    for (unsigned lane = 0; lane < c.lanes; ++lane) f(e, lane);
  }
}

/// What a fault makes of the bits of a float result.
u64 spoiled(FaultKind kind, unsigned log, u64 bits) {
  const Format f = Format::of(log);
  const u64 magnitude = bits & (f.sign_bit() - 1);
  if (kind == FaultKind::nan_payload) return magnitude > f.infinity() ? bits | f.sign_bit() : bits;
  if (kind == FaultKind::zero_sign) return magnitude == 0 ? 0 : bits;
  return magnitude < u64{1} << f.fraction_bits ? bits & f.sign_bit() : bits;  // flushed
}

void spoil_floats(Core& c, const Insn& i, const Fault& fault) {
  const unsigned bits = element_bits(c, fault.target);
  if (bits < 16 || bits > 64) return;
  const unsigned log = bits == 16 ? 1 : bits == 32 ? 2 : 3;
  if (i.uses & kWriteF) {
    c.f[i.rd] = box(spoiled(fault.kind, log, unbox(c.f[i.rd], log)), log);
    return;
  }
  const u64 count = i.cost == Cost::VECTOR_REDUCE ? std::min<u64>(c.vector.vl, 1) : c.vector.vl;
  elements(c, 0, count, [&](u64 e, unsigned lane) {
    if (!i.unmasked && i.cost != Cost::VECTOR_REDUCE && !mask_bit(c.vector, c.vector.mask(), e, lane)) return;
    change(c, i.rd, bits, e, lane, [&](u64 old) { return spoiled(fault.kind, log, old); });
  });
}

/// Run with the rounding mode exchanged.
void run_rounding(Core& c, Insn m, const Fault& fault) {
  const auto from = static_cast<unsigned>(fault.amount / 8);
  const auto to = static_cast<u8>(fault.amount % 8);
  const bool fixed_point = m.kind == Kind::vector && !std::string_view(isa::row(m.op).name).starts_with("vf");
  const u8 frm = c.frm, vxrm = c.vector.vxrm;
  if (fixed_point) {
    if (vxrm == from) c.vector.vxrm = to;
  } else if (m.kind == Kind::vector || (m.word >> 12 & 7) == 7) {
    if (frm == from) c.frm = to;
  } else if ((m.word >> 12 & 7) == from) {
    m.word = (m.word & ~0x7000u) | u32{to} << 12;
  }
  run_right(c, m);
  c.frm = frm;
  c.vector.vxrm = vxrm;
}

void run_mask_inverted(Core& c, const Insn& i) {
  const std::size_t words = std::size_t{kPlanesPerRegister} * c.lanes;
  u64* v0 = c.vector.reg(0);
  const std::vector<u64> before = copy_of(v0, words);
  for (std::size_t k = 0; k < words; ++k) v0[k] = ~v0[k];
  run_right(c, i);
  if (!(i.uses & kWriteV) || i.rd != 0) std::copy(before.begin(), before.end(), v0);
}

/// Change vl or SEW for one instruction, within what the registers hold.
void run_reshaped(Core& c, const Insn& i, const Fault& fault) {
  VectorUnit& v = c.vector;
  if (v.vill) return run_right(c, i);
  const u64 vl = v.vl;
  const unsigned sew = v.sew;
  if (fault.kind == FaultKind::length)
    v.vl = static_cast<u64>(std::clamp<i64>(static_cast<i64>(vl) + fault.amount, 0, static_cast<i64>(v.vlmax(v.sew, v.lmul))));
  else
    v.sew = static_cast<unsigned>(std::clamp<i64>(static_cast<i64>(sew) + fault.amount, 0, 3));
  v.vl = std::min(v.vl, v.vlmax(v.sew, v.lmul));
  run_right(c, i);
  v.vl = vl;
  v.sew = sew;
}

/// The length that a vset instruction sets.
void run_vset(Core& c, const Insn& i, const Fault& fault) {
  run_right(c, i);
  if (c.vector.vill) return;
  const i64 most = static_cast<i64>(c.vector.vlmax(c.vector.sew, c.vector.lmul));
  c.vector.vl = static_cast<u64>(std::clamp<i64>(static_cast<i64>(c.vector.vl) + fault.amount, 0, most));
  c.write_x(i.rd, c.vector.vl);
}

void run_with_operand(Core& c, const Insn& i, unsigned reg, i64 amount) {
  if (reg == 0) return run_right(c, i);
  const u64 before = c.x[reg], wrong = before + static_cast<u64>(amount);
  c.x[reg] = wrong;
  run_right(c, i);
  if (!((i.uses & kWriteX) && i.rd == reg)) c.x[reg] = before;
}

void run_boxing_ignored(Core& c, const Insn& i, const Fault& fault) {
  const unsigned bits = fault.target == FaultTarget::none ? 8u << c.vector.sew : element_bits(c, fault.target);
  if (bits < 16 || bits > 32) return run_right(c, i);
  const std::array<u64, 32> before = c.f;
  for (u64& value : c.f) value |= ~u64{0} << bits;
  run_right(c, i);
  const u64 result = c.f[i.rd];
  c.f = before;
  if (i.uses & kWriteF) c.f[i.rd] = result;
}

void run_last_lane(Core& c, const Insn& i) {
  const unsigned lane = c.lanes - 1;
  LaneMemory& spad = c.memory.spad();
  std::vector<u64> registers, memory;
  for (std::size_t p = 0; p < std::size_t{32} * kPlanesPerRegister; ++p) registers.push_back(c.vector.reg(0)[p * c.lanes + lane]);
  for (std::size_t p = 0; p < spad.bytes() / 8; ++p) memory.push_back(spad.plane(p)[lane]);
  run_right(c, i);
  for (std::size_t p = 0; p < registers.size(); ++p) c.vector.reg(0)[p * c.lanes + lane] = registers[p];
  for (std::size_t p = 0; p < memory.size(); ++p) spad.plane(p)[lane] = memory[p];
}

void run_lanes_exchanged(Core& c, const Insn& i) {
  auto exchange = [&] {
    if (c.lanes < 2) return;
    for (std::size_t p = 0; p < std::size_t{32} * kPlanesPerRegister; ++p)
      std::swap(c.vector.reg(0)[p * c.lanes], c.vector.reg(0)[p * c.lanes + 1]);
  };
  exchange();
  run_right(c, i);
  exchange();
}

Insn reencoded(const Insn& i, u32 word) {
  Insn m = decode(word);
  m.size = i.size;
  return m;
}

}  // namespace

std::optional<FaultKind> fault_kind(std::string_view name) {
  const auto* found = std::find(kKindNames.begin(), kKindNames.end(), name);
  return found == kKindNames.end() ? std::nullopt : std::optional(static_cast<FaultKind>(found - kKindNames.begin()));
}

std::optional<FaultTarget> fault_target(std::string_view name) {
  const auto* found = std::find(kTargetNames.begin(), kTargetNames.end(), name);
  return found == kTargetNames.end() ? std::nullopt : std::optional(static_cast<FaultTarget>(found - kTargetNames.begin()));
}

std::optional<Op> operation(std::string_view name) {
  for (const isa::Row& row : isa::kRows)
    if (name == row.name) return row.op;
  return std::nullopt;
}

Insn with_fault(const Fault& fault, u32 fetched, const Insn& decoded) {
  const isa::Row& row = isa::row(fault.op);
  const bool hit = row.bytes == 2 ? (fetched & 3) != 3 && (fetched & row.mask) == row.match : decoded.op == fault.op;
  if (!hit) return decoded;
  if (fault.kind == FaultKind::decode_as) {
    Insn other = decode((fetched & ~row.mask) | isa::row(fault.sibling).match);
    other.fetched = fetched;  // what is compared at the next fetch
    return other;
  }
  Insn insn = decoded;
  insn.handler = run_faulty;
  return insn;
}

void run_faulty(Core& c, const Insn& i) {
  const Fault& fault = *c.fault;
  Insn m = i;
  switch (fault.kind) {
    case FaultKind::rounding:
      return run_rounding(c, i, fault);
    case FaultKind::mask_inverted:
      return run_mask_inverted(c, i);
    case FaultKind::mask_ignored:
      return run_right(c, reencoded(i, i.word | 1u << 25));
    case FaultKind::length:
      return i.cost == Cost::VECTOR_CONFIG ? run_vset(c, i, fault) : run_reshaped(c, i, fault);
    case FaultKind::sew:
      return run_reshaped(c, i, fault);
    case FaultKind::immediate:
      m.imm += static_cast<i32>(fault.amount);
      return run_right(c, m);
    case FaultKind::rs1:
      return run_with_operand(c, i, i.rs1, fault.amount);
    case FaultKind::rs2:
      return run_with_operand(c, i, i.rs2, fault.amount);
    case FaultKind::swapped:
      return run_right(c, reencoded(i, (i.word & ~0x01ff'8000u) | u32{i.rs1} << 20 | u32{i.rs2} << 15));
    case FaultKind::boxing_ignored:
      return run_boxing_ignored(c, i, fault);
    case FaultKind::last_lane:
      return run_last_lane(c, i);
    case FaultKind::lanes_exchanged:
      return run_lanes_exchanged(c, i);
    default:
      break;
  }
  const u8 fflags = c.fflags, vxsat = c.vxsat;
  std::vector<u64> mask;
  if (fault.kind == FaultKind::masked_off) mask = copy_of(c.vector.mask(), std::size_t{kPlanesPerRegister} * c.lanes);
  run_right(c, i);
  const unsigned bits = element_bits(c, fault.target);
  auto ones = [](u64) { return ~u64{0}; };
  switch (fault.kind) {
    case FaultKind::tail:
      elements(c, fault.amount ? static_cast<u64>(fault.amount) : c.vector.vl, group_elements(c, fault.target),
               [&](u64 e, unsigned lane) { change(c, i.rd, bits, e, lane, ones); });
      break;
    case FaultKind::masked_off:
      if (i.unmasked) break;
      elements(c, 0, c.vector.vl, [&](u64 e, unsigned lane) {
        if (!mask_bit(c.vector, mask.data(), e, lane)) change(c, i.rd, bits, e, lane, ones);
      });
      break;
    case FaultKind::flags_dropped:
      c.fflags = static_cast<u8>((c.fflags & ~fault.amount) | (fflags & fault.amount));
      if (fault.amount & kSaturated) c.vxsat = vxsat;
      break;
    case FaultKind::zero_extended:
      c.write_x(i.rd, c.x[i.rd] & ((u64{1} << fault.amount) - 1));
      break;
    case FaultKind::sign_extended:
      c.write_x(i.rd, static_cast<u64>(static_cast<i64>(c.x[i.rd] << (64 - fault.amount)) >> (64 - fault.amount)));
      break;
    case FaultKind::unboxed:
      if (bits < 64) c.f[i.rd] &= (u64{1} << bits) - 1;
      break;
    default:
      spoil_floats(c, i, fault);
  }
}

}  // namespace torchsim::iss
