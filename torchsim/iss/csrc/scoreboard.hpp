// Cycle model of the in-order core inside a compute block. docs/timing-model.md states every rule; keep the two together.
#pragma once
#include <array>
#include <deque>

#include "insn.hpp"

namespace torchsim::iss {

/// pipe_* keys of the machine description, in core cycles.
struct PipeConfig {
  u64 issue_width = 1, scalar_latency = 1, scalar_mul_latency = 3, scalar_div_latency = 20, scalar_load_latency = 3,
      branch_taken_cycles = 1;
  u64 vector_latency = 4, vector_bits_per_cycle = 256, vector_div_cycles_per_element = 4, vector_load_latency = 4,
      special_function_latency = 10;
  u64 sa_push_rows_per_cycle = 1;
};

/// Vector state that an instruction's cost depends on.
struct VectorShape {
  u64 vl;
  unsigned sew;  // log2 of bytes
  int lmul;      // log2
};

class Scoreboard {
 public:
  Scoreboard(const PipeConfig& config, unsigned lanes) : config_(config), lanes_(lanes) {}

  /// Start of a block with empty pipes; `results` rows are in the array's output queue already.
  void begin(u64 results);
  /// One instruction, after it executed. `taken`: a jump or a taken branch. `rows`: rows that a compute consumed.
  void issue(const Insn& insn, const VectorShape& shape, bool taken, u64 rows);
  /// End of the block: cycles until everything has completed.
  u64 drain() const { return last_; }

 private:
  struct Unit {
    u64 free = 0;
  };
  enum UnitName { scalar_unit, divider, vector_unit, memory_port, sa_push, sa_pop, unit_count };

  u64 start(const Insn& insn, const VectorShape& shape, u64 unit_free);
  void finish(const Insn& insn, const VectorShape& shape, u64 ready);
  u64 vector_occupancy(const Insn& insn, const VectorShape& shape) const;
  u64 memory_occupancy(const Insn& insn, const VectorShape& shape) const;
  u64 reduction_latency(const Insn& insn, const VectorShape& shape) const;
  void issue_array(const Insn& insn, const VectorShape& shape, u64 rows);

  PipeConfig config_;
  unsigned lanes_;
  u64 now_ = 0, issued_ = 0, last_ = 0;
  std::array<u64, 32> x_{}, f_{}, v_{};
  std::array<Unit, unit_count> units_{};
  u64 pushes_done_ = 0, array_free_ = 0;
  std::deque<u64> results_;  // cycle at which each queued result row is complete
};

}  // namespace torchsim::iss
