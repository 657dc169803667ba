// Slides, gathers, compress (RVV 1.0 section 16).
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

u64 offset_operand(const Core& c, const Insn& i) { return i.form == Form::scalar ? c.x[i.rs1] : static_cast<u64>(static_cast<i64>(i.imm)); }

/// Element `from` of `source` to element `to` of `dest`, all lanes.
void copy_element(VectorUnit& v, u64* dest, u64 to, const u64* source, u64 from) {
  get_element(v, v.temp(6), source, from, v.sew);
  put_element(v, dest, v.temp(6), to, v.sew);
}

void zero_element(VectorUnit& v, u64* dest, u64 to) {
  std::fill_n(v.temp(6), v.lanes, u64{0});
  put_element(v, dest, v.temp(6), to, v.sew);
}

/// One value in every lane.
void broadcast_element(VectorUnit& v, u64* dest, u64 to, u64 value) {
  for (unsigned l = 0; l < v.lanes; ++l) set_lane_element(v, dest, to, v.sew, l, value);
}

void require_slide(Core& c, const Insn& i, bool up) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, v.lmul);
  if (up) v.require_disjoint(i.rd, v.lmul, i.rs2, v.lmul);
}

void slide_up(Core& c, const Insn& i) {
  require_slide(c, i, true);
  VectorUnit& v = c.vector;
  const u64 offset = offset_operand(c, i);
  if (offset >= v.vl) return;
  u64* value = v.temp(0);
  std::memcpy(value, v.reg(i.rd), VectorUnit::planes_of(v.vl, v.sew) * v.lanes * 8);
  if (((offset << v.sew) & 7) == 0) {
    std::memcpy(value + (offset << v.sew) / 8 * v.lanes, v.reg(i.rs2), VectorUnit::planes_of(v.vl - offset, v.sew) * v.lanes * 8);
  } else {
    for (u64 e = offset; e < v.vl; ++e) copy_element(v, value, e, v.reg(i.rs2), e - offset);
  }
  v.commit(i.rd, value, v.sew, i.unmasked);
}

void slide_down(Core& c, const Insn& i) {
  require_slide(c, i, false);
  VectorUnit& v = c.vector;
  if (v.vl == 0) return;
  const u64 offset = offset_operand(c, i), most = v.vlmax(v.sew, v.lmul);
  const u64 moved = offset >= most ? 0 : std::min(v.vl, most - offset);
  u64* value = v.temp(0);
  if (moved && ((offset << v.sew) & 7) == 0) {
    std::memcpy(value, v.reg(i.rs2) + (offset << v.sew) / 8 * v.lanes, VectorUnit::planes_of(moved, v.sew) * v.lanes * 8);
  } else {
    for (u64 e = 0; e < moved; ++e) copy_element(v, value, e, v.reg(i.rs2), e + offset);
  }
  for (u64 e = moved; e < v.vl; ++e) zero_element(v, value, e);
  v.commit(i.rd, value, v.sew, i.unmasked);
}

u64 slid_in(Core& c, const Insn& i) {
  if (i.form == Form::floating) require_float(c);
  return scalar_operand(c, i);
}

void slide1_up(Core& c, const Insn& i) {
  require_slide(c, i, true);
  VectorUnit& v = c.vector;
  const u64 first = slid_in(c, i);
  if (v.vl == 0) return;
  u64* value = v.temp(0);
  broadcast_element(v, value, 0, first);
  for (u64 e = 1; e < v.vl; ++e) copy_element(v, value, e, v.reg(i.rs2), e - 1);
  v.commit(i.rd, value, v.sew, i.unmasked);
}

void slide1_down(Core& c, const Insn& i) {
  require_slide(c, i, false);
  VectorUnit& v = c.vector;
  const u64 last = slid_in(c, i);
  if (v.vl == 0) return;
  u64* value = v.temp(0);
  for (u64 e = 0; e + 1 < v.vl; ++e) copy_element(v, value, e, v.reg(i.rs2), e + 1);
  broadcast_element(v, value, v.vl - 1, last);
  v.commit(i.rd, value, v.sew, i.unmasked);
}

/// Indices of 1 << index_log bytes in vs1, one per element and lane.
void gather_by(Core& c, const Insn& i, unsigned index_log, int index_emul) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, v.lmul);
  v.require_group(i.rs1, index_emul);
  v.require_disjoint(i.rd, v.lmul, i.rs2, v.lmul);
  v.require_disjoint(i.rd, v.lmul, i.rs1, index_emul);
  const u64 most = v.vlmax(v.sew, v.lmul);
  const u64* source = v.reg(i.rs2);
  const u64* indices = v.reg(i.rs1);
  u64* value = v.temp(0);
  for (u64 e = 0; e < v.vl; ++e) {
    for (unsigned l = 0; l < v.lanes; ++l) {
      const u64 index = lane_element(v, indices, e, index_log, l);
      set_lane_element(v, value, e, v.sew, l, index < most ? lane_element(v, source, index, v.sew, l) : 0);
    }
  }
  v.commit(i.rd, value, v.sew, i.unmasked);
}

void gather_vector(Core& c, const Insn& i) { gather_by(c, i, c.vector.sew, c.vector.lmul); }
void gather_vector16(Core& c, const Insn& i) { gather_by(c, i, 1, c.vector.lmul + 1 - static_cast<int>(c.vector.sew)); }

/// One index for all elements and lanes: a broadcast within each lane.
void gather_uniform(Core& c, const Insn& i) {
  require_slide(c, i, true);
  VectorUnit& v = c.vector;
  if (v.vl == 0) return;
  const u64 index = offset_operand(c, i);
  u64* value = v.temp(0);
  const std::size_t planes = VectorUnit::planes_of(v.vl, v.sew);
  std::fill_n(value, v.lanes, u64{0});
  if (index < v.vlmax(v.sew, v.lmul)) {
    for (u64 e = 0; e < 8u >> v.sew; ++e) copy_element(v, value, e, v.reg(i.rs2), index);
  }
  for (std::size_t p = 1; p < planes; ++p) std::memcpy(value + p * v.lanes, value, std::size_t{v.lanes} * 8);
  v.commit(i.rd, value, v.sew, i.unmasked);
}

void compress(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_group(i.rd, v.lmul);
  v.require_group(i.rs2, v.lmul);
  v.require_disjoint(i.rd, v.lmul, i.rs2, v.lmul);
  v.require_disjoint(i.rd, v.lmul, i.rs1, 0);
  const u64* wanted = v.reg(i.rs1);
  for (unsigned l = 0; l < v.lanes; ++l) {
    u64 to = 0;
    for (u64 e = 0; e < v.vl; ++e) {
      if (mask_bit(v, wanted, e, l)) set_lane_element(v, v.reg(i.rd), to++, v.sew, l, lane_element(v, v.reg(i.rs2), e, v.sew, l));
    }
  }
}

}  // namespace

void add_vector_permute(HandlerTable& t) {
  t.set(Op::VSLIDEUP_VX, slide_up), t.set(Op::VSLIDEUP_VI, slide_up), t.set(Op::VSLIDEDOWN_VX, slide_down),
      t.set(Op::VSLIDEDOWN_VI, slide_down);
  t.set(Op::VSLIDE1UP_VX, slide1_up), t.set(Op::VFSLIDE1UP_VF, slide1_up), t.set(Op::VSLIDE1DOWN_VX, slide1_down),
      t.set(Op::VFSLIDE1DOWN_VF, slide1_down);
  t.set(Op::VRGATHER_VV, gather_vector), t.set(Op::VRGATHEREI16_VV, gather_vector16);
  t.set(Op::VRGATHER_VX, gather_uniform), t.set(Op::VRGATHER_VI, gather_uniform);
  t.set(Op::VCOMPRESS_VM, compress);
}

}  // namespace torchsim::iss
