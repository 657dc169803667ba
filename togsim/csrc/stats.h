// Counters of one core. Cycles are core cycles.
#ifndef TOGSIM_STATS_H
#define TOGSIM_STATS_H

#include <array>
#include <cstdint>

namespace togsim {

// What a core cycle without issue waited for (docs/togsim.md, "Stalls").
enum class Stall : uint8_t { Capacity, WeightSlot, Dependency, DmaQueue, Noc, Dram };
inline constexpr std::array<const char*, 6> kStallNames{"capacity", "weight_slot", "dependency", "dma_queue", "noc", "dram"};

struct CoreStats {
  int64_t issue_cycles = 0;
  int64_t idle_cycles = 0;  // no work-item; up to the last retirement
  std::array<int64_t, kStallNames.size()> stalls{};
  std::array<int64_t, 6> issued{};  // by Op
  int64_t skipped_computes = 0;     // of zero cycles
  int64_t work_items = 0;
  int64_t dma_busy = 0;  // cycles in which requests were injected
  int64_t read_requests = 0;
  int64_t write_requests = 0;
  int64_t indirect_transfers = 0;   // that take their addresses from an index buffer
  int64_t unindexed_transfers = 0;  // ... without known index values: timed as dense ones
  int64_t peak_spad_bytes = 0;      // per lane, all work-items together
  // Issue logic.
  int64_t steps = 0;  // cycles that were looked at; not a figure of the machine
  int64_t scans = 0;
  int64_t entries_examined = 0;
  int64_t missed_wakes = 0;  // forced scan: issues in a cycle that gating would have skipped
};

}  // namespace togsim
#endif
