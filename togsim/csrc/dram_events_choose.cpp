// The next column and row command of the event-driven DRAM channel.
#include <algorithm>

#include "dram_events.h"

namespace togsim {

void EventDrivenDram::choose_column() {
  column_stale_ = false;
  column_ = choice_of(unblocked_slots_ == kMaxBanks ? first_column<kMaxBanks>()
                      : unblocked_slots_ == kBlock  ? first_column<kBlock>()
                                                    : kNoRank,
                      from_);
}

template <size_t kBanks>
DramKey EventDrivenDram::first_column() const {
  const size_t b = kBanks == kMaxBanks ? 0 : first_slot_;
  const DramQueue& queue = current();
  DramKey first = kNoRank;
  if (queue.any_hit()) first = first_of<kBanks>(&column_ready_[writing_][b], &queue.column_rank()[b], from_);
  if (active_.banks() == 0) return first;
  return std::min(first,
                  first_of<kBanks>(&column_ready_[0][b], &column_ready_[1][b], &active_.writes()[b], &active_.column_rank()[b], from_));
}

void EventDrivenDram::choose_row() {
  row_stale_ = false;
  const DramTime from = std::max(from_, row_bus_free_);
  row_ = choice_of(unblocked_slots_ == kMaxBanks ? first_row<kMaxBanks>(from)
                   : unblocked_slots_ == kBlock  ? first_row<kBlock>(from)
                                                 : kNoRank,
                   from);
}

template <size_t kBanks>
DramKey EventDrivenDram::first_row(DramTime from) const {
  const size_t b = kBanks == kMaxBanks ? 0 : first_slot_;
  return first_of<kBanks>(&activate_ready_[b], &precharge_ready_[b], &open_[b], &current().row_rank()[b], from);
}

// Which entry of a bank wants a row command: one of the active list that lost its row to a refresh; else, of the queue, the oldest
// on a closed bank, or the oldest that does not hit the open row, if the policy lets that row be closed.
DramRank EventDrivenDram::row_rank(const DramQueue& queue, size_t bank) const {
  if (active_.has(bank)) return is_open(bank) ? kNoRank : active_.rank(bank);
  if (policy_.protect_hits && queue.has_hit(bank)) return kNoRank;  // of the open row
  return queue.oldest_other(bank);
}

void EventDrivenDram::update_row_rank(DramQueue& queue, size_t bank) {
  const DramRank before = queue.row_rank()[bank];
  const DramRank after = row_rank(queue, bank);
  if (before == after) return;
  queue.set_row_rank(bank, after);
  if (&queue != &current()) return;
  if (before == kNoRank) {
    consider_row(bank, after, from_);
  } else {
    row_stale_ = true;
  }
}

}  // namespace togsim
