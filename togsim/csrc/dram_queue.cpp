#include "dram_queue.h"

#include <algorithm>

namespace togsim {

void DramQueue::renumber() {
  restart(head_ + std::countr_zero(std::rotr(live(), head_)), tail_);  // there is one: an empty queue begins anew
  if (tail_ - head_ == kPlaces) {
    close_gaps();
  } else if (tail_ == kNumbers) {
    restart(head_ - kPlaces, tail_ - kPlaces);
    for (PerBank<DramRank>* ranks : {&column_rank_, &row_rank_}) {
      for (DramRank& rank : *ranks) rank -= rank >= kQueued && rank != kNoRank ? kPlaces : 0;
    }
  }
}

// An entry has waited for long: all of them to the first places, in the same order.
void DramQueue::close_gaps() {
  std::array<DramRank, kPlaces> renamed{};
  std::array<DramEntry, kPlaces> entries;
  const uint64_t live = this->live();
  DramRank to = 0;
  for (DramRank from = head_; from < tail_; ++from) {
    if ((live & bit(from)) == 0) continue;
    entries[place(to)] = entries_[place(from)];
    renamed[place(from)] = kQueued + to++;
  }
  entries_ = entries;
  for (std::array<uint64_t, kMaxBanks>* banks : {&hits_, &others_}) {
    for (uint64_t& set : *banks) {
      uint64_t moved = 0;
      for (uint64_t left = set; left != 0; left &= left - 1) moved |= bit(renamed[static_cast<size_t>(std::countr_zero(left))]);
      set = moved;
    }
  }
  restart(0, to);
  for (PerBank<DramRank>* ranks : {&column_rank_, &row_rank_}) {
    for (DramRank& rank : *ranks) {
      if (rank >= kQueued && rank != kNoRank) rank = renamed[place(rank)];
    }
  }
}

}  // namespace togsim
