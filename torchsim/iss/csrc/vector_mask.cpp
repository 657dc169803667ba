// Mask registers (RVV 1.0 section 15) and vid, viota.
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

enum Logic : u8 { and_, nand, andn, or_, nor, orn, xor_, xnor };

u64 apply(Logic op, u64 a, u64 b) {
  switch (op) {
    case and_:
      return a & b;
    case nand:
      return ~(a & b);
    case andn:
      return a & ~b;
    case or_:
      return a | b;
    case nor:
      return ~(a | b);
    case orn:
      return a | ~b;
    case xor_:
      return a ^ b;
    default:
      return ~(a ^ b);
  }
}

void logic(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const std::size_t words = static_cast<std::size_t>((v.vl + 63) / 64) * v.lanes;
  const u64 *a = v.reg(i.rs2), *b = v.reg(i.rs1);
  for (std::size_t k = 0; k < words; ++k) v.temp(0)[k] = apply(static_cast<Logic>(i.sub), a[k], b[k]);
  v.commit_mask(i.rd, v.temp(0), true);
}

/// f(lane) must agree with lane 0 when divergence is checked.
template <class F>
u64 lane_zero(Core& c, const char* what, F f) {
  const u64 value = f(0u);
  if (c.options.check_divergence) {
    for (unsigned l = 1; l < c.lanes; ++l) {
      if (f(l) != value) raise(Cause::lane_divergence, "%s: lane %u differs from lane 0", what, l);
    }
  }
  return value;
}

bool active(const VectorUnit& v, const Insn& i, const u64* v0, u64 e, unsigned l) { return i.unmasked || mask_bit(v, v0, e, l); }

void count_population(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const u64 *bits = v.reg(i.rs2), *v0 = v.mask();
  c.write_x(i.rd, lane_zero(c, "vcpop.m", [&](unsigned l) {
              u64 count = 0;
              for (u64 e = 0; e < v.vl; ++e) count += mask_bit(v, bits, e, l) && active(v, i, v0, e, l);
              return count;
            }));
}

void find_first(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const u64 *bits = v.reg(i.rs2), *v0 = v.mask();
  c.write_x(i.rd, lane_zero(c, "vfirst.m", [&](unsigned l) {
              for (u64 e = 0; e < v.vl; ++e) {
                if (mask_bit(v, bits, e, l) && active(v, i, v0, e, l)) return e;
              }
              return ~u64{0};
            }));
}

enum First : u8 { before, only, including };

void set_by_first(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  if (!i.unmasked && i.rd == 0) raise(Cause::illegal_instruction, "a masked instruction overwrites v0");
  v.require_disjoint(i.rd, 0, i.rs2, 0);
  const u64 *bits = v.reg(i.rs2), *v0 = v.mask();
  u64* out = v.temp(0);
  std::fill_n(out, static_cast<std::size_t>((v.vl + 63) / 64) * v.lanes, u64{0});
  for (unsigned l = 0; l < v.lanes; ++l) {
    bool seen = false;
    for (u64 e = 0; e < v.vl; ++e) {
      if (!active(v, i, v0, e, l)) continue;
      const bool here = !seen && mask_bit(v, bits, e, l);
      const bool set = i.sub == before ? !seen && !here : i.sub == only ? here : !seen;
      seen = seen || here;
      out[e / 64 * v.lanes + l] |= static_cast<u64>(set) << (e % 64);
    }
  }
  v.commit_mask(i.rd, out, i.unmasked);
}

void iota(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_disjoint(i.rd, v.lmul, i.rs2, 0);
  const u64 *bits = v.reg(i.rs2), *v0 = v.mask();
  u64* value = v.temp(0);
  for (unsigned l = 0; l < v.lanes; ++l) {
    u64 count = 0;
    for (u64 e = 0; e < v.vl; ++e) {
      set_lane_element(v, value, e, v.sew, l, count);
      count += active(v, i, v0, e, l) && mask_bit(v, bits, e, l);
    }
  }
  v.commit(i.rd, value, v.sew, i.unmasked);
}

void element_index(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_dest(i.rd, v.lmul, i.unmasked);
  const std::size_t planes = VectorUnit::planes_of(v.vl, v.sew);
  const unsigned per_plane = 8u >> v.sew;
  for (std::size_t p = 0; p < planes; ++p) {
    u64 word = 0;
    for (unsigned k = 0; k < per_plane; ++k) {
      const u64 keep = v.sew == 3 ? ~u64{0} : (u64{1} << (8u << v.sew)) - 1;
      word |= ((p * per_plane + k) & keep) << (k * (8u << v.sew));
    }
    std::fill_n(v.temp(0) + p * v.lanes, v.lanes, word);
  }
  v.commit(i.rd, v.temp(0), v.sew, i.unmasked);
}

}  // namespace

void add_vector_mask(HandlerTable& t) {
  t.set(Op::VMAND_MM, logic, and_), t.set(Op::VMNAND_MM, logic, nand), t.set(Op::VMANDN_MM, logic, andn), t.set(Op::VMOR_MM, logic, or_);
  t.set(Op::VMNOR_MM, logic, nor), t.set(Op::VMORN_MM, logic, orn), t.set(Op::VMXOR_MM, logic, xor_), t.set(Op::VMXNOR_MM, logic, xnor);
  t.set(Op::VCPOP_M, count_population), t.set(Op::VFIRST_M, find_first);
  t.set(Op::VMSBF_M, set_by_first, before), t.set(Op::VMSOF_M, set_by_first, only), t.set(Op::VMSIF_M, set_by_first, including);
  t.set(Op::VIOTA_M, iota), t.set(Op::VID_V, element_index);
}

}  // namespace torchsim::iss
