// The simulated core: architectural state, run loop, and the services that instruction handlers use.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dma.hpp"
#include "execution_log.hpp"
#include "fault.hpp"
#include "float_ops.hpp"
#include "insn.hpp"
#include "memory.hpp"
#include "scoreboard.hpp"
#include "systolic_array.hpp"
#include "vector_unit.hpp"

namespace torchsim::iss {

struct RunOptions {
  bool late = false;            // DMA completes at its WAIT instead of at issue
  bool fill_transfers = false;  // loads write zeros instead of DRAM contents, stores do nothing, no window is needed
  u64 instruction_limit = 0;
  bool log = false, footprint = false;
  bool check_uninitialised = false, check_divergence = false;
  u8 spad_fill = 0xa5;
  bool record_cycles = true;  // run the scoreboard inside blocks
  bool accrue = false;        // keep fflags and vxsat even if the image cannot read them
};

/// How a run ended early.
struct Stop {
  Cause cause;
  u64 pc;
  std::string detail;
};

class Core {
 public:
  Core(unsigned lane_count, std::size_t spad_bytes_per_lane, unsigned sa_queue_rows, const PipeConfig& pipe,
       const KernelTable& table = kernels());

  /// Load the image, set registers as docs/isa.md section 1 says and forget everything from earlier runs. `arguments` are passed as
  /// the C calling convention passes integers: a0..a7, then the stack.
  void start(std::span<const u8> image, u64 base, u64 entry, u64 return_address, std::span<const u64> arguments,
             std::vector<Window> windows, const RunOptions& run_options);
  /// Execute until the ebreak at the return address, or a trap.
  std::optional<Stop> run();
  /// Execute one instruction; nothing once the kernel has ended (`halted`).
  std::optional<Stop> run_one();

  /// Seed a fault, or take it out; for tests.
  void set_fault(std::optional<Fault> seeded) {
    fault = seeded;
    decoded_.clear();
  }

  // --- services for handlers ---
  void write_x(unsigned r, u64 value) {
    if (r != 0) x[r] = value;
  }
  void jump(u64 target) {
    next_pc = target;
    taken = true;
  }
  void begin_block(u64 id);
  void end_block(u64 id);
  void transfer(unsigned slot, bool store, u64 dram, u64 spad);
  void wait(u64 slot, u64 count);
  void require_outside_block(const char* what) const;
  /// Rounding mode of an instruction's rm field (7: frm); traps on reserved values.
  Rounding rounding(unsigned rm) const;
  /// Record and check a scratchpad access of all lanes (options permitting). `active`: one all-ones or zero word per lane, or null.
  void note_read(const Place& place, u64 bytes, const u64* active = nullptr);
  void note_write(const Place& place, u64 bytes, const u64* active = nullptr);
  void note_read_lane(const Place& place, u64 bytes, unsigned lane);
  void note_write_lane(const Place& place, u64 bytes, unsigned lane);
  bool noting() const { return notes_; }
  /// Whether fflags and vxsat are kept.
  bool accruing() const { return accruing_; }
  bool at_return_address() const { return pc == return_address_; }

  const unsigned lanes;
  std::array<u64, 32> x{}, f{};
  u64 pc = 0, next_pc = 0;
  bool taken = false, halted = false;
  u8 frm = 0, fflags = 0, vxsat = 0;
  u64 instructions = 0;
  u64 work = 0;        // instructions plus tile positions / 64: what the limit bounds
  u64 array_rows = 0;  // rows that the instruction's compute consumed, for the scoreboard

  Memory memory;
  VectorUnit vector;
  SystolicArray array;
  DmaEngine dma;
  FloatOps floats;
  ExecutionLog log;
  RunOptions options;
  std::optional<u64> reservation;  // of lr
  std::optional<Fault> fault;      // set by set_fault

 private:
  const Insn& fetch();
  Insn prepare(u32 fetched) const;
  void step();

  Scoreboard scoreboard_;
  /// Decoded instructions by (pc - base) / 2, in pages that exist once something in them has executed.
  static constexpr unsigned kPage = 512;
  using Page = std::array<Insn, kPage>;
  std::vector<std::unique_ptr<Page>> decoded_;
  u64 return_address_ = 0;
  bool in_block_ = false, notes_ = false, accruing_ = false;
  u64 block_id_ = 0, block_instructions_ = 0;
};

}  // namespace torchsim::iss
