#include "dram_queue.h"

namespace togsim {

void DramQueue::compact() {
  std::array<uint64_t, kMaxBanks> of_bank{};
  std::array<uint64_t, kMaxBanks> hits{};
  uint32_t to = 0;
  for (uint64_t left = live_; left != 0; left &= left - 1, ++to) {
    const auto from = static_cast<uint32_t>(std::countr_zero(left));
    const size_t bank = entries_[from].place.bank;
    entries_[to] = entries_[from];
    of_bank[bank] |= bit(to);
    hits[bank] |= ((hits_[bank] >> from) & 1) << to;
  }
  of_bank_ = of_bank;
  hits_ = hits;
  live_ = bit(to) - 1;  // to <= kMaxQueueEntries < 64
  tail_ = to;
}

}  // namespace togsim
