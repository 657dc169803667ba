// What a run did, in order: transfers, waits, blocks; with footprints on request.
#pragma once
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

/// Instructions by kind, over the whole run.
struct Counts {
  u64 scalar = 0, vector = 0, dma = 0;
};

struct ExecutionLog {
  bool events_on = false, footprint_on = false;
  std::vector<Event> events;
  std::vector<BlockCost> blocks;
  Counts counts;
  Intervals reads, writes;  // of the current block

  void reset(bool with_events, bool with_footprint) {
    events_on = with_events;
    footprint_on = with_footprint;
    events.clear();
    blocks.clear();
    counts = {};
    reads.clear();
    writes.clear();
  }
};

}  // namespace torchsim::iss
