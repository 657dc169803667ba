// Add with carry and subtract with borrow (RVV 1.0 section 11.4). v0 is an operand here, not a mask.
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

enum : u8 { kSubtract = 1, kCarryIn = 2 };

struct Sources {
  const u64* a;
  const u64* b;  // null: the scalar
  u64 scalar;
};

Sources sources(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  return {v.reg(i.rs2), i.form == Form::vector ? v.reg(i.rs1) : nullptr, scalar_operand(c, i)};
}

/// Calls f(element, lane, result, carry out).
template <class F>
void each(Core& c, const Insn& i, F f) {
  VectorUnit& v = c.vector;
  const Sources s = sources(c, i);
  const u64 keep = v.sew == 3 ? ~u64{0} : (u64{1} << (8u << v.sew)) - 1;
  for (u64 e = 0; e < v.vl; ++e) {
    for (unsigned l = 0; l < v.lanes; ++l) {
      const unsigned __int128 a = lane_element(v, s.a, e, v.sew, l);
      const unsigned __int128 b = s.b ? lane_element(v, s.b, e, v.sew, l) : s.scalar & keep;
      const unsigned carry = (i.sub & kCarryIn) && mask_bit(v, v.mask(), e, l) ? 1 : 0;
      const unsigned __int128 r = i.sub & kSubtract ? a - b - carry : a + b + carry;
      f(e, l, static_cast<u64>(r) & keep, (i.sub & kSubtract) ? a < b + carry : r > keep);
    }
  }
}

void with_result(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_dest(i.rd, v.lmul, false);
  v.require_group(i.rs2, v.lmul);
  if (i.form == Form::vector) v.require_group(i.rs1, v.lmul);
  each(c, i, [&](u64 e, unsigned l, u64 result, bool) { set_lane_element(v, v.temp(0), e, v.sew, l, result); });
  v.commit(i.rd, v.temp(0), v.sew, true);
}

void with_carry_out(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_group(i.rs2, v.lmul);
  v.require_narrowing(i.rd, 0, i.rs2, v.lmul);
  if (i.form == Form::vector) {
    v.require_group(i.rs1, v.lmul);
    v.require_narrowing(i.rd, 0, i.rs1, v.lmul);
  }
  std::fill_n(v.temp(0), static_cast<std::size_t>((v.vl + 63) / 64) * v.lanes, u64{0});
  each(c, i, [&](u64 e, unsigned l, u64, bool carry) { v.temp(0)[e / 64 * v.lanes + l] |= static_cast<u64>(carry) << (e % 64); });
  v.commit_mask(i.rd, v.temp(0), true);
}

}  // namespace

void add_vector_carry(HandlerTable& t) {
  const u8 add = kCarryIn, sub = kSubtract | kCarryIn, plain_add = 0, plain_sub = kSubtract;
  t.set(Op::VADC_VVM, with_result, add), t.set(Op::VADC_VXM, with_result, add), t.set(Op::VADC_VIM, with_result, add);
  t.set(Op::VSBC_VVM, with_result, sub), t.set(Op::VSBC_VXM, with_result, sub);
  t.set(Op::VMADC_VVM, with_carry_out, add), t.set(Op::VMADC_VXM, with_carry_out, add), t.set(Op::VMADC_VIM, with_carry_out, add);
  t.set(Op::VMADC_VV, with_carry_out, plain_add), t.set(Op::VMADC_VX, with_carry_out, plain_add),
      t.set(Op::VMADC_VI, with_carry_out, plain_add);
  t.set(Op::VMSBC_VVM, with_carry_out, sub), t.set(Op::VMSBC_VXM, with_carry_out, sub);
  t.set(Op::VMSBC_VV, with_carry_out, plain_sub), t.set(Op::VMSBC_VX, with_carry_out, plain_sub);
}

}  // namespace torchsim::iss
