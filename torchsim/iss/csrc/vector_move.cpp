// Moves, merges, element 0, whole registers (RVV 1.0 sections 11.15, 11.16, 13.15, 13.16, 16.1, 16.2, 16.6), lane 0 for scalars.
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

/// A word that repeats the low 1 << sew_log bytes of value.
u64 replicate(u64 value, unsigned sew_log) {
  switch (sew_log) {
    case 0:
      return (value & 0xff) * 0x0101'0101'0101'0101;
    case 1:
      return (value & 0xffff) * 0x0001'0001'0001'0001;
    case 2:
      return (value & 0xffff'ffff) * 0x0000'0001'0000'0001;
    default:
      return value;
  }
}

void require_float_form(const Core& c, const Insn& i) {
  if (i.form == Form::floating) require_float(c);
}

void move(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  require_float_form(c, i);
  v.require_group(i.rd, v.lmul);
  if (i.form == Form::vector) v.require_group(i.rs1, v.lmul);
  if (v.vl == 0) return;
  if (i.form == Form::vector) {
    if (i.rd != i.rs1) v.commit(i.rd, v.reg(i.rs1), v.sew, true);
    return;
  }
  const u64 word = replicate(scalar_operand(c, i), v.sew);
  const std::size_t words = VectorUnit::planes_of(v.vl, v.sew) * v.lanes;
  const bool in_place = v.whole(v.sew, true);
  u64* dest = in_place ? v.reg(i.rd) : v.temp(0);
  std::fill_n(dest, words, word);
  if (!in_place) v.commit(i.rd, dest, v.sew, true);
}

void merge(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  require_float_form(c, i);
  v.require_dest(i.rd, v.lmul, false);
  v.require_group(i.rs2, v.lmul);
  if (i.form == Form::vector) v.require_group(i.rs1, v.lmul);
  if (v.vl == 0) return;
  const std::size_t planes = VectorUnit::planes_of(v.vl, v.sew), words = planes * v.lanes;
  const u64* mask = v.expanded_mask(planes, v.sew);
  u64* value = v.temp(0);
  std::memcpy(value, v.reg(i.rs2), words * 8);
  if (i.form == Form::vector) {
    v.kernels.blend(value, v.reg(i.rs1), mask, words);
  } else {
    std::fill_n(v.temp(1), words, replicate(scalar_operand(c, i), v.sew));
    v.kernels.blend(value, v.temp(1), mask, words);
  }
  v.commit(i.rd, value, v.sew, true);
}

/// vmv.s.x, vfmv.s.f: element 0 of every lane.
void move_to_element(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  require_float_form(c, i);
  if (v.vl == 0) return;
  std::fill_n(v.temp(0), v.lanes, scalar_operand(c, i));
  v.kernels.blend_uniform(v.reg(i.rd), v.temp(0), VectorUnit::tail_bits(1, v.sew), v.lanes);
}

u64 element_zero(Core& c, const Insn& i) {
  const VectorUnit& v = c.vector;
  v.require();
  const u64* group = c.vector.reg(i.rs2);
  const u64 value = lane_element(v, group, 0, v.sew, 0);
  if (c.options.check_divergence) {
    for (unsigned l = 1; l < v.lanes; ++l) {
      if (lane_element(v, group, 0, v.sew, l) != value)
        raise(Cause::lane_divergence, "element 0 of v%u: lane %u differs from lane 0", i.rs2, l);
    }
  }
  return value;
}

void move_from_element(Core& c, const Insn& i) { c.write_x(i.rd, extend_scalar(element_zero(c, i), c.vector.sew, true)); }
void move_float_from_element(Core& c, const Insn& i) {
  c.vector.require();
  require_float(c);
  c.f[i.rd] = box(element_zero(c, i), c.vector.sew);
}

void move_whole(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const unsigned count = i.sub;
  if (i.rd % count || i.rs2 % count) raise(Cause::illegal_instruction, "v%u, v%u cannot start groups of %u registers", i.rd, i.rs2, count);
  std::memmove(v.reg(i.rd), v.reg(i.rs2), std::size_t{count} * kPlanesPerRegister * v.lanes * 8);
}

}  // namespace

void add_vector_move(HandlerTable& t) {
  t.set(Op::VMV_V_V, move), t.set(Op::VMV_V_X, move), t.set(Op::VMV_V_I, move), t.set(Op::VFMV_V_F, move);
  t.set(Op::VMERGE_VVM, merge), t.set(Op::VMERGE_VXM, merge), t.set(Op::VMERGE_VIM, merge), t.set(Op::VFMERGE_VFM, merge);
  t.set(Op::VMV_S_X, move_to_element), t.set(Op::VFMV_S_F, move_to_element);
  t.set(Op::VMV_X_S, move_from_element), t.set(Op::VFMV_F_S, move_float_from_element);
  t.set(Op::VMV1R_V, move_whole, u8{1}), t.set(Op::VMV2R_V, move_whole, u8{2}), t.set(Op::VMV4R_V, move_whole, u8{4}),
      t.set(Op::VMV8R_V, move_whole, u8{8});
}

}  // namespace torchsim::iss
