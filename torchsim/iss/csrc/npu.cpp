// DMA and systolic-array instructions, lane index, special functions (docs/isa.md sections 3 to 5).
#include <cinttypes>

#include "handlers.hpp"
#include "lane_elements.hpp"
#include "special_functions.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

void config(Core& c, const Insn& i) { c.dma.slots().configure(i.sub, c.x[i.rs1], c.x[i.rs2]); }

/// sub: slot, bit 7 store.
void transfer(Core& c, const Insn& i) { c.transfer(i.sub & 0x7f, i.sub & 0x80, c.x[i.rs1], c.x[i.rs2]); }

void tag(Core& c, const Insn& i) {
  c.require_outside_block("TAG");
  c.dma.tag(c.x[i.rs1]);
}
void wait(Core& c, const Insn& i) { c.wait(c.x[i.rs1], c.x[i.rs2]); }

void block(Core& c, const Insn& i) {
  switch (c.x[i.rs2]) {
    case 0:
      return c.begin_block(c.x[i.rs1]);
    case 1:
      return c.end_block(c.x[i.rs1]);
    default:
      raise(Cause::block_nesting, "BLOCK with %" PRIu64 "; 0 begins and 1 ends", c.x[i.rs2]);
  }
}

void require_sew32(Core& c, unsigned group) {
  c.vector.require();
  if (c.vector.sew != 2) raise(Cause::illegal_instruction, "systolic-array instruction with SEW %u", 8u << c.vector.sew);
  c.vector.require_group(group, c.vector.lmul);
}

void input_push(Core& c, const Insn& i) {
  require_sew32(c, i.rs2);
  const VectorUnit& v = c.vector;
  const u64* group = c.vector.reg(i.rs2);
  c.array.push_inputs(v.vl, [&](std::size_t r, float* row) { get_element(v, row, group, r, 2); });
}

void weight_push(Core& c, const Insn& i) {
  require_sew32(c, i.rs2);
  const VectorUnit& v = c.vector;
  const u64* group = c.vector.reg(i.rs2);
  c.array.push_weights(v.vl, [&](std::size_t r, float* row) { get_element(v, row, group, r, 2); });
}

void compute(Core& c, const Insn&) {
  c.vector.require();
  c.array_rows = c.array.compute();
}

void pop(Core& c, const Insn& i) {
  require_sew32(c, i.rd);
  VectorUnit& v = c.vector;
  c.array.require_results(v.vl);
  for (u64 e = 0; e < v.vl; ++e) put_element(v, v.reg(i.rd), c.array.pop(), e, 2);
}

void lane_index(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  v.require_group(i.rd, v.lmul);
  for (u64 e = 0; e < v.vl; ++e) {
    for (unsigned l = 0; l < v.lanes; ++l) set_lane_element(v, v.reg(i.rd), e, v.sew, l, l);
  }
}

void special(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  if (v.sew == 0) raise(Cause::illegal_instruction, "special function with SEW 8");
  v.require_group(i.rd, v.lmul);
  v.require_group(i.rs2, v.lmul);
  if (v.vl == 0) return;
  evaluate_special(static_cast<Special>(i.sub), v.sew, v.temp(0), v.reg(i.rs2), flat_elements(v, v.sew));
  v.commit(i.rd, v.temp(0), v.sew, true);
}

}  // namespace

void add_npu(HandlerTable& t) {
  t.set(Op::NPU_CONFIG, config, u8{0}), t.set(Op::NPU_CONFIG2, config, u8{4}), t.set(Op::NPU_CONFIG3, config, u8{5}),
      t.set(Op::NPU_CONFIG4, config, u8{6});
  t.set(Op::NPU_CONFIG_MASK, config, u8{8}), t.set(Op::NPU_CONFIG_FILL, config, u8{9});
  t.set(Op::NPU_MVIN, transfer, u8{0}), t.set(Op::NPU_MVIN2, transfer, u8{1}), t.set(Op::NPU_MVIN3, transfer, u8{2}),
      t.set(Op::NPU_MVOUT, transfer, u8{0x83});
  t.set(Op::NPU_TAG, tag), t.set(Op::NPU_WAIT, wait), t.set(Op::NPU_BLOCK, block);
  t.set(Op::NPU_INPUT_PUSH, input_push), t.set(Op::NPU_WEIGHT_PUSH, weight_push), t.set(Op::NPU_COMPUTE, compute), t.set(Op::NPU_POP, pop);
  t.set(Op::NPU_LANE_INDEX, lane_index);
  t.set(Op::NPU_ERF, special, Special::erf), t.set(Op::NPU_TANH, special, Special::tanh), t.set(Op::NPU_SIN, special, Special::sin),
      t.set(Op::NPU_COS, special, Special::cos);
  t.set(Op::NPU_LOG, special, Special::log), t.set(Op::NPU_ATAN, special, Special::atan), t.set(Op::NPU_EXP, special, Special::exp);
}

}  // namespace torchsim::iss
