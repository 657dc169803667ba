// Operands of vector arithmetic.
#pragma once
#include "core.hpp"

namespace torchsim::iss {

/// Second operand: a register group or one scalar element (for which `data` points to little-endian bits).
struct Operand {
  const void* data;
  bool scalar;
};

/// Bits of f[r] as a format of 1 << sew_log bytes: values that are not boxed read as the canonical NaN.
inline u64 unbox(u64 bits, unsigned sew_log) {
  if (sew_log == 3) return bits;
  const unsigned width = 8u << sew_log;
  if (bits >> width != ~u64{0} >> width) return Format::of(sew_log).canonical_nan();
  return bits & ((u64{1} << width) - 1);
}
inline u64 box(u64 bits, unsigned sew_log) { return sew_log == 3 ? bits : bits | ~u64{0} << (8u << sew_log); }

/// Checks of every floating-point vector instruction: SEW 16 to 64, and a legal frm even where nothing is rounded.
inline Rounding require_float(const Core& c) {
  if (c.vector.sew == 0) raise(Cause::illegal_instruction, "floating point with SEW 8");
  return c.rounding(7);
}

/// The scalar value of a scalar, immediate or floating operand at the current SEW, sign-extended where it is an integer.
inline u64 scalar_operand(const Core& c, const Insn& i) {
  switch (i.form) {
    case Form::scalar:
      return c.x[i.rs1];
    case Form::immediate:
      return static_cast<u64>(static_cast<i64>(i.imm));
    case Form::floating:
      return unbox(c.f[i.rs1], c.vector.sew);
    default:
      return 0;
  }
}

inline Operand second_operand(Core& c, const Insn& i, u64& storage) {
  if (i.form == Form::vector) return {c.vector.reg(i.rs1), false};
  storage = scalar_operand(c, i);
  return {&storage, true};
}

/// Checks of a single-width operation vd, vs2, operand.
inline void require_single_width(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, v.lmul);
  if (i.form == Form::vector) v.require_group(i.rs1, v.lmul);
}

/// Elements that a kernel processes so that all planes up to vl are covered.
inline std::size_t flat_elements(const VectorUnit& v, unsigned sew_log) {
  return VectorUnit::planes_of(v.vl, sew_log) * (8u >> sew_log) * v.lanes;
}

/// Extend a scalar from `sew_log` to 64 bits.
inline u64 extend_scalar(u64 value, unsigned sew_log, bool is_signed) {
  if (sew_log == 3) return value;
  const unsigned shift = 64 - (8u << sew_log);
  return is_signed ? static_cast<u64>(static_cast<i64>(value << shift) >> shift) : value << shift >> shift;
}

/// Second operand widened to twice the SEW; vectors go to `space`.
inline Operand widened_operand(Core& c, const Insn& i, bool is_signed, u64* space, u64& storage) {
  VectorUnit& v = c.vector;
  if (i.form == Form::vector) {
    v.kernels.widen(space, v.reg(i.rs1), VectorUnit::planes_of(v.vl, v.sew), v.sew, v.lanes, is_signed);
    return {space, false};
  }
  storage = extend_scalar(scalar_operand(c, i), v.sew, is_signed);
  return {&storage, true};
}

}  // namespace torchsim::iss
