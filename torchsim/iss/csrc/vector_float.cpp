// Vector floating point except conversions (RVV 1.0 sections 13.2 to 13.14).
#include "handlers.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

void binary(Core& c, const Insn& i) {
  require_single_width(c, i);
  VectorUnit& v = c.vector;
  const Rounding mode = require_float(c);
  if (v.vl == 0) return;
  u64 storage;
  const Operand b = second_operand(c, i, storage);
  const bool in_place = v.whole(v.sew, i.unmasked);
  u64* dest = in_place ? v.reg(i.rd) : v.temp(0);
  c.floats.binary(static_cast<Bin>(i.sub), v.sew, dest, v.reg(i.rs2), b.data, flat_elements(v, v.sew), b.scalar, mode);
  if (!in_place) v.commit(i.rd, dest, v.sew, i.unmasked);
}

void inject_sign(Core& c, const Insn& i) {
  require_single_width(c, i);
  VectorUnit& v = c.vector;
  require_float(c);
  if (v.vl == 0) return;
  u64 storage;
  const Operand b = second_operand(c, i, storage);
  v.kernels.binary[i.sub][v.sew](v.temp(0), v.reg(i.rs2), b.data, flat_elements(v, v.sew), b.scalar, 0);
  v.commit(i.rd, v.temp(0), v.sew, i.unmasked);
}

void compare(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  require_float(c);
  v.require_group(i.rs2, v.lmul);
  v.require_narrowing(i.rd, 0, i.rs2, v.lmul);
  if (i.form == Form::vector) {
    v.require_group(i.rs1, v.lmul);
    v.require_narrowing(i.rd, 0, i.rs1, v.lmul);
  }
  if (v.vl == 0) return;
  u64 storage;
  const Operand b = second_operand(c, i, storage);
  c.floats.binary(static_cast<Bin>(i.sub), v.sew, v.temp(0), v.reg(i.rs2), b.data, flat_elements(v, v.sew), b.scalar, Rounding::rne);
  v.kernels.pack_mask(v.temp(1), v.temp(0), v.vl, v.sew, v.lanes);
  v.commit_mask(i.rd, v.temp(1), i.unmasked);
}

void multiply_add(Core& c, const Insn& i) {
  require_single_width(c, i);
  VectorUnit& v = c.vector;
  const Rounding mode = require_float(c);
  if (v.vl == 0) return;
  u64 storage;
  const Operand a = second_operand(c, i, storage);
  const bool in_place = v.whole(v.sew, i.unmasked);
  u64* dest = in_place ? v.reg(i.rd) : v.temp(0);
  if (!in_place) std::memcpy(dest, v.reg(i.rd), VectorUnit::planes_of(v.vl, v.sew) * v.lanes * 8);
  c.floats.ternary(static_cast<Tern>(i.sub), v.sew, dest, a.data, v.reg(i.rs2), flat_elements(v, v.sew), a.scalar, mode);
  if (!in_place) v.commit(i.rd, dest, v.sew, i.unmasked);
}

/// Source of `planes` planes at the current SEW converted to twice the width, exactly.
void widen_float(Core& c, u64* to, const u64* from) {
  VectorUnit& v = c.vector;
  v.kernels.widen(to, from, VectorUnit::planes_of(v.vl, v.sew), v.sew, v.lanes, false);
  const std::size_t n = flat_elements(v, v.sew + 1);
  if (v.sew == 2)
    v.kernels.f32_to_f64(reinterpret_cast<double*>(to), to, n);
  else
    v.kernels.f16_to_f32_in_place(reinterpret_cast<u32*>(to), n);
}

Operand widened_float(Core& c, const Insn& i, u64* space, u64& storage) {
  VectorUnit& v = c.vector;
  if (i.form == Form::vector) {
    widen_float(c, space, v.reg(i.rs1));
    return {space, false};
  }
  storage = round_double(Format::of(v.sew + 1), to_double(v.sew, scalar_operand(c, i)), Rounding::rne);
  return {&storage, true};
}

void require_wide(Core& c, const Insn& i, bool wide_vs2) {
  VectorUnit& v = c.vector;
  v.require_widenable();
  require_float(c);
  v.require_dest(i.rd, v.lmul + 1, i.unmasked);
  v.require_group(i.rs2, v.lmul + (wide_vs2 ? 1 : 0));
  if (!wide_vs2) v.require_widening(i.rd, v.lmul + 1, i.rs2, v.lmul);
  if (i.form == Form::vector) {
    v.require_group(i.rs1, v.lmul);
    v.require_widening(i.rd, v.lmul + 1, i.rs1, v.lmul);
  }
}

template <bool WideVs2>
void widening(Core& c, const Insn& i) {
  require_wide(c, i, WideVs2);
  VectorUnit& v = c.vector;
  const Rounding mode = require_float(c);
  if (v.vl == 0) return;
  const void* a = v.reg(i.rs2);
  if constexpr (!WideVs2) {
    widen_float(c, v.temp(0), v.reg(i.rs2));
    a = v.temp(0);
  }
  u64 storage;
  const Operand b = widened_float(c, i, v.temp(1), storage);
  c.floats.binary(static_cast<Bin>(i.sub), v.sew + 1, v.temp(2), a, b.data, flat_elements(v, v.sew + 1), b.scalar, mode);
  v.commit(i.rd, v.temp(2), v.sew + 1, i.unmasked);
}

void widening_multiply_add(Core& c, const Insn& i) {
  require_wide(c, i, false);
  VectorUnit& v = c.vector;
  const Rounding mode = require_float(c);
  if (v.vl == 0) return;
  widen_float(c, v.temp(0), v.reg(i.rs2));
  u64 storage;
  const Operand a = widened_float(c, i, v.temp(1), storage);
  std::memcpy(v.temp(2), v.reg(i.rd), VectorUnit::planes_of(v.vl, v.sew + 1) * v.lanes * 8);
  c.floats.ternary(static_cast<Tern>(i.sub), v.sew + 1, v.temp(2), a.data, v.temp(0), flat_elements(v, v.sew + 1), a.scalar, mode);
  v.commit(i.rd, v.temp(2), v.sew + 1, i.unmasked);
}

void require_unary(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  require_float(c);
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, v.lmul);
}

void square_root(Core& c, const Insn& i) {
  require_unary(c, i);
  VectorUnit& v = c.vector;
  const Rounding mode = require_float(c);
  if (v.vl == 0) return;
  c.floats.square_root(v.sew, v.temp(0), v.reg(i.rs2), flat_elements(v, v.sew), mode);
  v.commit(i.rd, v.temp(0), v.sew, i.unmasked);
}

/// F(sew_log, bits, rounding) on each element.
template <u64 (*F)(unsigned, u64, Rounding)>
void bitwise(Core& c, const Insn& i) {
  require_unary(c, i);
  VectorUnit& v = c.vector;
  const Rounding mode = require_float(c);
  if (v.vl == 0) return;
  const std::size_t n = flat_elements(v, v.sew);
  const auto* from = reinterpret_cast<const u8*>(v.reg(i.rs2));
  auto* to = reinterpret_cast<u8*>(v.temp(0));
  const std::size_t bytes = std::size_t{1} << v.sew;
  for (std::size_t k = 0; k < n; ++k) {
    u64 bits = 0;
    std::memcpy(&bits, from + k * bytes, bytes);
    bits = F(v.sew, bits, mode);
    std::memcpy(to + k * bytes, &bits, bytes);
  }
  v.commit(i.rd, v.temp(0), v.sew, i.unmasked);
}

u64 class_of(unsigned sew_log, u64 bits, Rounding) { return classify(sew_log, bits); }
u64 rsqrt7_of(unsigned sew_log, u64 bits, Rounding) { return estimate_rsqrt7(sew_log, bits); }

}  // namespace

void add_vector_float(HandlerTable& t) {
#define VF(NAME, HANDLER, SUB) t.set(Op::NAME##_VV, HANDLER, SUB), t.set(Op::NAME##_VF, HANDLER, SUB)
  VF(VFADD, binary, Bin::fadd), VF(VFSUB, binary, Bin::fsub), VF(VFMUL, binary, Bin::fmul), VF(VFDIV, binary, Bin::fdiv);
  VF(VFMIN, binary, Bin::fmin), VF(VFMAX, binary, Bin::fmax);
  t.set(Op::VFRSUB_VF, binary, Bin::frsub), t.set(Op::VFRDIV_VF, binary, Bin::frdiv);
  VF(VFSGNJ, inject_sign, Bin::fsgnj), VF(VFSGNJN, inject_sign, Bin::fsgnjn), VF(VFSGNJX, inject_sign, Bin::fsgnjx);
  VF(VMFEQ, compare, Bin::feq), VF(VMFNE, compare, Bin::fne), VF(VMFLT, compare, Bin::flt), VF(VMFLE, compare, Bin::fle);
  t.set(Op::VMFGT_VF, compare, Bin::fgt), t.set(Op::VMFGE_VF, compare, Bin::fge);
  VF(VFMACC, multiply_add, Tern::fmacc), VF(VFNMACC, multiply_add, Tern::fnmacc), VF(VFMSAC, multiply_add, Tern::fmsac),
      VF(VFNMSAC, multiply_add, Tern::fnmsac);
  VF(VFMADD, multiply_add, Tern::fmadd), VF(VFNMADD, multiply_add, Tern::fnmadd), VF(VFMSUB, multiply_add, Tern::fmsub),
      VF(VFNMSUB, multiply_add, Tern::fnmsub);
  VF(VFWADD, widening<false>, Bin::fadd), VF(VFWSUB, widening<false>, Bin::fsub), VF(VFWMUL, widening<false>, Bin::fmul);
  VF(VFWMACC, widening_multiply_add, Tern::fmacc), VF(VFWNMACC, widening_multiply_add, Tern::fnmacc);
  VF(VFWMSAC, widening_multiply_add, Tern::fmsac), VF(VFWNMSAC, widening_multiply_add, Tern::fnmsac);
#undef VF
  t.set(Op::VFWADD_WV, widening<true>, Bin::fadd), t.set(Op::VFWADD_WF, widening<true>, Bin::fadd);
  t.set(Op::VFWSUB_WV, widening<true>, Bin::fsub), t.set(Op::VFWSUB_WF, widening<true>, Bin::fsub);
  t.set(Op::VFSQRT_V, square_root);
  t.set(Op::VFCLASS_V, bitwise<class_of>), t.set(Op::VFRSQRT7_V, bitwise<rsqrt7_of>), t.set(Op::VFREC7_V, bitwise<estimate_rec7>);
}

}  // namespace torchsim::iss
