// From records to a work-item: instructions and the dependency rule (docs/togsim.md, "Dependencies").
#ifndef TOGSIM_BRIDGE_H
#define TOGSIM_BRIDGE_H

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "footprint.h"
#include "record.h"
#include "work_item.h"
#include "writer_map.h"

namespace togsim {

struct BlockCost {
  int64_t cycles = 0;
  int64_t overlapping = 0;
};

struct BridgeInput {
  std::span<const uint64_t> bases;    // device address of each tensor argument
  std::span<const BlockCost> blocks;  // the cycle table
  int64_t spad_bytes = 0;             // per lane
  int64_t drop_dependency = -1;       // fault: leave this one out (faults.h)
};

// Throws TraceError if a block's figures are impossible.
void check_blocks(std::span<const BlockCost> blocks);

// Throws TraceError for degenerate traces (docs/trace-abi.md lists them).
WorkItem build_work_item(const BridgeInput& input, size_t index, std::vector<int64_t> iv, const Records& records);

}  // namespace togsim
#endif
