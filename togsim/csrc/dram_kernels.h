// The inner loops of the event-driven DRAM channel, over arrays of one figure per bank, in vectors as wide as the target has them.
// They are written with the compilers' vector types (g++, clang): loops this short are unrolled, not vectorised, where they are inlined.
#ifndef TOGSIM_DRAM_KERNELS_H
#define TOGSIM_DRAM_KERNELS_H

#include <algorithm>
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
inline constexpr int kRankBits = 8;
inline constexpr DramRank kQueued = 64;  // the least rank of a queued entry

// Banks lie in blocks of this many; a pseudo-channel begins with a block and has one or two (what is left of them stays unused).
inline constexpr size_t kBlock = 16;
static_assert(kMaxBanks == 2 * kBlock);

template <typename T>
struct alignas(64) PerBank : std::array<T, kMaxBanks> {};

inline constexpr PerBank<int32_t> kSlots = [] {
  PerBank<int32_t> slots{};
  for (size_t b = 0; b < kMaxBanks; ++b) slots[b] = static_cast<int32_t>(b);
  return slots;
}();

// A command that will issue: the earliest, among equally early ones the first in the order of service.
struct DramChoice {
  DramTime time = kNoTime;
  DramRank rank = kNoRank;
  bool before(const DramChoice& other) const { return time != other.time ? time < other.time : rank < other.rank; }
};

// Time and rank share a word, so one minimum finds both: (cycles from `from`) << 8 | rank. A rank of all ones makes the word the
// largest of all. dram_check.cpp keeps distances below 2^22.
using DramKey = int32_t;
inline DramKey dram_key(DramTime ready, DramTime from, DramRank rank) { return (std::max(ready - from, 0) << kRankBits) | rank; }

inline DramChoice choice_of(DramKey key, DramTime from) {
  if (key == kNoRank) return {};
  return {from + (key >> kRankBits), key & ((1 << kRankBits) - 1)};
}

#ifdef __AVX2__
inline constexpr size_t kLaneCount = 8;
#else
inline constexpr size_t kLaneCount = 4;
#endif
using Lanes [[gnu::vector_size(4 * kLaneCount), gnu::may_alias]] = int32_t;

inline const Lanes* lanes(const int32_t* banks) { return reinterpret_cast<const Lanes*>(banks); }
inline Lanes* lanes(int32_t* banks) { return reinterpret_cast<Lanes*>(banks); }

// banks[bank] = value, as a store of whole lanes: a load of lanes soon after would wait for a narrower store to leave the core.
inline void put(int32_t* banks, size_t bank, int32_t value) {
  const size_t i = bank / kLaneCount;
  lanes(banks)[i] = lanes(kSlots.data())[i] == static_cast<int32_t>(bank) ? Lanes{} + value : lanes(banks)[i];
}

inline Lanes lower(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes higher(Lanes a, Lanes b) { return a > b ? a : b; }

// Lane i of the result is lane i ^ kDistance.
template <int kDistance>
Lanes exchanged(Lanes v) {
  constexpr auto from = [](int lane) { return lane ^ kDistance; };
#if defined(__clang__) && defined(__AVX2__)
  return __builtin_shufflevector(v, v, from(0), from(1), from(2), from(3), from(4), from(5), from(6), from(7));
#elif defined(__clang__)
  return __builtin_shufflevector(v, v, from(0), from(1), from(2), from(3));
#elif defined(__AVX2__)
  return __builtin_shuffle(v, Lanes{from(0), from(1), from(2), from(3), from(4), from(5), from(6), from(7)});
#else
  return __builtin_shuffle(v, Lanes{from(0), from(1), from(2), from(3)});
#endif
}

inline int32_t lowest(Lanes v) {
  if constexpr (kLaneCount == 8) v = lower(v, exchanged<4>(v));
  v = lower(v, exchanged<2>(v));
  v = lower(v, exchanged<1>(v));
  return v[0];
}

// The lowest key of the first kBanks banks from here; `ready(i)` are the ready times of group i of lanes.
template <size_t kBanks, typename Ready>
DramKey first_of(Ready ready, const DramRank* rank, DramTime from) {
  Lanes best = Lanes{} + kNoRank;
  for (size_t i = 0; i < kBanks / kLaneCount; ++i) best = lower(best, higher(ready(i) - from, Lanes{}) << kRankBits | lanes(rank)[i]);
  return lowest(best);
}

template <size_t kBanks>
DramKey first_of(const DramTime* ready, const DramRank* rank, DramTime from) {
  return first_of<kBanks>([=](size_t i) { return lanes(ready)[i]; }, rank, from);
}

// The ready time of each bank is one of two: `second` where `which` is -1, `first` where it is 0.
template <size_t kBanks>
DramKey first_of(const DramTime* first, const DramTime* second, const int32_t* which, const DramRank* rank, DramTime from) {
  const auto ready = [=](size_t i) { return (lanes(second)[i] & lanes(which)[i]) | (lanes(first)[i] & ~lanes(which)[i]); };
  return first_of<kBanks>(ready, rank, from);
}

// What the ready times of a pseudo-channel's banks are raised to: in one bank group, and in the others.
struct RaisedTo {
  DramTime near;
  DramTime far;
};
// The group of a bank: all banks of the pseudo-channel that differ from it in none of the bits of `mask`.
struct BankGroup {
  int32_t bank;
  int32_t mask;
  Lanes has(size_t block, size_t i) const { return ((lanes(&kSlots[block])[i] ^ bank) & mask) == 0; }
};

inline void raise(PerBank<DramTime>& ready, size_t block, BankGroup group, RaisedTo to) {
  for (size_t i = 0; i < kBlock / kLaneCount; ++i) {
    Lanes& banks = lanes(&ready[block])[i];
    banks = higher(banks, group.has(block, i) ? Lanes{} + to.near : Lanes{} + to.far);
  }
}

// Two figures of each bank at a time.
inline void raise(PerBank<DramTime>& first, PerBank<DramTime>& second, size_t block, BankGroup group, RaisedTo first_to,
                  RaisedTo second_to) {
  for (size_t i = 0; i < kBlock / kLaneCount; ++i) {
    const Lanes same = group.has(block, i);
    const Lanes a = higher(lanes(&first[block])[i], same ? Lanes{} + first_to.near : Lanes{} + first_to.far);
    const Lanes b = higher(lanes(&second[block])[i], same ? Lanes{} + second_to.near : Lanes{} + second_to.far);
    lanes(&first[block])[i] = a;
    lanes(&second[block])[i] = b;
  }
}

}  // namespace togsim
#endif
