// What a run did, in order: transfers, waits, blocks; with footprints on request.
#pragma once
#include <array>
#include <map>
#include <vector>

#include "dma.hpp"

namespace torchsim::iss {

enum class EventKind : u8 { load, store, wait, block_begin, block_end };

struct Event {
  EventKind kind = EventKind::load;
  u64 pc = 0;
  Transfer transfer;        // load, store (index offsets dropped)
  u64 id = 0;               // wait: tag slot; block: id
  u64 count = 0;            // wait: transfers; block_end: cycles
  Intervals reads, writes;  // in-lane scratchpad bytes: of a transfer, and at block_end of the whole block
};

/// One executed compute block.
struct BlockCost {
  u64 id, cycles, instructions;
};

/// All executions of a block.
struct BlockSummary {
  u64 executions = 0, lowest = ~u64{0}, highest = 0;
};

struct ExecutionLog {
  bool events_on = false, footprint_on = false;
  std::vector<Event> events;
  std::vector<BlockCost> blocks;              // every execution, with events_on
  std::map<u64, BlockSummary> block_summary;  // by id, always
  std::array<u64, 3> counts{};                // instructions by Kind
  Intervals reads, writes;                    // of the current block

  void reset(bool with_events, bool with_footprint) {
    events_on = with_events;
    footprint_on = with_footprint;
    events.clear();
    blocks.clear();
    block_summary.clear();
    counts = {};
    reads.clear();
    writes.clear();
  }
};

}  // namespace torchsim::iss
