// Which DRAM bytes a transfer touches.
#ifndef TOGSIM_FOOTPRINT_H
#define TOGSIM_FOOTPRINT_H

#include <cstdint>
#include <vector>

#include "record.h"

namespace togsim {

// Closed interval of granule numbers (address / granule size).
struct Interval {
  uint64_t first;
  uint64_t last;
};

// Distinct granules that hold active elements of `dma`, as disjoint ascending intervals. `base` is the device address of the
// tensor. Empty if no position is active. Throws TraceError if an active element lies below address 0.
std::vector<Interval> touched_granules(const DmaRecord& dma, uint64_t base, uint64_t granule);

// Lowest byte and highest byte of the active elements; {1, 0} if there are none.
Interval bounding_bytes(const DmaRecord& dma, uint64_t base);

// Sort and join what touches or overlaps.
void merge(std::vector<Interval>& intervals);

// Whether two ascending lists share a granule.
bool intersect(const std::vector<Interval>& a, const std::vector<Interval>& b);

uint64_t count(const std::vector<Interval>& intervals);

}  // namespace togsim
#endif
