// One admitted work-item: its instructions, what each waits for, and the scratchpad bytes it holds.
#ifndef TOGSIM_WORK_ITEM_H
#define TOGSIM_WORK_ITEM_H

#include <cstdint>
#include <vector>

#include "dependency_store.h"
#include "op.h"
#include "ready_set.h"
#include "record.h"
#include "version_table.h"

namespace togsim {

struct Instruction {
  Op op = Op::Vector;
  bool issued = false;
  bool done = false;
  uint8_t group = 0;         // of the ready set
  uint32_t record = 0;       // index among the work-item's records
  int32_t dma = -1;          // Load, Store: index into WorkItem::transfers
  int64_t block_id = -1;     // computes
  int64_t cycles = 0;        // computes: latency
  int64_t overlapping = 0;   // computes: the last `overlapping` cycles may overlap the successor in the pipe
  int32_t preload = -1;      // Matmul: the preload that its weights come from
  int32_t barrier = -1;      // Load, Store: the barrier that completes it (asynchronous ones)
  int32_t array = -1;        // Preload, Matmul: chosen systolic array
  uint32_t outstanding = 0;  // Preload: consumers not yet issued; Barrier: transfers not yet complete
  int64_t slot_free = 0;     // Preload: latest cycle at which an issued consumer stops streaming
};

struct Transfer {
  DmaRecord record;
  uint64_t base = 0;                              // device address of the tensor
  const std::vector<int64_t>* offsets = nullptr;  // indirect: elements to add, one per tile position, row-major; outlives the work-item
  bool repeats = false;                           // deliberate fault: a granule is fetched for each element
};

struct WorkItem {
  size_t index = 0;      // position in dispatch order
  int64_t first_id = 0;  // INST_ID of instruction 0
  std::vector<int64_t> iv;
  std::vector<Instruction> code;
  std::vector<Transfer> transfers;
  DependencyStore deps;
  VersionTable versions;
  ReadySet ready;
  std::vector<uint32_t> preloads;  // in program order; they issue in this order
  size_t next_preload = 0;
  size_t unfinished = 0;
  int64_t footprint = 0;  // bytes per lane
  int64_t indirect = 0;   // transfers that take their addresses from an index buffer
  int64_t unindexed = 0;  // ... whose index values are not known: timed as dense ones
};

}  // namespace togsim
#endif
