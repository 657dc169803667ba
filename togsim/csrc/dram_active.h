// Requests that an ACT was issued for: at most one for each bank, because its row stays open for it. In order of their ACTs.
#ifndef TOGSIM_DRAM_ACTIVE_H
#define TOGSIM_DRAM_ACTIVE_H

#include <array>
#include <cstdint>

#include "dram_kernels.h"
#include "dram_queue.h"

namespace togsim {

class DramActiveList {
 public:
  DramActiveList() { rank_.fill(kNoRank), column_rank_.fill(kNoRank); }

  uint32_t banks() const { return banks_; }
  bool has(size_t bank) const { return ((banks_ >> bank) & 1) != 0; }
  const DramEntry& entry(size_t bank) const { return entries_[bank]; }
  DramRank rank(size_t bank) const { return rank_[bank]; }
  size_t bank_at(DramRank rank) const { return at_[static_cast<size_t>(rank)]; }
  bool must_compact() const { return next_ == kQueued; }

  void insert(const DramEntry& entry) {
    const size_t bank = entry.bank();
    entries_[bank] = entry;
    banks_ |= 1u << bank;
    writes_[bank] = entry.write() ? -1 : 0;
    at_[static_cast<size_t>(next_)] = static_cast<uint8_t>(bank);
    rank_[bank] = next_++;
  }
  void remove(size_t bank) {
    banks_ &= ~(1u << bank);
    rank_[bank] = column_rank_[bank] = kNoRank;
    if (banks_ == 0) next_ = 0;
  }
  // Ranks in the same order from 0 on.
  void compact() {
    DramRank to = 0;
    for (DramRank from = 0; from < next_; ++from) {
      const size_t bank = bank_at(from);
      if (rank_[bank] != from) continue;
      if (column_rank_[bank] != kNoRank) column_rank_[bank] = to;
      at_[static_cast<size_t>(to)] = static_cast<uint8_t>(bank);
      rank_[bank] = to++;
    }
    next_ = to;
  }

  // Rank of the entries whose row is open.
  const PerBank<DramRank>& column_rank() const { return column_rank_; }
  void set_open(size_t bank, bool open) { column_rank_[bank] = open ? rank_[bank] : kNoRank; }
  const PerBank<int32_t>& writes() const { return writes_; }  // 0 or -1

 private:
  uint32_t banks_ = 0;
  DramRank next_ = 0;
  PerBank<DramRank> rank_;
  PerBank<DramRank> column_rank_;
  PerBank<int32_t> writes_{};
  std::array<uint8_t, kQueued> at_{};
  std::array<DramEntry, kMaxBanks> entries_{};
};

}  // namespace togsim
#endif
