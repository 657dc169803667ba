// Row commands of the event-driven DRAM channel, and what they make of the banks.
#include <algorithm>

#include "dram_events.h"

namespace togsim {
namespace {

using enum DramCommand;
using enum BankRelation;

void raise(DramTime& ready, DramTime to) { ready = std::max(ready, to); }

}  // namespace

bool EventDrivenDram::issue_row(DramTime t) {
  const DramRank rank = row_.rank;
  const size_t bank = rank < kQueued ? active_.bank_at(rank) : current().entry(rank).bank();
  if (is_open(bank)) {
    current().entry(rank).set_outcome(DramOutcome::Conflict);
    precharge(t, bank);
    row_bus_taken(t, 1);
    ++stats_.precharges;
    return false;
  }
  if (rank < kQueued) {
    activate(t, bank, active_.entry(bank).row());
  } else {
    DramQueue& queue = current();
    DramEntry& e = queue.entry(rank);
    if (e.outcome() == DramOutcome::Hit) e.set_outcome(DramOutcome::Miss);
    const uint32_t row = e.row();
    if (policy_.active_list) {
      if (active_.must_compact()) {
        active_.compact();
        column_stale_ = true;
        for (DramQueue& q : queue_) {
          for (size_t b = 0; b < kMaxBanks; ++b) {
            if (active_.has(b)) q.set_row_rank(b, row_rank(q, b));
          }
        }
      }
      active_.insert(e);
      queue.remove_other(rank, bank);
    }
    activate(t, bank, row);
  }
  row_bus_taken(t, timing_.ACT);
  ++stats_.activates;
  return rank >= kQueued && policy_.active_list;
}

void EventDrivenDram::activate(DramTime t, size_t bank, uint32_t row) {
  PseudoChannel& p = pseudo_[pseudo_of(bank)];
  p.fifth_activate[p.next] = t + timing_.FAW;
  p.next = (p.next + 1) % 4;
  const DramTime far = std::max(t + distance_(Act, Act, SamePseudoChannel), p.fifth_activate[p.next]);
  raise_pseudo(activate_ready_, bank, {std::max(t + distance_(Act, Act, SameGroup), far), far});
  raise(activate_ready_[bank], t + distance_(Act, Act, SameBank));
  raise(precharge_ready_[bank], t + distance_(Act, Pre, SameBank));
  raise(refresh_ready_[bank], t + distance_(Act, Refresh, SameBank));
  raise(column_ready_[0][bank], t + distance_(Act, Read, SameBank));
  raise(column_ready_[1][bank], t + distance_(Act, Write, SameBank));
  open_[bank] = -1;
  open_row_[bank] = row;
  if (active_.has(bank)) {
    active_.set_open(bank, true);
    consider_column(bank, active_.rank(bank), active_.entry(bank).write(), t + 1);
  }
  for (DramQueue& queue : queue_) {
    if (!queue.empty(bank)) queue.find_hits(bank, row);
    queue.set_row_rank(bank, row_rank(queue, bank));
  }
  if (current().has_hit(bank)) consider_column(bank, current().column_rank()[bank], writing_, t + 1);
}

void EventDrivenDram::precharge(DramTime t, size_t bank) {
  raise(activate_ready_[bank], t + distance_(Pre, Act, SameBank));
  raise(refresh_ready_[bank], t + distance_(Pre, Refresh, SameBank));
  open_[bank] = 0;
  open_row_[bank] = kClosed;
  if (current().has_hit(bank) || active_.has(bank)) column_stale_ = true;
  active_.set_open(bank, false);
  for (DramQueue& queue : queue_) {
    queue.clear_hits(bank);
    queue.set_row_rank(bank, row_rank(queue, bank));
  }
}

}  // namespace togsim
