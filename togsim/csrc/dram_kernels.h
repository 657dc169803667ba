// The inner loops of the event-driven DRAM channel, over arrays of one figure per bank; compiled for several vector widths and
// chosen at run time.
#ifndef TOGSIM_DRAM_KERNELS_H
#define TOGSIM_DRAM_KERNELS_H

#include <array>
#include <cstddef>
#include <cstdint>

#include "dram_spec.h"

namespace togsim {

using DramTime = int32_t;  // cycles since the channel's epoch
inline constexpr DramTime kNoTime = INT32_MAX;

// Order of service among candidates: entries of the active list before queued ones, then age. kNoRank: no candidate.
using DramRank = int32_t;
inline constexpr DramRank kNoRank = INT32_MAX;
inline constexpr uint32_t kRankBits = 7;
inline constexpr DramRank kQueued = 64;  // added to the rank of a queued entry

template <typename T>
struct alignas(64) PerBank : std::array<T, kMaxBanks> {};

// A command that will issue: the earliest, among equally early ones the first in the order of service.
struct DramChoice {
  DramTime time = kNoTime;
  DramRank rank = kNoRank;
  bool before(const DramChoice& other) const { return time != other.time ? time < other.time : rank < other.rank; }
};

// The bank masks below are 0 or -1 for each bank; `blocked` is 0 or kNoRank. No command issues before `from`.
struct ColumnInputs {
  const PerBank<DramTime>& read_ready;
  const PerBank<DramTime>& write_ready;
  const PerBank<DramTime>& queue_ready;  // one of the two above
  const PerBank<DramRank>& queue_rank;
  const PerBank<DramRank>& active_rank;
  const PerBank<int32_t>& active_writes;
  const PerBank<int32_t>& blocked;
};
DramChoice first_column(const ColumnInputs& in, DramTime from);

struct RowInputs {
  const PerBank<DramTime>& activate_ready;
  const PerBank<DramTime>& precharge_ready;
  const PerBank<int32_t>& open;
  const PerBank<DramRank>& rank;
  const PerBank<int32_t>& blocked;
};
DramChoice first_row(const RowInputs& in, DramTime from);

// Raise the ready times of `count` banks to at least `read_to` and `write_to`.
void raise_columns(DramTime* read_ready, DramTime* write_ready, size_t count, DramTime read_to, DramTime write_to);

}  // namespace togsim
#endif
