// One NPU core: admits work-items, issues at most one instruction per cycle, and owns the units that execute them.
#ifndef TOGSIM_CORE_H
#define TOGSIM_CORE_H

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "bridge.h"
#include "config.h"
#include "dma_engine.h"
#include "due_events.h"
#include "faults.h"
#include "memory_system.h"
#include "producer.h"
#include "run_log.h"
#include "stats.h"
#include "systolic_arrays.h"
#include "work_item.h"

namespace togsim {

// A kernel whose work-items a core runs.
struct Kernel {
  const Producer* producer;
  BridgeInput bridge;
};

// What all cores of one run share.
struct RunContext {
  const Config& config;
  Clock clock;
  MemorySystem& memory;
  RunLog& log;
  const Faults& faults;
  bool forced_scan;  // scan in every cycle, whether or not something changed
};

class Core {
 public:
  Core(uint32_t id, RunContext& run);

  // Queue a work-item; the core does not look at it before cycle `at`.
  void dispatch(const Kernel& kernel, size_t item, Cycle at) {
    if (finished()) wake_at_ = at;
    waiting_.push_back({&kernel, item});
  }
  // Simulate cycle `now`; cycles since the last call had nothing to do.
  void step(Cycle now);
  // Next cycle that step() must see; kNever if only an arrival can change something.
  Cycle next_cycle() const;
  void arrive(const Arrival& arrival);

  bool finished() const { return running_.empty() && waiting_.empty() && !candidate_; }
  // Nothing of its own can make progress any more.
  bool stuck() const;
  // Cycles until its last work-item retired.
  Cycle cycles() const { return end_; }
  // Cycles that its counters account for.
  Cycle accounted() const { return last_step_ + 1; }
  // Every instruction that has not finished and what it waits for, one per line.
  void describe_blocked(std::string& out) const;

  const CoreStats& stats() const { return stats_; }
  const Pipe& vector() const { return vector_; }
  const SystolicArrays& arrays() const { return arrays_; }

 private:
  struct Dispatch {
    const Kernel* kernel;
    size_t item;
  };
  enum class Attempt : uint8_t { Issued, Inline, Blocked };

  void mark(Wake wake) { dirty_ = dirty_ || !run_.faults.skip_dirty[static_cast<size_t>(wake)]; }
  bool busy() const;  // the next cycle has something to do
  void process_due(Cycle now);
  void step_dma(Cycle now);
  void admit(Cycle now);
  bool retire(Cycle now);

  // Issue logic (core_issue.cpp).
  bool scan(Cycle now);
  Attempt attempt(WorkItem& item, uint32_t i, Cycle now);
  Attempt attempt_transfer(WorkItem& item, uint32_t i, Cycle now);
  Attempt attempt_compute(WorkItem& item, uint32_t i, Cycle now);
  Attempt block(Stall cause, ReadySet::Groups shut);
  ReadySet::Groups open_groups() const;
  void issue(WorkItem& item, uint32_t i, Cycle now, bool takes_slot, Cycle finish);
  void stop_streaming(WorkItem& item, uint32_t matmul, Cycle finish_at, Cycle now);

  void finish(WorkItem& item, uint32_t i, Cycle now, Wake wake);
  void finish_transfer(WorkItem& item, uint32_t i, Cycle now);
  void fire(WorkItem& item, uint32_t i, Event event, Wake wake);
  void account(Cycle now, bool issued);

  uint32_t id_;
  RunContext& run_;
  std::deque<Dispatch> waiting_;                    // not expanded
  std::unique_ptr<WorkItem> candidate_;             // expanded, waiting for scratchpad
  std::vector<std::unique_ptr<WorkItem>> running_;  // in order of admission
  DueEvents due_;
  Pipe vector_;
  SystolicArrays arrays_;
  DmaEngine dma_;
  std::vector<DmaJob> jobs_;  // handle -> transfer in flight
  std::vector<uint32_t> free_jobs_;
  int64_t in_flight_ = 0;  // transfers issued and not arrived
  bool dirty_ = true;
  std::optional<Stall> blocked_;  // first blocked instruction of the last scan
  ReadySet::Groups shut_ = 0;     // groups that the last blocked instruction shows to be blocked
  std::optional<Stall> stall_;    // what the cycles since the last step wait for; none: idle
  bool last_idle_ = true;
  Cycle wake_at_ = 0;  // first cycle of the launch in progress
  Cycle last_step_ = -1;
  Cycle end_ = 0;
  CoreStats stats_;
};

}  // namespace togsim
#endif
