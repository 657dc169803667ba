// Which DRAM bytes a transfer touches: a strided box, or element by element where index values say so.
#ifndef TOGSIM_ADDRESSES_H
#define TOGSIM_ADDRESSES_H

#include <cstdint>
#include <vector>

#include "footprint.h"
#include "work_item.h"

namespace togsim {

// Distinct granules of the active elements, as disjoint ascending intervals: each is fetched once and serves all lanes.
// Throws TraceError if an active element lies below address 0.
std::vector<Interval> touched_granules(const Transfer& transfer, uint64_t granule);

// Lowest and highest byte of the active elements; {1, 0} if there are none.
Interval bounding_bytes(const Transfer& transfer);

}  // namespace togsim
#endif
