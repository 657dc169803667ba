// A request queue of the event-driven DRAM channel.
//
// Entries lie in 64 positions in order of age: the oldest of any set of entries is the lowest bit of its mask. When position 64 is
// reached, the live entries are moved together; that happens at most once in 64 - kMaxQueueEntries insertions.
#ifndef TOGSIM_DRAM_QUEUE_H
#define TOGSIM_DRAM_QUEUE_H

#include <array>
#include <bit>
#include <cstdint>

#include "address_map.h"
#include "dram_kernels.h"

namespace togsim {

enum class DramOutcome : uint8_t { Hit, Miss, Conflict };

struct DramEntry {
  DramPlace place;
  uint32_t transfer;
  bool write;
  DramOutcome outcome = DramOutcome::Hit;
};

class DramQueue {
 public:
  static constexpr uint32_t kPositions = 64;

  DramQueue() { column_rank_.fill(kNoRank), row_rank_.fill(kNoRank); }

  int count() const { return count_; }
  bool must_compact() const { return tail_ == kPositions; }
  void compact();  // ranks of all banks must be set again

  // Position of the new entry.
  uint32_t insert(const DramEntry& entry) {
    const uint32_t position = tail_++;
    entries_[position] = entry;
    of_bank_[entry.place.bank] |= bit(position);
    live_ |= bit(position);
    ++count_;
    return position;
  }
  void remove(uint32_t position) {
    const size_t bank = entries_[position].place.bank;
    of_bank_[bank] &= ~bit(position);
    hits_[bank] &= ~bit(position);
    live_ &= ~bit(position);
    if (--count_ == 0) tail_ = 0;
  }

  DramEntry& entry(uint32_t position) { return entries_[position]; }
  const DramEntry& entry(uint32_t position) const { return entries_[position]; }
  uint64_t of_bank(size_t bank) const { return of_bank_[bank]; }
  uint64_t hits(size_t bank) const { return hits_[bank]; }
  void add_hit(size_t bank, uint32_t position) { hits_[bank] |= bit(position); }
  // `row` was opened.
  void find_hits(size_t bank, uint32_t row) {
    uint64_t hits = 0;
    for (uint64_t left = of_bank_[bank]; left != 0; left &= left - 1) {
      const auto position = static_cast<uint32_t>(std::countr_zero(left));
      if (entries_[position].place.row == row) hits |= bit(position);
    }
    hits_[bank] = hits;
  }
  void clear_hits(size_t bank) { hits_[bank] = 0; }

  static DramRank oldest(uint64_t entries) { return entries == 0 ? kNoRank : kQueued | std::countr_zero(entries); }

  // Candidates of each bank: the oldest hit; the oldest entry that wants an ACT or a PRE.
  const PerBank<DramRank>& column_rank() const { return column_rank_; }
  const PerBank<DramRank>& row_rank() const { return row_rank_; }
  void set_column_rank(size_t bank) {
    column_rank_[bank] = oldest(hits_[bank]);
    column_banks_ = (column_banks_ & ~(1u << bank)) | (static_cast<uint32_t>(hits_[bank] != 0) << bank);
  }
  void set_row_rank(size_t bank, DramRank rank) {
    row_rank_[bank] = rank;
    row_banks_ = (row_banks_ & ~(1u << bank)) | (static_cast<uint32_t>(rank != kNoRank) << bank);
  }
  // Banks that have a candidate.
  uint32_t column_banks() const { return column_banks_; }
  uint32_t row_banks() const { return row_banks_; }

 private:
  static uint64_t bit(uint32_t position) { return uint64_t{1} << position; }

  uint64_t live_ = 0;
  uint32_t tail_ = 0;
  int count_ = 0;
  uint32_t column_banks_ = 0;
  uint32_t row_banks_ = 0;
  PerBank<DramRank> column_rank_;
  PerBank<DramRank> row_rank_;
  std::array<uint64_t, kMaxBanks> of_bank_{};
  std::array<uint64_t, kMaxBanks> hits_{};
  std::array<DramEntry, kPositions> entries_{};
};

}  // namespace togsim
#endif
