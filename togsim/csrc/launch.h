// One kernel that a partition of the machine runs.
#ifndef TOGSIM_LAUNCH_H
#define TOGSIM_LAUNCH_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "bridge.h"
#include "clock.h"
#include "producer.h"

namespace togsim {

struct Launch {
  const Producer* producer = nullptr;  // outlives the run
  std::vector<uint64_t> bases;         // device address of each tensor argument
  std::vector<BlockCost> blocks;       // the cycle table
  IndexTable indices;                  // of indirect transfers, where they are known
  int32_t partition = 0;
  Cycle earliest = 0;  // core cycle before which it does not begin
};

}  // namespace togsim
#endif
