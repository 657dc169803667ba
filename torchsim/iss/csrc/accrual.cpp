#include "accrual.hpp"

#include <algorithm>
#include <array>

#include "float_flags.hpp"
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

using Function = u8 (*)(Core&, const Insn&, unsigned sub);
struct Entry {
  Function function = nullptr;
  u8 sub = 0;
};
using Table = std::array<Entry, static_cast<std::size_t>(Op::COUNT)>;

unsigned rm_of(const Insn& i) { return i.word >> 12 & 7; }

// --- scalar ---

template <unsigned Log>
u64 source(const Core& c, unsigned r) {
  return unbox(c.f[r], Log);
}

/// Fixed: no rounding mode in the word.
template <unsigned Log, bool Fixed>
u8 scalar_binary(Core& c, const Insn& i, unsigned sub) {
  const Rounding mode = Fixed ? Rounding::rne : c.rounding(rm_of(i));
  return flags_of_binary(static_cast<Bin>(sub), Log, source<Log>(c, i.rs1), source<Log>(c, i.rs2), mode);
}

template <unsigned Log>
u8 scalar_fused(Core& c, const Insn& i, unsigned sub) {
  return flags_of_ternary(static_cast<Tern>(sub), Log, source<Log>(c, i.rs3), source<Log>(c, i.rs1), source<Log>(c, i.rs2),
                          c.rounding(rm_of(i)));
}

template <unsigned Log>
u8 scalar_square_root(Core& c, const Insn& i, unsigned) {
  return flags_of_square_root(Log, source<Log>(c, i.rs1));
}

/// sub: bit 0 unsigned, bit 1 64-bit.
template <unsigned Log>
u8 scalar_to_integer(Core& c, const Insn& i, unsigned sub) {
  return flags_of_to_integer(Log, source<Log>(c, i.rs1), sub & 2 ? 64 : 32, !(sub & 1), c.rounding(rm_of(i)));
}

template <unsigned Log>
u8 scalar_from_integer(Core& c, const Insn& i, unsigned sub) {
  const bool is_signed = !(sub & 1);
  return flags_of_from_integer(Log, extend_scalar(c.x[i.rs1], sub & 2 ? 3 : 2, is_signed), is_signed, c.rounding(rm_of(i)));
}

template <unsigned To, unsigned From>
u8 scalar_convert(Core& c, const Insn& i, unsigned) {
  return flags_of_convert(From, To, source<From>(c, i.rs1), c.rounding(rm_of(i)));
}

// --- vector ---

/// Element of a group, whatever the group: the flags are worked out before the handler has checked the registers.
u64 element(Core& c, unsigned reg, u64 e, unsigned sew_log, unsigned lane) {
  const u64 byte = e << sew_log;
  const u64* file = c.vector.reg((reg + static_cast<unsigned>(byte / kVlenBytes)) % 32);
  return lane_element(c.vector, file, byte % kVlenBytes >> sew_log, sew_log, lane);
}

bool active(Core& c, const Insn& i, u64 e, unsigned lane) { return i.unmasked || mask_bit(c.vector, c.vector.mask(), e, lane); }

/// Second operand (vs1, or a scalar) of element e, sign-extended where it is an integer scalar.
u64 operand(Core& c, const Insn& i, u64 e, unsigned lane) {
  return i.form == Form::vector ? element(c, i.rs1, e, c.vector.sew, lane) : scalar_operand(c, i);
}

/// Union of f(element, lane) over the active elements of all lanes.
template <class F>
u8 over_active(Core& c, const Insn& i, F f) {
  u8 flags = 0;
  for (u64 e = 0; e < c.vector.vl; ++e) {
    for (unsigned lane = 0; lane < c.lanes; ++lane)
      if (active(c, i, e, lane)) flags |= f(e, lane);
  }
  return flags;
}

constexpr unsigned kWide1 = 0x40, kWide2 = 0x80, kOperation = 0x3f;  // operands that are twice as wide as SEW; bits of Entry::sub

/// An operand brought to twice its width, and what that raises: a signaling NaN is quieted.
struct Widened {
  u64 bits;
  u8 flags;
};
Widened widened(unsigned sew_log, u64 bits) {
  return {round_double(Format::of(sew_log + 1), to_double(sew_log, bits), Rounding::rne),
          flags_of_convert(sew_log, sew_log + 1, bits, Rounding::rne)};
}

u8 vector_binary(Core& c, const Insn& i, unsigned sub) {
  const unsigned sew = c.vector.sew;
  const Rounding mode = require_float(c);
  return over_active(c, i, [&](u64 e, unsigned lane) {
    return flags_of_binary(static_cast<Bin>(sub), sew, element(c, i.rs2, e, sew, lane), operand(c, i, e, lane), mode);
  });
}

/// Float operations whose result has twice the width of vs1; kWide2: vs2 has it too.
u8 vector_widening(Core& c, const Insn& i, unsigned sub) {
  const unsigned sew = c.vector.sew;
  const Rounding mode = require_float(c);
  if (sew == 3) return 0;
  return over_active(c, i, [&](u64 e, unsigned lane) {
    const Widened b = widened(sew, operand(c, i, e, lane));
    const Widened a = sub & kWide2 ? Widened{element(c, i.rs2, e, sew + 1, lane), 0} : widened(sew, element(c, i.rs2, e, sew, lane));
    return static_cast<u8>(a.flags | b.flags | flags_of_binary(static_cast<Bin>(sub & kOperation), sew + 1, a.bits, b.bits, mode));
  });
}

u8 vector_ternary(Core& c, const Insn& i, unsigned sub) {
  const unsigned sew = c.vector.sew;
  const Rounding mode = require_float(c);
  return over_active(c, i, [&](u64 e, unsigned lane) {
    return flags_of_ternary(static_cast<Tern>(sub), sew, element(c, i.rd, e, sew, lane), operand(c, i, e, lane),
                            element(c, i.rs2, e, sew, lane), mode);
  });
}

u8 vector_widening_ternary(Core& c, const Insn& i, unsigned sub) {
  const unsigned sew = c.vector.sew;
  const Rounding mode = require_float(c);
  if (sew == 3) return 0;
  return over_active(c, i, [&](u64 e, unsigned lane) {
    const Widened a = widened(sew, operand(c, i, e, lane)), b = widened(sew, element(c, i.rs2, e, sew, lane));
    const u8 flags = flags_of_ternary(static_cast<Tern>(sub), sew + 1, element(c, i.rd, e, sew + 1, lane), a.bits, b.bits, mode);
    return static_cast<u8>(a.flags | b.flags | flags);
  });
}

template <u8 (*F)(unsigned, u64)>
u8 vector_unary(Core& c, const Insn& i, unsigned) {
  require_float(c);
  return over_active(c, i, [&](u64 e, unsigned lane) { return F(c.vector.sew, element(c, i.rs2, e, c.vector.sew, lane)); });
}

/// Conversions: kind, fixed rounding, and which side is wide.
enum Conversion : unsigned { f_to_x, f_to_xu, x_to_f, xu_to_f, f_to_f, kind_mask = 7, truncate = 8, to_odd = 16 };

u8 vector_convert(Core& c, const Insn& i, unsigned sub) {
  const unsigned from = c.vector.sew + (sub & kWide2 ? 1 : 0), to = c.vector.sew + (sub & kWide1 ? 1 : 0);
  const unsigned kind = sub & kind_mask;
  const bool from_float = kind == f_to_x || kind == f_to_xu || kind == f_to_f;
  const Rounding current = c.rounding(7), mode = sub & truncate ? Rounding::rtz : sub & to_odd ? Rounding::odd : current;
  if (from > 3 || to > 3 || (from_float && from == 0) || (kind >= x_to_f && to == 0)) return 0;
  return over_active(c, i, [&](u64 e, unsigned lane) -> u8 {
    const u64 bits = element(c, i.rs2, e, from, lane);
    if (kind == f_to_f) return flags_of_convert(from, to, bits, mode);
    if (from_float) return flags_of_to_integer(from, bits, 8u << to, kind == f_to_x, mode);
    return flags_of_from_integer(to, extend_scalar(bits, from, kind == x_to_f), kind == x_to_f, mode);
  });
}

/// Sums, minima and maxima in element order. kWide1: the accumulator has twice the width.
u8 vector_reduction(Core& c, const Insn& i, unsigned sub) {
  const unsigned sew = c.vector.sew, wide = sew + (sub & kWide1 ? 1 : 0);
  const auto op = static_cast<Bin>(sub & kOperation);
  const Rounding mode = require_float(c);
  if (wide > 3 || c.vector.vl == 0) return 0;
  u8 flags = 0;
  for (unsigned lane = 0; lane < c.lanes; ++lane) {
    u64 sum = element(c, i.rs1, 0, wide, lane);
    bool any = false;
    for (u64 e = 0; e < c.vector.vl; ++e) {
      if (!active(c, i, e, lane)) continue;
      any = true;
      Widened next{element(c, i.rs2, e, sew, lane), 0};
      if (wide != sew) next = widened(sew, next.bits);
      flags |= next.flags | flags_of_binary(op, wide, sum, next.bits, mode);
      c.floats.binary(op, wide, &sum, &sum, &next.bits, 1, false, mode);
    }
    if (!any && (i.op == Op::VFREDUSUM_VS || i.op == Op::VFWREDUSUM_VS) && is_signaling(wide, sum)) flags |= kInvalid;
  }
  return flags;
}

// --- fixed point ---

using Wide = __int128;

/// Exact value of an element as an integer.
Wide value_of(u64 bits, unsigned sew_log, bool is_signed) {
  return is_signed ? static_cast<Wide>(static_cast<i64>(extend_scalar(bits, sew_log, true)))
                   : static_cast<Wide>(extend_scalar(bits, sew_log, false));
}
bool fits(Wide value, unsigned sew_log, bool is_signed) {
  const Wide span = Wide{1} << (8u << sew_log);
  return is_signed ? -span / 2 <= value && value < span / 2 : 0 <= value && value < span;
}

u8 saturating(Core& c, const Insn& i, unsigned sub) {
  const unsigned sew = c.vector.sew;
  const auto op = static_cast<Bin>(sub);
  const bool is_signed = op == Bin::sadd || op == Bin::ssub || op == Bin::smul;
  return over_active(c, i, [&](u64 e, unsigned lane) -> u8 {
    const Wide a = value_of(element(c, i.rs2, e, sew, lane), sew, is_signed), b = value_of(operand(c, i, e, lane), sew, is_signed);
    if (op == Bin::smul) return a == b && a == -(Wide{1} << ((8u << sew) - 1)) ? kSaturated : 0;  // the one product that does not fit
    return fits(op == Bin::sadd || op == Bin::saddu ? a + b : a - b, sew, is_signed) ? 0 : kSaturated;
  });
}

/// Value shifted right by `shift` bits and rounded as vxrm says (RVV 1.0 section 3.8).
Wide rounded_shift(Wide value, unsigned shift, unsigned vxrm) {
  if (shift == 0) return value;
  const Wide kept = value >> shift, rest = value - (kept << shift), half = Wide{1} << (shift - 1);
  switch (vxrm) {
    case 0:
      return kept + (rest >= half);
    case 1:
      return kept + (rest > half || (rest == half && (kept & 1)));
    case 2:
      return kept;
    default:
      return kept | (rest != 0);
  }
}

template <bool Signed>
u8 clip(Core& c, const Insn& i, unsigned) {
  const unsigned sew = c.vector.sew;
  if (sew == 3) return 0;
  return over_active(c, i, [&](u64 e, unsigned lane) -> u8 {
    const unsigned shift = static_cast<unsigned>(operand(c, i, e, lane)) & ((16u << sew) - 1);
    const Wide value = rounded_shift(value_of(element(c, i.rs2, e, sew + 1, lane), sew + 1, Signed), shift, c.vector.vxrm);
    return fits(value, sew, Signed) ? 0 : kSaturated;
  });
}

void add_scalar(Table& t) {
  auto set = [&](Op op, Function function, auto sub) { t[static_cast<std::size_t>(op)] = {function, static_cast<u8>(sub)}; };
#define WIDTH(S, LOG)                                                                                               \
  set(Op::FADD_##S, scalar_binary<LOG, false>, Bin::fadd), set(Op::FSUB_##S, scalar_binary<LOG, false>, Bin::fsub); \
  set(Op::FMUL_##S, scalar_binary<LOG, false>, Bin::fmul), set(Op::FDIV_##S, scalar_binary<LOG, false>, Bin::fdiv); \
  set(Op::FMIN_##S, scalar_binary<LOG, true>, Bin::fmin), set(Op::FMAX_##S, scalar_binary<LOG, true>, Bin::fmax);   \
  set(Op::FEQ_##S, scalar_binary<LOG, true>, Bin::feq), set(Op::FLT_##S, scalar_binary<LOG, true>, Bin::flt);       \
  set(Op::FLE_##S, scalar_binary<LOG, true>, Bin::fle), set(Op::FSQRT_##S, scalar_square_root<LOG>, 0);             \
  set(Op::FMADD_##S, scalar_fused<LOG>, Tern::fmacc), set(Op::FMSUB_##S, scalar_fused<LOG>, Tern::fmsac);           \
  set(Op::FNMSUB_##S, scalar_fused<LOG>, Tern::fnmsac), set(Op::FNMADD_##S, scalar_fused<LOG>, Tern::fnmacc);       \
  set(Op::FCVT_W_##S, scalar_to_integer<LOG>, 0), set(Op::FCVT_WU_##S, scalar_to_integer<LOG>, 1);                  \
  set(Op::FCVT_L_##S, scalar_to_integer<LOG>, 2), set(Op::FCVT_LU_##S, scalar_to_integer<LOG>, 3);                  \
  set(Op::FCVT_##S##_W, scalar_from_integer<LOG>, 0), set(Op::FCVT_##S##_WU, scalar_from_integer<LOG>, 1);          \
  set(Op::FCVT_##S##_L, scalar_from_integer<LOG>, 2), set(Op::FCVT_##S##_LU, scalar_from_integer<LOG>, 3)
  WIDTH(H, 1);
  WIDTH(S, 2);
  WIDTH(D, 3);
#undef WIDTH
  set(Op::FCVT_S_H, scalar_convert<2, 1>, 0), set(Op::FCVT_D_H, scalar_convert<3, 1>, 0), set(Op::FCVT_D_S, scalar_convert<3, 2>, 0);
  set(Op::FCVT_H_S, scalar_convert<1, 2>, 0), set(Op::FCVT_H_D, scalar_convert<1, 3>, 0), set(Op::FCVT_S_D, scalar_convert<2, 3>, 0);
}

void add_vector(Table& t) {
  auto set = [&](Op op, Function function, auto sub, unsigned flags = 0) {
    t[static_cast<std::size_t>(op)] = {function, static_cast<u8>(static_cast<unsigned>(sub) | flags)};
  };
#define VF(NAME, FUNCTION, SUB) set(Op::NAME##_VV, FUNCTION, SUB), set(Op::NAME##_VF, FUNCTION, SUB)
  VF(VFADD, vector_binary, Bin::fadd), VF(VFSUB, vector_binary, Bin::fsub), VF(VFMUL, vector_binary, Bin::fmul);
  VF(VFDIV, vector_binary, Bin::fdiv), VF(VFMIN, vector_binary, Bin::fmin), VF(VFMAX, vector_binary, Bin::fmax);
  set(Op::VFRSUB_VF, vector_binary, Bin::frsub), set(Op::VFRDIV_VF, vector_binary, Bin::frdiv);
  VF(VMFEQ, vector_binary, Bin::feq), VF(VMFNE, vector_binary, Bin::fne), VF(VMFLT, vector_binary, Bin::flt);
  VF(VMFLE, vector_binary, Bin::fle), set(Op::VMFGT_VF, vector_binary, Bin::fgt), set(Op::VMFGE_VF, vector_binary, Bin::fge);
  VF(VFMACC, vector_ternary, Tern::fmacc), VF(VFNMACC, vector_ternary, Tern::fnmacc), VF(VFMSAC, vector_ternary, Tern::fmsac);
  VF(VFNMSAC, vector_ternary, Tern::fnmsac), VF(VFMADD, vector_ternary, Tern::fmadd), VF(VFNMADD, vector_ternary, Tern::fnmadd);
  VF(VFMSUB, vector_ternary, Tern::fmsub), VF(VFNMSUB, vector_ternary, Tern::fnmsub);
  VF(VFWADD, vector_widening, Bin::fadd), VF(VFWSUB, vector_widening, Bin::fsub), VF(VFWMUL, vector_widening, Bin::fmul);
  VF(VFWMACC, vector_widening_ternary, Tern::fmacc), VF(VFWNMACC, vector_widening_ternary, Tern::fnmacc);
  VF(VFWMSAC, vector_widening_ternary, Tern::fmsac), VF(VFWNMSAC, vector_widening_ternary, Tern::fnmsac);
#undef VF
  set(Op::VFWADD_WV, vector_widening, Bin::fadd, kWide2), set(Op::VFWADD_WF, vector_widening, Bin::fadd, kWide2);
  set(Op::VFWSUB_WV, vector_widening, Bin::fsub, kWide2), set(Op::VFWSUB_WF, vector_widening, Bin::fsub, kWide2);
  set(Op::VFSQRT_V, vector_unary<flags_of_square_root>, 0), set(Op::VFRSQRT7_V, vector_unary<flags_of_rsqrt7>, 0);
  set(Op::VFREC7_V, vector_unary<flags_of_rec7>, 0);
  set(Op::VFREDUSUM_VS, vector_reduction, Bin::fadd), set(Op::VFREDOSUM_VS, vector_reduction, Bin::fadd);
  set(Op::VFREDMIN_VS, vector_reduction, Bin::fmin), set(Op::VFREDMAX_VS, vector_reduction, Bin::fmax);
  set(Op::VFWREDUSUM_VS, vector_reduction, Bin::fadd, kWide1), set(Op::VFWREDOSUM_VS, vector_reduction, Bin::fadd, kWide1);
}

void add_conversions(Table& t) {
  auto set = [&](Op op, unsigned sub) { t[static_cast<std::size_t>(op)] = {vector_convert, static_cast<u8>(sub)}; };
  set(Op::VFCVT_XU_F_V, f_to_xu), set(Op::VFCVT_X_F_V, f_to_x), set(Op::VFCVT_F_XU_V, xu_to_f), set(Op::VFCVT_F_X_V, x_to_f);
  set(Op::VFCVT_RTZ_XU_F_V, f_to_xu | truncate), set(Op::VFCVT_RTZ_X_F_V, f_to_x | truncate);
  set(Op::VFWCVT_XU_F_V, f_to_xu | kWide1), set(Op::VFWCVT_X_F_V, f_to_x | kWide1), set(Op::VFWCVT_F_XU_V, xu_to_f | kWide1);
  set(Op::VFWCVT_F_X_V, x_to_f | kWide1), set(Op::VFWCVT_F_F_V, f_to_f | kWide1);
  set(Op::VFWCVT_RTZ_XU_F_V, f_to_xu | truncate | kWide1), set(Op::VFWCVT_RTZ_X_F_V, f_to_x | truncate | kWide1);
  set(Op::VFNCVT_XU_F_W, f_to_xu | kWide2), set(Op::VFNCVT_X_F_W, f_to_x | kWide2), set(Op::VFNCVT_F_XU_W, xu_to_f | kWide2);
  set(Op::VFNCVT_F_X_W, x_to_f | kWide2), set(Op::VFNCVT_F_F_W, f_to_f | kWide2), set(Op::VFNCVT_ROD_F_F_W, f_to_f | to_odd | kWide2);
  set(Op::VFNCVT_RTZ_XU_F_W, f_to_xu | truncate | kWide2), set(Op::VFNCVT_RTZ_X_F_W, f_to_x | truncate | kWide2);
}

void add_fixed_point(Table& t) {
  auto set = [&](Op op, Function function, Bin sub) { t[static_cast<std::size_t>(op)] = {function, static_cast<u8>(sub)}; };
#define VX(NAME, SUB) set(Op::NAME##_VV, saturating, SUB), set(Op::NAME##_VX, saturating, SUB)
  VX(VSADDU, Bin::saddu), VX(VSADD, Bin::sadd), VX(VSSUBU, Bin::ssubu), VX(VSSUB, Bin::ssub), VX(VSMUL, Bin::smul);
#undef VX
  set(Op::VSADDU_VI, saturating, Bin::saddu), set(Op::VSADD_VI, saturating, Bin::sadd);
  for (Op op : {Op::VNCLIPU_WV, Op::VNCLIPU_WX, Op::VNCLIPU_WI}) set(op, clip<false>, Bin{});
  for (Op op : {Op::VNCLIP_WV, Op::VNCLIP_WX, Op::VNCLIP_WI}) set(op, clip<true>, Bin{});
}

const Entry& entry_of(Op op) {
  static const Table table = [] {
    Table t{};
    add_scalar(t);
    add_vector(t);
    add_conversions(t);
    add_fixed_point(t);
    return t;
  }();
  return table[static_cast<std::size_t>(op)];
}

}  // namespace

bool accrues(Op op) { return entry_of(op).function != nullptr; }

void run_accruing(Core& c, const Insn& i) {
  const Entry& entry = entry_of(i.op);
  const bool undefined = i.kind == Kind::vector && c.vector.vill;  // the handler traps
  const u8 raised = undefined ? 0 : entry.function(c, i, entry.sub);
  handler_table()[i.op].handler(c, i);
  c.fflags |= raised & 0x1f;
  c.vxsat |= raised / kSaturated;
}

bool observes_flags(std::span<const u8> image) {
  for (std::size_t at = 0; at + 4 <= image.size(); at += 2) {
    if ((image[at] & 0x7f) != 0x73) [[likely]]
      continue;
    u32 word;
    std::memcpy(&word, image.data() + at, 4);
    const unsigned funct3 = word >> 12 & 7, csr = word >> 20, rd = word >> 7 & 31;
    const bool reads = (funct3 & 3) > 1 || ((funct3 & 3) == 1 && rd != 0);  // csrrw with rd x0 only writes
    if (reads && (csr == 0x001 || csr == 0x003 || csr == 0x009 || csr == 0x00f)) return true;
  }
  return false;
}

}  // namespace torchsim::iss
