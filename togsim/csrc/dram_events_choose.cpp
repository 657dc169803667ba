// The next column and row command of the event-driven DRAM channel.
#include <algorithm>
#include <bit>

#include "dram_events.h"

namespace togsim {
namespace {

constexpr int kFew = 3;  // candidates up to which a loop over them beats the minimum over all banks

template <typename Apply>
void each_bank(uint32_t banks, Apply apply) {
  for (; banks != 0; banks &= banks - 1) apply(static_cast<size_t>(std::countr_zero(banks)));
}

}  // namespace

void EventDrivenDram::choose_column() {
  column_stale_ = false;
  const DramQueue& queue = current();
  const uint32_t hits = queue.column_banks() & ~blocked_banks_;
  const uint32_t active = active_.banks() & ~blocked_banks_;
  if (std::popcount(hits) + std::popcount(active) > kFew) {
    column_ = first_column({column_ready_[0], column_ready_[1], column_ready_[writing_], queue.column_rank(), active_.column_rank(),
                            active_.writes(), blocked_},
                           column_from_);
    return;
  }
  column_ = {};
  const auto consider = [&](DramTime ready, DramRank rank) {
    const DramChoice choice{std::max(ready, column_from_), rank};
    if (rank != kNoRank && choice.before(column_)) column_ = choice;
  };
  each_bank(hits, [&](size_t b) { consider(column_ready_[writing_][b], queue.column_rank()[b]); });
  each_bank(active, [&](size_t b) { consider(column_ready_[active_.entry(b).write][b], active_.column_rank()[b]); });
}

void EventDrivenDram::choose_row() {
  row_stale_ = false;
  const DramQueue& queue = current();
  const uint32_t banks = queue.row_banks() & ~blocked_banks_;
  const DramTime from = std::max(row_from_, row_bus_free_);
  if (std::popcount(banks) > kFew) {
    row_ = first_row({activate_ready_, precharge_ready_, open_, queue.row_rank(), blocked_}, from);
    return;
  }
  row_ = {};
  each_bank(banks, [&](size_t b) {
    const DramChoice choice{std::max(row_ready(b), from), queue.row_rank()[b]};
    if (choice.before(row_)) row_ = choice;
  });
}

// Which entry of a bank wants a row command: one of the active list that lost its row to a refresh; else, of the queue, the oldest
// on a closed bank, or the oldest that does not hit the open row, if the policy lets that row be closed.
DramRank EventDrivenDram::row_rank(const DramQueue& queue, size_t bank) const {
  if (active_.has(bank)) return is_open(bank) ? kNoRank : active_.rank(bank);
  if (!is_open(bank)) return DramQueue::oldest(queue.of_bank(bank));
  if (spec_.policy.protect_hits && queue.hits(bank) != 0) return kNoRank;
  return DramQueue::oldest(queue.of_bank(bank) & ~queue.hits(bank));
}

void EventDrivenDram::update_row_rank(DramQueue& queue, size_t bank) {
  const DramRank before = queue.row_rank()[bank];
  const DramRank after = row_rank(queue, bank);
  if (before == after) return;
  queue.set_row_rank(bank, after);
  if (&queue != &current()) return;
  if (before == kNoRank) {
    consider_row(bank, after, row_from_);
  } else {
    row_stale_ = true;
  }
}

// A candidate that is new joins a choice that is otherwise up to date.
void EventDrivenDram::consider_column(size_t bank, DramRank rank, bool write, DramTime from) {
  if (column_stale_ || ((blocked_banks_ >> bank) & 1) != 0) return;
  const DramChoice choice{std::max({column_ready_[write][bank], column_from_, from}), rank};
  if (choice.before(column_)) column_ = choice;
}

void EventDrivenDram::consider_row(size_t bank, DramRank rank, DramTime from) {
  if (row_stale_ || ((blocked_banks_ >> bank) & 1) != 0) return;
  const DramChoice choice{std::max({row_ready(bank), row_from_, row_bus_free_, from}), rank};
  if (choice.before(row_)) row_ = choice;
}

}  // namespace togsim
