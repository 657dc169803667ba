// Commands of the event-driven DRAM channel, and what they make of the banks.
#include <algorithm>
#include <bit>

#include "dram_events.h"

namespace togsim {
namespace {

using enum DramCommand;
using enum BankRelation;

void raise(DramTime& ready, DramTime to) { ready = std::max(ready, to); }

void raise(PerBank<DramTime>& ready, size_t first, size_t count, DramTime to) {
  DramTime* at = ready.data() + first;
  for (size_t b = 0; b < count; ++b) at[b] = std::max(at[b], to);
}

}  // namespace

void EventDrivenDram::issue_column(DramTime t) {
  const DramRank rank = column_.rank;
  const size_t bank = bank_of(rank);
  const bool from_active = rank < kQueued;
  const auto position = static_cast<uint32_t>(rank - kQueued);
  const DramEntry e = from_active ? active_.entry(bank) : current().entry(position);

  const DramTiming& d = spec_.timing;
  const Cycle cycle = epoch_ + t;
  const Cycle data = cycle + (e.write ? d.CWL : d.CL) + d.BL;
  done_->push_back({e.write && !spec_.policy.write_done_data ? cycle : data, e.transfer});
  ++(e.write ? stats_.writes : stats_.reads);
  ++(e.outcome == DramOutcome::Hit ? stats_.row_hits : e.outcome == DramOutcome::Miss ? stats_.row_misses : stats_.row_conflicts);
  stats_.busy += d.BL;

  const DramCommand command = e.write ? Write : Read;
  const size_t pseudo = first_of_pseudo(bank);
  const size_t group = first_of_group(bank);
  DramTime* reads = column_ready_[0].data();
  DramTime* writes = column_ready_[1].data();
  raise_columns(reads + pseudo, writes + pseudo, banks_per_pseudo_, t + distance_(command, Read, SamePseudoChannel),
                t + distance_(command, Write, SamePseudoChannel));
  const DramTime read_to = t + distance_(command, Read, SameGroup);
  const DramTime write_to = t + distance_(command, Write, SameGroup);
  for (size_t b = group; b < group + banks_per_group_; ++b) {
    raise(reads[b], read_to);
    raise(writes[b], write_to);
  }
  const DramTime precharge_before = precharge_ready_[bank];
  raise(precharge_ready_[bank], t + distance_(command, Pre, SameBank));
  // The bank's PRE may have been the choice: it is later now.
  if (precharge_ready_[bank] != precharge_before && row_.rank != kNoRank && !row_stale_ && bank_of(row_.rank) == bank) row_stale_ = true;

  if (from_active) {
    active_.remove(bank);
    for (DramQueue& queue : queue_) update_row_rank(queue, bank);
  } else {
    DramQueue& queue = current();
    queue.remove(position);
    queue.set_column_rank(bank);
    update_row_rank(queue, bank);
    if (accept_at_ == kNoTime) schedule_accept(t + 1);
  }
  column_stale_ = true;
}

void EventDrivenDram::issue_row(DramTime t) {
  const DramRank rank = row_.rank;
  const size_t bank = bank_of(rank);
  if (is_open(bank)) {
    current().entry(static_cast<uint32_t>(rank - kQueued)).outcome = DramOutcome::Conflict;
    precharge(t, bank);
    row_bus_taken(t, 1);
    ++stats_.precharges;
    return;
  }
  if (rank < kQueued) {
    activate(t, bank, active_.entry(bank).place.row);
  } else {
    DramQueue& queue = current();
    const auto position = static_cast<uint32_t>(rank - kQueued);
    DramEntry& e = queue.entry(position);
    if (e.outcome == DramOutcome::Hit) e.outcome = DramOutcome::Miss;
    const uint32_t row = e.place.row;
    if (spec_.policy.active_list) {
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
      queue.remove(position);
      if (accept_at_ == kNoTime) schedule_accept(t + 1);
    }
    activate(t, bank, row);
  }
  row_bus_taken(t, spec_.timing.ACT);
  ++stats_.activates;
}

void EventDrivenDram::row_bus_taken(DramTime t, int cycles) {
  row_bus_free_ = t + cycles;
  row_stale_ = true;
}

void EventDrivenDram::activate(DramTime t, size_t bank, uint32_t row) {
  PseudoChannel& p = pseudo_[pseudo_of(bank)];
  p.fifth_activate[p.next] = t + spec_.timing.FAW;
  p.next = (p.next + 1) % 4;
  raise(activate_ready_, first_of_pseudo(bank), banks_per_pseudo_,
        std::max(t + distance_(Act, Act, SamePseudoChannel), p.fifth_activate[p.next]));
  raise(activate_ready_, first_of_group(bank), banks_per_group_, t + distance_(Act, Act, SameGroup));
  raise(activate_ready_[bank], t + distance_(Act, Act, SameBank));
  raise(precharge_ready_[bank], t + distance_(Act, Pre, SameBank));
  raise(refresh_ready_[bank], t + distance_(Act, Refresh, SameBank));
  raise(column_ready_[0][bank], t + distance_(Act, Read, SameBank));
  raise(column_ready_[1][bank], t + distance_(Act, Write, SameBank));
  open_[bank] = -1;
  open_row_[bank] = row;
  if (active_.has(bank)) {
    active_.set_open(bank, true);
    consider_column(bank, active_.rank(bank), active_.entry(bank).write, t + 1);
  }
  for (DramQueue& queue : queue_) {
    queue.find_hits(bank, row);
    queue.set_column_rank(bank);
    queue.set_row_rank(bank, row_rank(queue, bank));
  }
  if (current().hits(bank) != 0) consider_column(bank, current().column_rank()[bank], writing_, t + 1);
}

void EventDrivenDram::precharge(DramTime t, size_t bank) {
  raise(activate_ready_[bank], t + distance_(Pre, Act, SameBank));
  raise(refresh_ready_[bank], t + distance_(Pre, Refresh, SameBank));
  open_[bank] = 0;
  if (current().hits(bank) != 0 || active_.has(bank)) column_stale_ = true;
  active_.set_open(bank, false);
  for (DramQueue& queue : queue_) {
    queue.clear_hits(bank);
    queue.set_column_rank(bank);
    queue.set_row_rank(bank, row_rank(queue, bank));
  }
}

void EventDrivenDram::mark_refresh(DramTime t) {
  refresh_due_ = kNoTime;
  for (size_t p = 0; p < static_cast<size_t>(spec_.organization.pseudo_channels); ++p) {
    if (pseudo_[p].refresh_due <= t) {
      refresh_pending_ |= 1u << p;
      pseudo_[p].refresh_due += spec_.timing.REFI;
    }
    refresh_due_ = std::min(refresh_due_, pseudo_[p].refresh_due);
  }
  set_blocked();
  schedule_refresh(t);
}

void EventDrivenDram::set_blocked() {
  const bool all = spec_.policy.block_channel && refresh_pending_ != 0;
  blocked_banks_ = 0;
  for (size_t b = 0; b < static_cast<size_t>(spec_.total_banks()); ++b) {
    const bool blocked = all || ((refresh_pending_ >> pseudo_of(b)) & 1) != 0;
    blocked_[b] = blocked ? kNoRank : 0;
    blocked_banks_ |= static_cast<uint32_t>(blocked) << b;
  }
  column_stale_ = row_stale_ = true;
}

void EventDrivenDram::schedule_refresh(DramTime from) {
  refresh_at_ = kNoTime;
  for (uint32_t left = refresh_pending_; left != 0; left &= left - 1) {
    refresh_at_ = std::min(refresh_at_, std::max(from, refresh_ready(static_cast<size_t>(std::countr_zero(left)))));
  }
}

// First cycle at which a pseudo-channel's open banks may be closed, or, with none open, at which it may be refreshed.
DramTime EventDrivenDram::refresh_ready(size_t pseudo_channel) const {
  DramTime precharged = row_bus_free_;
  DramTime closed = row_bus_free_;
  bool open = false;
  for (size_t b = pseudo_channel * banks_per_pseudo_; b < (pseudo_channel + 1) * banks_per_pseudo_; ++b) {
    if (is_open(b)) {
      open = true;
      raise(precharged, precharge_ready_[b]);
    }
    raise(closed, refresh_ready_[b]);
  }
  return open ? precharged : closed;
}

void EventDrivenDram::refresh_command(DramTime t) {
  for (size_t p = 0; p < pseudo_.size(); ++p) {
    if (((refresh_pending_ >> p) & 1) == 0 || refresh_ready(p) > t) continue;
    bool closed = false;
    for (size_t b = p * banks_per_pseudo_; b < (p + 1) * banks_per_pseudo_; ++b) {
      if (!is_open(b)) continue;
      precharge(t, b);
      closed = true;
    }
    if (!closed) {
      raise(activate_ready_, p * banks_per_pseudo_, banks_per_pseudo_, t + distance_(Refresh, Act, SamePseudoChannel));
      refresh_pending_ &= ~(1u << p);
      set_blocked();
      refresh_at_ = kNoTime;
    }
    ++(closed ? stats_.precharges : stats_.refreshes);
    row_bus_taken(t, 1);
    if (!spec_.dual_command_bus) column_stale_ = column_stale_ || column_.time <= t;
    return;
  }
}

}  // namespace togsim
