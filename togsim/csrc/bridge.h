// From records to a work-item: instructions and what each waits for (docs/togsim.md, "Dependencies").
#ifndef TOGSIM_BRIDGE_H
#define TOGSIM_BRIDGE_H

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "faults.h"
#include "producer.h"
#include "work_item.h"

namespace togsim {

struct BlockCost {
  int64_t cycles = 0;
  int64_t overlapping = 0;
};

// Index values of indirect transfers: (work-item, record) -> elements to add to the address of each tile position, row-major.
using IndexTable = std::map<std::pair<size_t, size_t>, std::vector<int64_t>>;

struct BridgeInput {
  std::span<const uint64_t> bases;    // device address of each tensor argument
  std::span<const BlockCost> blocks;  // the cycle table
  int64_t spad_bytes = 0;             // per lane
  const Faults& faults;
  const IndexTable* indices = nullptr;
};

// Throws TraceError if a block's figures are impossible.
void check_blocks(std::span<const BlockCost> blocks);

// Expand work-item `index`: its records are consumed one at a time, and only the instructions stay.
// Throws TraceError for degenerate traces (docs/trace-abi.md lists them).
WorkItem build_work_item(const BridgeInput& input, const Producer& producer, size_t index);

}  // namespace togsim
#endif
