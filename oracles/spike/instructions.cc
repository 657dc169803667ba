// Binds encodings to behaviour: stock vector instructions run per lane, NPU instructions act on Dma and Array.
#include <algorithm>
#include <cmath>

#include "isa.h"  // generated from the instruction table
#include "machine.h"

namespace npu {
namespace {

template <bool MemoryAccess>
reg_t vector_instruction(processor_t* p, insn_t insn, reg_t pc) {
  return Machine::of(p).on_lanes(insn, pc, MemoryAccess);
}

// Act(machine, instruction); faults become traps.
template <auto Act>
reg_t npu_instruction(processor_t* p, insn_t insn, reg_t pc) {
  try {
    Act(Machine::of(p), insn);
  } catch (const Fault& fault) {
    Machine::of(p).trap(fault);
  }
  return pc + 4;
}

// Act(dma, value of rs1, value of rs2)
template <auto Act>
void dma_instruction(Machine& machine, insn_t insn) {
  auto& registers = machine.get_state()->XPR;
  Act(machine.dma, registers[insn.rs1()], registers[insn.rs2()]);
}

template <Dma::Which which>
void transfer(Dma& dma, uint64_t dram, uint64_t spad) {
  dma.transfer(which, dram, spad);
}

void config(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.config(rs1, rs2); }
void config_dram_strides(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.config_dram_strides(rs1, rs2); }
void config_spad_strides(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.config_spad_strides(rs1, rs2); }
void config_index(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.config_index(rs1, rs2); }
void config_mask(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.config_mask(rs1, rs2); }
void config_fill(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.config_fill(rs1, rs2); }
void tag(Dma& dma, uint64_t rs1, uint64_t) { dma.tag(rs1); }
void wait(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.wait(rs1, rs2); }
void block(Dma& dma, uint64_t rs1, uint64_t rs2) { dma.block(rs1, rs2); }

// The operands of a VCIX instruction under the current vtype.
class Operands {
 public:
  Operands(Machine& machine, insn_t insn) : machine_(machine), word_(static_cast<uint32_t>(insn.bits())) {
    if (machine.VU.vill) illegal();
    vl = machine.VU.vl->read();
    machine.VU.vstart->write_raw(0);
  }
  [[noreturn]] void illegal() const { throw Fault{"illegal_instruction", word_}; }
  void require_sew(reg_t bits) const {
    if (machine_.VU.vsew != bits) illegal();
  }
  unsigned vd() const { return group(isa::field_vd(word_)); }
  unsigned vs2() const { return group(isa::field_vs2(word_)); }
  template <class T>
  T* elements(unsigned lane, unsigned reg) const {
    return reinterpret_cast<T*>(machine_.vector_register(lane, reg));
  }
  uint64_t vl = 0;

 private:
  unsigned group(unsigned reg) const {
    const auto registers = static_cast<unsigned>(std::max(machine_.VU.vflmul, 1.0f));
    if (reg % registers != 0) illegal();
    return reg;
  }
  Machine& machine_;
  uint32_t word_;
};

template <auto Push>
void push(Machine& machine, insn_t insn) {
  const Operands operands(machine, insn);
  operands.require_sew(32);
  const unsigned source = operands.vs2();
  for (uint64_t n = 0; n < operands.vl; ++n) {
    Row row(machine.lanes());
    for (unsigned lane = 0; lane < machine.lanes(); ++lane) row[lane] = operands.elements<float>(lane, source)[n];
    (machine.array.*Push)(std::move(row));
  }
}

void compute(Machine& machine, insn_t insn) {
  const Operands operands(machine, insn);
  machine.array.compute();
}

void pop(Machine& machine, insn_t insn) {
  const Operands operands(machine, insn);
  operands.require_sew(32);
  const unsigned target = operands.vd();
  machine.array.require_results(operands.vl);
  for (uint64_t n = 0; n < operands.vl; ++n) {
    const Row row = machine.array.pop();
    for (unsigned lane = 0; lane < machine.lanes(); ++lane) operands.elements<float>(lane, target)[n] = row[lane];
  }
}

template <class T>
void fill_lane_index(Machine& machine, const Operands& operands, unsigned target) {
  for (unsigned lane = 0; lane < machine.lanes(); ++lane)
    std::fill_n(operands.elements<T>(lane, target), operands.vl, static_cast<T>(lane));
}

void lane_index(Machine& machine, insn_t insn) {
  const Operands operands(machine, insn);
  const unsigned target = operands.vd();
  switch (machine.VU.vsew) {
    case 8:
      return fill_lane_index<uint8_t>(machine, operands, target);
    case 16:
      return fill_lane_index<uint16_t>(machine, operands, target);
    case 32:
      return fill_lane_index<uint32_t>(machine, operands, target);
    default:
      return fill_lane_index<uint64_t>(machine, operands, target);
  }
}

template <class T>
void map_elements(Machine& machine, insn_t insn, T (*special)(Function, T), Function function) {
  const Operands operands(machine, insn);
  const unsigned source = operands.vs2(), target = operands.vd();
  for (unsigned lane = 0; lane < machine.lanes(); ++lane) {
    const T* from = operands.elements<T>(lane, source);
    T* to = operands.elements<T>(lane, target);
    for (uint64_t n = 0; n < operands.vl; ++n) to[n] = special(function, from[n]);
  }
}

template <double (*function)(double)>
void special_function(Machine& machine, insn_t insn) {
  switch (machine.VU.vsew) {
    case 16:
      return map_elements<uint16_t>(machine, insn, special_f16, function);
    case 32:
      return map_elements<uint32_t>(machine, insn, special_f32, function);
    case 64:
      return map_elements<uint64_t>(machine, insn, special_f64, function);
    default:
      Operands(machine, insn).illegal();
  }
}

insn_desc_t describe(uint64_t match, uint64_t mask, insn_func_t function) {
  return {match, mask, function, function, function, function, function, function, function, function};
}

insn_desc_t describe(isa::Op op, insn_func_t function) {
  const isa::Row& row = isa::row(op);
  return describe(row.match, row.mask, function);
}

template <auto Act>
insn_desc_t dma_row(isa::Op op) {
  return describe(op, npu_instruction<dma_instruction<Act>>);
}

template <auto Act>
insn_desc_t array_row(isa::Op op) {
  return describe(op, npu_instruction<Act>);
}

class Instructions : public extension_t {
 public:
  const char* name() const override { return "npu"; }
  std::vector<disasm_insn_t*> get_disasms(const processor_t*) override { return {}; }
  std::vector<insn_desc_t> get_instructions(const processor_t&) override {
    using enum isa::Op;
    std::vector<insn_desc_t> rows{
        dma_row<config>(NPU_CONFIG),
        dma_row<config_dram_strides>(NPU_CONFIG2),
        dma_row<config_spad_strides>(NPU_CONFIG3),
        dma_row<config_index>(NPU_CONFIG4),
        dma_row<config_mask>(NPU_CONFIG_MASK),
        dma_row<config_fill>(NPU_CONFIG_FILL),
        dma_row<transfer<Dma::kMvin>>(NPU_MVIN),
        dma_row<transfer<Dma::kMvin2>>(NPU_MVIN2),
        dma_row<transfer<Dma::kMvin3>>(NPU_MVIN3),
        dma_row<transfer<Dma::kMvout>>(NPU_MVOUT),
        dma_row<tag>(NPU_TAG),
        dma_row<wait>(NPU_WAIT),
        dma_row<block>(NPU_BLOCK),
        array_row<push<&Array::push_input>>(NPU_INPUT_PUSH),
        array_row<push<&Array::push_weights>>(NPU_WEIGHT_PUSH),
        array_row<compute>(NPU_COMPUTE),
        array_row<pop>(NPU_POP),
        array_row<lane_index>(NPU_LANE_INDEX),
        array_row<special_function<std::erf>>(NPU_ERF),
        array_row<special_function<std::tanh>>(NPU_TANH),
        array_row<special_function<std::sin>>(NPU_SIN),
        array_row<special_function<std::cos>>(NPU_COS),
        array_row<special_function<std::log>>(NPU_LOG),
        array_row<special_function<std::atan>>(NPU_ATAN),
        array_row<special_function<std::exp>>(NPU_EXP),
    };
    // The vector major opcodes, all of which stock Spike implements for one lane; vsetvl* (funct3 7 of 0x57) stays scalar.
    constexpr uint64_t kOpV = 0x57, kLoadFp = 0x07, kStoreFp = 0x27, kMask = 0x707f;
    for (uint64_t funct3 = 0; funct3 < 7; ++funct3) rows.push_back(describe(kOpV | funct3 << 12, kMask, vector_instruction<false>));
    for (uint64_t width : {0, 5, 6, 7})
      for (uint64_t opcode : {kLoadFp, kStoreFp}) rows.push_back(describe(opcode | width << 12, kMask, vector_instruction<true>));
    return rows;
  }
};

}  // namespace

std::unique_ptr<extension_t> make_instructions() { return std::make_unique<Instructions>(); }

}  // namespace npu
