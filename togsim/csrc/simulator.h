// The whole machine: cores, memory, and the order in which time passes.
#ifndef TOGSIM_SIMULATOR_H
#define TOGSIM_SIMULATOR_H

#include <cstdint>
#include <memory>
#include <vector>

#include "config.h"
#include "core.h"
#include "faults.h"
#include "launch.h"
#include "memory_system.h"
#include "partitions.h"
#include "run_log.h"

namespace togsim {

// Fast: jump to the next event, scan only after a change. The other two are slow references that must give the same result:
// ForcedScan visits every cycle and scans in each; CycleByCycle also steps every DRAM cycle of every busy channel.
enum class Mode : uint8_t { Fast, ForcedScan, CycleByCycle };

struct RunOptions {
  Mode mode = Mode::Fast;
  bool trace = false;
  bool issue_order = false;
  Faults faults{};
};

class Run {
 public:
  // Launches of one partition run in the given order, each after the last work-item of the one before it.
  // Throws ConfigError, TraceError: figures, partitions or cycle tables that cannot be simulated.
  Run(const Config& config, std::vector<Launch> launches, RunOptions options);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Throws TraceError, DeadlockError.
  void execute();

  Cycle cycles() const;
  const Config& config() const { return config_; }
  const std::vector<std::unique_ptr<Core>>& cores() const { return cores_; }
  const MemorySystem& memory() const { return memory_; }
  const Partitions& partitions() const { return partitions_; }
  RunLog& log() { return log_; }

 private:
  void run_windows();
  void run_cycle_by_cycle();
  Tick advance_memory(Tick now);
  bool finished() const { return partitions_.finished(); }
  bool stuck() const;
  Cycle next_cycle() const;
  void guard(Cycle now);
  [[noreturn]] void deadlock(Cycle at) const;

  Config config_;
  Clocks clocks_;
  RunOptions options_;
  RunLog log_;
  MemorySystem memory_;
  RunContext context_;
  std::vector<std::unique_ptr<Core>> cores_;
  Partitions partitions_;
  std::vector<Arrival> arrivals_;  // work space
  uint64_t seen_progress_ = 0;     // of the memory system, for the guard
  Cycle seen_at_ = 0;
  Cycle patience_;
};

}  // namespace togsim
#endif
