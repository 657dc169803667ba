// The whole machine: cores, memory, and the order in which time passes.
#ifndef TOGSIM_SIMULATOR_H
#define TOGSIM_SIMULATOR_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config.h"
#include "core.h"
#include "faults.h"
#include "memory_system.h"
#include "producer.h"
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
  Run(const Config& config, const Producer& producer, std::vector<uint64_t> bases, std::vector<BlockCost> blocks, RunOptions options);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Throws TraceError, DeadlockError.
  void execute();

  Cycle cycles() const;
  const std::vector<std::unique_ptr<Core>>& cores() const { return cores_; }
  const MemorySystem& memory() const { return memory_; }
  RunLog& log() { return log_; }
  const Clocks& clocks() const { return clocks_; }

 private:
  void run_windows();
  void run_cycle_by_cycle();
  void deliver(std::vector<Arrival>& arrivals);
  bool finished() const;
  bool stuck() const;
  Cycle next_cycle() const;
  [[noreturn]] void deadlock(Cycle at) const;

  Config config_;
  Clocks clocks_;
  const Producer& producer_;
  std::vector<uint64_t> bases_;
  std::vector<BlockCost> blocks_;
  RunOptions options_;
  RunLog log_;
  MemorySystem memory_;
  RunContext context_;
  std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace togsim
#endif
