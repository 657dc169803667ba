// Single-width integer and fixed-point arithmetic, comparisons, multiply-add (RVV 1.0 sections 11.1, 11.5 to 11.13, 12.1 to 12.4).
#include "handlers.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

void binary(Core& c, const Insn& i) {
  require_single_width(c, i);
  VectorUnit& v = c.vector;
  if (v.vl == 0) return;
  u64 storage;
  const Operand b = second_operand(c, i, storage);
  const bool in_place = v.whole(v.sew, i.unmasked);
  u64* dest = in_place ? v.reg(i.rd) : v.temp(0);
  v.kernels.binary[i.sub][v.sew](dest, v.reg(i.rs2), b.data, flat_elements(v, v.sew), b.scalar, v.vxrm);
  if (!in_place) v.commit(i.rd, dest, v.sew, i.unmasked);
}

void multiply_add(Core& c, const Insn& i) {
  require_single_width(c, i);
  VectorUnit& v = c.vector;
  if (v.vl == 0) return;
  u64 storage;
  const Operand a = second_operand(c, i, storage);
  const bool in_place = v.whole(v.sew, i.unmasked);
  u64* dest = in_place ? v.reg(i.rd) : v.temp(0);
  if (!in_place) std::memcpy(dest, v.reg(i.rd), VectorUnit::planes_of(v.vl, v.sew) * v.lanes * 8);
  v.kernels.ternary[i.sub][v.sew](dest, a.data, v.reg(i.rs2), flat_elements(v, v.sew), a.scalar);
  if (!in_place) v.commit(i.rd, dest, v.sew, i.unmasked);
}

void compare(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_group(i.rs2, v.lmul);
  v.require_narrowing(i.rd, 0, i.rs2, v.lmul);
  if (i.form == Form::vector) {
    v.require_group(i.rs1, v.lmul);
    v.require_narrowing(i.rd, 0, i.rs1, v.lmul);
  }
  if (v.vl == 0) return;
  u64 storage;
  const Operand b = second_operand(c, i, storage);
  v.kernels.binary[i.sub][v.sew](v.temp(0), v.reg(i.rs2), b.data, flat_elements(v, v.sew), b.scalar, 0);
  v.kernels.pack_mask(v.temp(1), v.temp(0), v.vl, v.sew, v.lanes);
  v.commit_mask(i.rd, v.temp(1), i.unmasked);
}

}  // namespace

void add_vector_integer(HandlerTable& t) {
#define VX(NAME, BIN) t.set(Op::NAME##_VV, binary, BIN), t.set(Op::NAME##_VX, binary, BIN)
#define VXI(NAME, BIN) VX(NAME, BIN), t.set(Op::NAME##_VI, binary, BIN)
  VXI(VADD, Bin::add);
  VX(VSUB, Bin::sub);
  t.set(Op::VRSUB_VX, binary, Bin::rsub), t.set(Op::VRSUB_VI, binary, Bin::rsub);
  VX(VMINU, Bin::minu), VX(VMIN, Bin::min), VX(VMAXU, Bin::maxu), VX(VMAX, Bin::max);
  VXI(VAND, Bin::and_), VXI(VOR, Bin::or_), VXI(VXOR, Bin::xor_);
  VXI(VSLL, Bin::sll), VXI(VSRL, Bin::srl), VXI(VSRA, Bin::sra);
  VX(VMUL, Bin::mul), VX(VMULH, Bin::mulh), VX(VMULHU, Bin::mulhu), VX(VMULHSU, Bin::mulhsu);
  VX(VDIVU, Bin::divu), VX(VDIV, Bin::div), VX(VREMU, Bin::remu), VX(VREM, Bin::rem);
  VXI(VSADDU, Bin::saddu), VXI(VSADD, Bin::sadd), VX(VSSUBU, Bin::ssubu), VX(VSSUB, Bin::ssub);
  VX(VAADDU, Bin::aaddu), VX(VAADD, Bin::aadd), VX(VASUBU, Bin::asubu), VX(VASUB, Bin::asub);
  VX(VSMUL, Bin::smul), VXI(VSSRL, Bin::ssrl), VXI(VSSRA, Bin::ssra);
#undef VX
#undef VXI
#define CVX(NAME, BIN) t.set(Op::NAME##_VV, compare, BIN), t.set(Op::NAME##_VX, compare, BIN)
#define CVXI(NAME, BIN) CVX(NAME, BIN), t.set(Op::NAME##_VI, compare, BIN)
  CVXI(VMSEQ, Bin::seq), CVXI(VMSNE, Bin::sne);
  CVX(VMSLTU, Bin::sltu), CVX(VMSLT, Bin::slt), CVXI(VMSLEU, Bin::sleu), CVXI(VMSLE, Bin::sle);
  t.set(Op::VMSGTU_VX, compare, Bin::sgtu), t.set(Op::VMSGTU_VI, compare, Bin::sgtu);
  t.set(Op::VMSGT_VX, compare, Bin::sgt), t.set(Op::VMSGT_VI, compare, Bin::sgt);
#undef CVX
#undef CVXI
#define ACC(NAME, TERN) t.set(Op::NAME##_VV, multiply_add, TERN), t.set(Op::NAME##_VX, multiply_add, TERN)
  ACC(VMACC, Tern::macc), ACC(VNMSAC, Tern::nmsac), ACC(VMADD, Tern::madd), ACC(VNMSUB, Tern::nmsub);
#undef ACC
}

}  // namespace torchsim::iss
