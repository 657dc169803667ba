#include "scoreboard.hpp"

#include <algorithm>
#include <bit>

namespace torchsim::iss {
namespace {

u64 ceil_div(u64 a, u64 b) { return (a + b - 1) / b; }

unsigned group(int log2_registers) { return log2_registers <= 0 ? 1u : 1u << std::min(log2_registers, 3); }

struct MemoryShape {
  unsigned eew;     // log2 bytes of an element in memory
  unsigned fields;  // segment fields, or registers of a whole-register access
  bool whole, unit_stride, indexed;
};

MemoryShape memory_shape(const Insn& insn, const VectorShape& shape) {
  const unsigned width = insn.word >> 12 & 7, mop = insn.word >> 26 & 3, umop = insn.word >> 20 & 31;
  MemoryShape m{width == 0 ? 0u : width - 4, (insn.word >> 29) + 1, mop == 0 && umop == 8, mop == 0, (mop & 1) != 0};
  if (m.indexed) m.eew = shape.sew;
  return m;
}

}  // namespace

void Scoreboard::begin(u64 results) {
  now_ = issued_ = last_ = pushes_done_ = array_free_ = 0;
  x_ = f_ = v_ = {};
  units_ = {};
  results_.assign(results, 0);
}

u64 Scoreboard::start(const Insn& insn, const VectorShape& shape, u64 unit_free) {
  u64 t = std::max(now_, unit_free);
  auto wait_vector = [&](unsigned first, unsigned count) {
    for (unsigned r = first; r < std::min(32u, first + count); ++r) t = std::max(t, v_[r]);
  };
  const bool memory = insn.cost == Cost::VECTOR_LOAD || insn.cost == Cost::VECTOR_STORE;
  unsigned dest = group(shape.lmul + ((insn.uses & kWideDest) ? 1 : 0));
  if (memory) {
    const MemoryShape m = memory_shape(insn, shape);
    dest = m.whole ? m.fields : m.fields * group(shape.lmul + static_cast<int>(m.eew) - static_cast<int>(shape.sew));
  }
  if (insn.uses & kReadX1) t = std::max(t, x_[insn.rs1]);
  if (insn.uses & kReadX2) t = std::max(t, x_[insn.rs2]);
  if (insn.uses & kReadF1) t = std::max(t, f_[insn.rs1]);
  if (insn.uses & kReadF2) t = std::max(t, f_[insn.rs2]);
  if (insn.uses & kReadF3) t = std::max(t, f_[insn.rs3]);
  if (insn.uses & kReadV1) wait_vector(insn.rs1, group(shape.lmul));
  if (insn.uses & kReadV2) wait_vector(insn.rs2, group(shape.lmul + ((insn.uses & kWideSource) ? 1 : 0)));
  if (insn.uses & (kReadVd | kWriteV)) wait_vector(insn.rd, dest);
  if (insn.uses & kReadMask) wait_vector(0, 1);
  if (insn.uses & kWriteX) t = std::max(t, x_[insn.rd]);
  if (insn.uses & kWriteF) t = std::max(t, f_[insn.rd]);
  if (t > now_) now_ = t, issued_ = 0;
  if (++issued_ == config_.issue_width) ++now_, issued_ = 0;
  return t;
}

void Scoreboard::finish(const Insn& insn, const VectorShape& shape, u64 ready) {
  if ((insn.uses & kWriteX) && insn.rd != 0) x_[insn.rd] = ready;
  if (insn.uses & kWriteF) f_[insn.rd] = ready;
  if (insn.uses & kWriteV) {
    unsigned count = group(shape.lmul + ((insn.uses & kWideDest) ? 1 : 0));
    if (insn.cost == Cost::VECTOR_LOAD) {
      const MemoryShape m = memory_shape(insn, shape);
      count = m.whole ? m.fields : m.fields * group(shape.lmul + static_cast<int>(m.eew) - static_cast<int>(shape.sew));
    }
    for (unsigned r = insn.rd; r < std::min(32u, insn.rd + count); ++r) v_[r] = ready;
  }
  last_ = std::max(last_, ready);
}

u64 Scoreboard::vector_occupancy(const Insn& insn, const VectorShape& shape) const {
  if (insn.cost == Cost::VECTOR_DIV) return std::max<u64>(1, shape.vl * config_.vector_div_cycles_per_element);
  const unsigned log = shape.sew + ((insn.uses & (kWideDest | kWideSource)) ? 1 : 0);
  return std::max<u64>(1, ceil_div(shape.vl * (u64{8} << log), config_.vector_bits_per_cycle));
}

u64 Scoreboard::memory_occupancy(const Insn& insn, const VectorShape& shape) const {
  const MemoryShape m = memory_shape(insn, shape);
  if (m.whole) return ceil_div(m.fields * kVlenBytes * 8, config_.vector_bits_per_cycle);
  if (!m.unit_stride) return std::max<u64>(1, shape.vl * m.fields);  // one element per cycle and lane
  return std::max<u64>(1, ceil_div(shape.vl * m.fields * (u64{8} << m.eew), config_.vector_bits_per_cycle));
}

u64 Scoreboard::reduction_latency(const Insn& insn, const VectorShape& shape) const {
  const bool ordered = insn.op == Op::VFREDOSUM_VS || insn.op == Op::VFWREDOSUM_VS;
  if (ordered) return std::max<u64>(1, shape.vl) * config_.vector_latency;
  const u64 parallel = std::max<u64>(1, std::min(shape.vl, config_.vector_bits_per_cycle / (u64{8} << shape.sew)));
  return config_.vector_latency * (1 + static_cast<u64>(std::bit_width(parallel - 1)));  // a tree over one datapath width
}

void Scoreboard::issue_array(const Insn& insn, const VectorShape& shape, u64 rows) {
  const u64 rate = config_.sa_push_rows_per_cycle;
  const u64 transfer = std::max<u64>(1, ceil_div(shape.vl, rate));
  if (insn.cost == Cost::SA_PUSH) {
    const u64 t = start(insn, shape, units_[sa_push].free);
    units_[sa_push].free = t + transfer;
    pushes_done_ = std::max(pushes_done_, t + transfer);
    last_ = std::max(last_, t + transfer);
  } else if (insn.cost == Cost::SA_COMPUTE) {
    const u64 t = start(insn, shape, 0);
    const u64 enter = std::max({t + 1, pushes_done_, array_free_});
    const u64 through = 2 * u64{lanes_} - 1;  // fill and drain of an L x L array
    for (u64 r = 0; r < rows; ++r) results_.push_back(enter + through + r / rate);
    array_free_ = enter + ceil_div(rows, rate);
    last_ = std::max({last_, t + 1, results_.empty() ? u64{0} : results_.back()});
  } else {
    const u64 t = start(insn, shape, units_[sa_pop].free);
    u64 complete = t + transfer;
    for (u64 r = 0; r < shape.vl && !results_.empty(); ++r) {
      complete = std::max(complete, results_.front() + 1);
      results_.pop_front();
    }
    units_[sa_pop].free = complete;
    finish(insn, shape, complete);
  }
}

void Scoreboard::issue(const Insn& insn, const VectorShape& shape, bool taken, u64 rows) {
  auto pipelined = [&](UnitName unit, u64 occupancy, u64 latency) {
    const u64 t = start(insn, shape, units_[unit].free);
    units_[unit].free = t + occupancy;
    finish(insn, shape, t + occupancy - 1 + latency);
  };
  auto scalar = [&](u64 latency) { finish(insn, shape, start(insn, shape, 0) + latency); };  // fully pipelined, issue width is the limit
  switch (insn.cost) {
    case Cost::SCALAR_MUL:
    case Cost::SCALAR_FP:
    case Cost::SCALAR_FP_FMA:
      scalar(config_.scalar_mul_latency);
      break;
    case Cost::SCALAR_DIV:
    case Cost::SCALAR_FP_DIV:
      pipelined(divider, config_.scalar_div_latency, 1);
      break;
    case Cost::SCALAR_LOAD:
    case Cost::ATOMIC:
      pipelined(memory_port, 1, config_.scalar_load_latency);
      break;
    case Cost::SCALAR_STORE:
      pipelined(memory_port, 1, 1);
      break;
    case Cost::VECTOR_ALU:
    case Cost::VECTOR_MUL:
    case Cost::VECTOR_DIV:
    case Cost::VECTOR_PERMUTE:
    case Cost::VECTOR_MASK:
    case Cost::VECTOR_TO_SCALAR:
      pipelined(vector_unit, vector_occupancy(insn, shape), config_.vector_latency);
      break;
    case Cost::VECTOR_REDUCE:
      pipelined(vector_unit, vector_occupancy(insn, shape), reduction_latency(insn, shape));
      break;
    case Cost::SPECIAL_FUNCTION:
      pipelined(vector_unit, vector_occupancy(insn, shape), config_.special_function_latency);
      break;
    case Cost::VECTOR_LOAD:
      pipelined(memory_port, memory_occupancy(insn, shape), config_.vector_load_latency);
      break;
    case Cost::VECTOR_STORE:
      pipelined(memory_port, memory_occupancy(insn, shape), 1);
      break;
    case Cost::SA_PUSH:
    case Cost::SA_COMPUTE:
    case Cost::SA_POP:
      issue_array(insn, shape, rows);
      break;
    default:
      scalar(config_.scalar_latency);
      break;
  }
  if (taken) {
    now_ = (issued_ ? now_ + 1 : now_) + config_.branch_taken_cycles;
    issued_ = 0;
    last_ = std::max(last_, now_);
  }
}

}  // namespace torchsim::iss
