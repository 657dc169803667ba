// A request queue of the event-driven DRAM channel.
//
// Entries are numbered in the order in which they come, and the last 64 numbers have a place each: a set of entries is a mask, and
// its oldest entry the first bit from the place of the oldest number on. After 128 numbers all move down by 64. Only an entry that
// waits while 63 others come makes the queue move entries to other places.
#ifndef TOGSIM_DRAM_QUEUE_H
#define TOGSIM_DRAM_QUEUE_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "dram_kernels.h"

namespace togsim {

// As wide as it is so that a DramEntry has no hole: those with one are copied in overlapping pieces.
enum class DramOutcome : uint32_t { Hit, Miss, Conflict };

// Row, column, bank and direction in one word: two transactions have the same place if the words are equal.
class DramEntry {
 public:
  DramEntry() = default;
  DramEntry(uint32_t row, uint32_t column, size_t bank, bool write, uint32_t transfer)
      : word_(uint64_t{row} << 32 | uint64_t{column} << 16 | bank << 1 | static_cast<uint64_t>(write)), transfer_(transfer) {}

  uint32_t row() const { return static_cast<uint32_t>(word_ >> 32); }
  size_t bank() const { return (word_ & 0xffff) >> 1; }
  bool write() const { return (word_ & 1) != 0; }
  uint32_t transfer() const { return transfer_; }
  DramOutcome outcome() const { return outcome_; }
  void set_outcome(DramOutcome outcome) { outcome_ = outcome; }
  // Whether this read reads what `other` writes.
  bool reads(const DramEntry& other) const { return (word_ | 1) == other.word_; }

 private:
  uint64_t word_ = 0;
  uint32_t transfer_ = 0;
  DramOutcome outcome_ = DramOutcome::Hit;
};

class DramQueue {
 public:
  static constexpr DramRank kPlaces = 64;
  static constexpr DramRank kNumbers = 2 * kPlaces;

  DramQueue() { column_rank_.fill(kNoRank), row_rank_.fill(kNoRank); }

  int count() const { return count_; }
  bool any_hit() const { return hit_count_ != 0; }

  // Before insert(), if true: renumber(). It changes ranks.
  bool must_renumber() const { return tail_ == end_; }
  void renumber();

  // Rank of the new entry, which hits the open row of its bank or does not.
  DramRank insert(const DramEntry& entry, bool hit) {
    const DramRank number = tail_++;
    entries_[place(number)] = entry;
    ++count_;
    const size_t bank = entry.bank();
    const DramRank rank = kQueued + number;
    if (hit) {
      hits_[bank] |= bit(number);
      ++hit_count_;
      put(column_rank_.data(), bank, std::min(column_rank_[bank], rank));
    } else {
      others_[bank] |= bit(number);
    }
    return rank;
  }
  void remove_hit(DramRank rank, size_t bank) {
    hits_[bank] &= ~bit(rank);
    put(column_rank_.data(), bank, oldest(hits_[bank]));
    --hit_count_;
    removed();
  }
  void remove_other(DramRank rank, size_t bank) {
    others_[bank] &= ~bit(rank);
    removed();
  }
  // `row` was opened.
  void find_hits(size_t bank, uint32_t row) {
    uint64_t hits = 0;
    for (uint64_t left = others_[bank]; left != 0; left &= left - 1) {
      if (entries_[static_cast<size_t>(std::countr_zero(left))].row() == row) hits |= left & (~left + 1);
    }
    if (hits == 0) return;
    others_[bank] &= ~hits;
    hits_[bank] = hits;
    hit_count_ += std::popcount(hits);
    put(column_rank_.data(), bank, oldest(hits));
  }
  // The row was closed.
  void clear_hits(size_t bank) {
    if (hits_[bank] == 0) return;
    hit_count_ -= std::popcount(hits_[bank]);
    others_[bank] |= hits_[bank];
    hits_[bank] = 0;
    put(column_rank_.data(), bank, kNoRank);
  }

  DramEntry& entry(DramRank rank) { return entries_[place(rank)]; }
  const DramEntry& entry(DramRank rank) const { return entries_[place(rank)]; }
  bool has_hit(size_t bank) const { return hits_[bank] != 0; }
  bool empty(size_t bank) const { return (hits_[bank] | others_[bank]) == 0; }
  DramRank oldest_other(size_t bank) const { return oldest(others_[bank]); }
  // Whether the bank has a write of what `entry` reads.
  bool has_write_of(const DramEntry& entry) const {
    const size_t bank = entry.bank();
    for (uint64_t left = hits_[bank] | others_[bank]; left != 0; left &= left - 1) {
      if (entry.reads(entries_[static_cast<size_t>(std::countr_zero(left))])) return true;
    }
    return false;
  }

  // Candidates of each bank: the oldest hit; the entry that wants an ACT or a PRE.
  const PerBank<DramRank>& column_rank() const { return column_rank_; }
  const PerBank<DramRank>& row_rank() const { return row_rank_; }
  void set_row_rank(size_t bank, DramRank rank) { row_rank_[bank] = rank; }

 private:
  static_assert(kQueued % kPlaces == 0);  // a number and its rank have the same place
  static size_t place(DramRank number) { return static_cast<size_t>(number & (kPlaces - 1)); }
  static uint64_t bit(DramRank number) { return uint64_t{1} << place(number); }

  DramRank oldest(uint64_t entries) const {
    const DramRank rank = kQueued + head_ + std::countr_zero(std::rotr(entries, head_));
    return entries == 0 ? kNoRank : rank;
  }
  void removed() {
    if (--count_ == 0) restart(0, 0);
  }
  uint64_t live() const {
    uint64_t live = 0;
    for (size_t b = 0; b < kMaxBanks; ++b) live |= hits_[b] | others_[b];
    return live;
  }
  void restart(DramRank head, DramRank tail) {
    head_ = head;
    tail_ = tail;
    end_ = std::min(head + kPlaces, kNumbers);
  }
  void close_gaps();

  int count_ = 0;
  DramRank head_ = 0;  // no entry has a lower number
  DramRank tail_ = 0;  // of the next entry
  DramRank end_ = kPlaces;
  int hit_count_ = 0;  // not beside count_: compilers would load both at once, and that waits for the last store of either
  PerBank<DramRank> column_rank_;
  PerBank<DramRank> row_rank_;
  std::array<uint64_t, kMaxBanks> hits_{};
  std::array<uint64_t, kMaxBanks> others_{};
  std::array<DramEntry, kPlaces> entries_{};
};

}  // namespace togsim
#endif
