// RV64F, D and Zfh arithmetic. Accrued exception flags: accrual.cpp.
#include "handlers.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

unsigned rm_of(const Insn& i) { return i.word >> 12 & 7; }

template <unsigned Log>
u64 source(const Core& c, unsigned r) {
  return unbox(c.f[r], Log);
}

template <unsigned Log>
void binary(Core& c, const Insn& i) {
  const u64 a = source<Log>(c, i.rs1), b = source<Log>(c, i.rs2);
  u64 d = 0;
  c.floats.binary(static_cast<Bin>(i.sub), Log, &d, &a, &b, 1, false, c.rounding(rm_of(i)));
  c.f[i.rd] = box(d, Log);
}

/// fmin, fmax: no rounding mode in the word.
template <unsigned Log>
void select(Core& c, const Insn& i) {
  const u64 a = source<Log>(c, i.rs1), b = source<Log>(c, i.rs2);
  u64 d = 0;
  c.floats.binary(static_cast<Bin>(i.sub), Log, &d, &a, &b, 1, false, Rounding::rne);
  c.f[i.rd] = box(d, Log);
}

template <unsigned Log>
void compare(Core& c, const Insn& i) {
  const u64 a = source<Log>(c, i.rs1), b = source<Log>(c, i.rs2);
  u64 d = 0;
  c.floats.binary(static_cast<Bin>(i.sub), Log, &d, &a, &b, 1, false, Rounding::rne);
  c.write_x(i.rd, d & 1);
}

// fmadd = a*b+c, fmsub = a*b-c, fnmsub = -(a*b)+c, fnmadd = -(a*b)-c: the accumulating forms with d = rs3
template <unsigned Log>
void fused(Core& c, const Insn& i) {
  const u64 a = source<Log>(c, i.rs1), b = source<Log>(c, i.rs2);
  u64 d = source<Log>(c, i.rs3);
  c.floats.ternary(static_cast<Tern>(i.sub), Log, &d, &a, &b, 1, false, c.rounding(rm_of(i)));
  c.f[i.rd] = box(d, Log);
}

template <unsigned Log>
void square_root(Core& c, const Insn& i) {
  const u64 a = source<Log>(c, i.rs1);
  u64 d = 0;
  c.floats.square_root(Log, &d, &a, 1, c.rounding(rm_of(i)));
  c.f[i.rd] = box(d, Log);
}

template <unsigned Log>
void inject_sign(Core& c, const Insn& i) {
  const u64 sign = Format::of(Log).sign_bit();
  const u64 a = source<Log>(c, i.rs1), b = source<Log>(c, i.rs2);
  const u64 from = i.sub == 0 ? b : i.sub == 1 ? ~b : a ^ b;
  c.f[i.rd] = box((a & ~sign) | (from & sign), Log);
}

template <unsigned Log>
void fclass(Core& c, const Insn& i) {
  c.write_x(i.rd, classify(Log, source<Log>(c, i.rs1)));
}

/// sub: bit 0 unsigned, bit 1 64-bit.
template <unsigned Log>
void to_int(Core& c, const Insn& i) {
  const unsigned bits = i.sub & 2 ? 64 : 32;
  const u64 value = to_integer(to_double(Log, source<Log>(c, i.rs1)), bits, !(i.sub & 1), c.rounding(rm_of(i)));
  c.write_x(i.rd, bits == 32 ? static_cast<u64>(static_cast<i64>(static_cast<i32>(value))) : value);
}

template <unsigned Log>
void from_int(Core& c, const Insn& i) {
  u64 value = c.x[i.rs1];
  const bool is_signed = !(i.sub & 1);
  if (!(i.sub & 2)) value = extend_scalar(value, 2, is_signed);
  c.f[i.rd] = box(from_integer(Format::of(Log), value, is_signed, c.rounding(rm_of(i))), Log);
}

template <unsigned To, unsigned From>
void convert(Core& c, const Insn& i) {
  c.f[i.rd] = box(round_double(Format::of(To), to_double(From, source<From>(c, i.rs1)), c.rounding(rm_of(i))), To);
}

template <unsigned Log>
void move_to_x(Core& c, const Insn& i) {
  c.write_x(i.rd, extend_scalar(c.f[i.rs1], Log, true));
}
template <unsigned Log>
void move_to_f(Core& c, const Insn& i) {
  c.f[i.rd] = box(extend_scalar(c.x[i.rs1], Log, false), Log);
}

}  // namespace

void add_scalar_float(HandlerTable& t) {
#define WIDTH(S, LOG)                                                                                                                    \
  t.set(Op::FADD_##S, binary<LOG>, Bin::fadd), t.set(Op::FSUB_##S, binary<LOG>, Bin::fsub), t.set(Op::FMUL_##S, binary<LOG>, Bin::fmul); \
  t.set(Op::FDIV_##S, binary<LOG>, Bin::fdiv), t.set(Op::FSQRT_##S, square_root<LOG>);                                                   \
  t.set(Op::FMIN_##S, select<LOG>, Bin::fmin), t.set(Op::FMAX_##S, select<LOG>, Bin::fmax);                                              \
  t.set(Op::FEQ_##S, compare<LOG>, Bin::feq), t.set(Op::FLT_##S, compare<LOG>, Bin::flt), t.set(Op::FLE_##S, compare<LOG>, Bin::fle);    \
  t.set(Op::FMADD_##S, fused<LOG>, Tern::fmacc), t.set(Op::FMSUB_##S, fused<LOG>, Tern::fmsac);                                          \
  t.set(Op::FNMSUB_##S, fused<LOG>, Tern::fnmsac), t.set(Op::FNMADD_##S, fused<LOG>, Tern::fnmacc);                                      \
  t.set(Op::FSGNJ_##S, inject_sign<LOG>, u8{0}), t.set(Op::FSGNJN_##S, inject_sign<LOG>, u8{1}),                                         \
      t.set(Op::FSGNJX_##S, inject_sign<LOG>, u8{2});                                                                                    \
  t.set(Op::FCLASS_##S, fclass<LOG>);                                                                                                    \
  t.set(Op::FCVT_W_##S, to_int<LOG>, u8{0}), t.set(Op::FCVT_WU_##S, to_int<LOG>, u8{1}), t.set(Op::FCVT_L_##S, to_int<LOG>, u8{2}),      \
      t.set(Op::FCVT_LU_##S, to_int<LOG>, u8{3});                                                                                        \
  t.set(Op::FCVT_##S##_W, from_int<LOG>, u8{0}), t.set(Op::FCVT_##S##_WU, from_int<LOG>, u8{1}),                                         \
      t.set(Op::FCVT_##S##_L, from_int<LOG>, u8{2}), t.set(Op::FCVT_##S##_LU, from_int<LOG>, u8{3})
  WIDTH(H, 1);
  WIDTH(S, 2);
  WIDTH(D, 3);
#undef WIDTH
  t.set(Op::FMV_X_H, move_to_x<1>), t.set(Op::FMV_X_W, move_to_x<2>), t.set(Op::FMV_X_D, move_to_x<3>);
  t.set(Op::FMV_H_X, move_to_f<1>), t.set(Op::FMV_W_X, move_to_f<2>), t.set(Op::FMV_D_X, move_to_f<3>);
  t.set(Op::FCVT_S_H, convert<2, 1>), t.set(Op::FCVT_D_H, convert<3, 1>), t.set(Op::FCVT_D_S, convert<3, 2>);
  t.set(Op::FCVT_H_S, convert<1, 2>), t.set(Op::FCVT_H_D, convert<1, 3>), t.set(Op::FCVT_S_D, convert<2, 3>);
}

}  // namespace torchsim::iss
