#include "dram_events.h"

#include <algorithm>
#include <bit>

namespace togsim {
namespace {

constexpr DramTime kEpoch = 1 << 29;  // times are moved back by this much before they leave the range of DramTime

}  // namespace

EventDrivenDram::EventDrivenDram(const DramSpec& spec)
    : spec_(spec),
      distance_(spec.timing),
      banks_per_pseudo_(static_cast<size_t>(spec.banks_per_pseudo_channel())),
      banks_per_group_(static_cast<size_t>(spec.organization.banks)),
      pseudo_shift_(static_cast<uint32_t>(std::countr_zero(banks_per_pseudo_))),
      queue_size_{spec.policy.read_queue, spec.policy.write_queue},
      write_high_(spec.policy.write_high_entries()),
      write_low_(spec.policy.write_low_entries()) {
  if (!spec.policy.refresh) return;
  for (int p = 0; p < spec.organization.pseudo_channels; ++p) {
    pseudo_[static_cast<size_t>(p)].refresh_due = spec.timing.REFI + p * spec.policy.refresh_stagger;
  }
  refresh_due_ = pseudo_[0].refresh_due;
}

void EventDrivenDram::push(const DramRequest& request, const DramPlace& place) {
  const bool was_empty = incoming_.empty();
  incoming_.push({request.arrival, {place, request.transfer, request.write}});
  if (was_empty) schedule_accept(0);
}

void EventDrivenDram::run_until(Cycle end, std::vector<DramCompletion>& done) {
  done_ = &done;
  for (;;) {
    const Cycle stop = std::min(end, epoch_ + kEpoch);
    run_events(static_cast<DramTime>(stop - epoch_));
    if (stop == end) return;
    rebase();
  }
}

void EventDrivenDram::rebase() {
  const auto back = [](DramTime& t) {
    if (t != kNoTime) t = std::max(t - kEpoch, 0);
  };
  const auto all_back = [&](auto& times) {
    for (DramTime& t : times) back(t);
  };
  epoch_ += kEpoch;
  for (auto& times : column_ready_) all_back(times);
  all_back(activate_ready_);
  all_back(precharge_ready_);
  all_back(refresh_ready_);
  for (PseudoChannel& p : pseudo_) {
    all_back(p.fifth_activate);
    back(p.refresh_due);
  }
  for (DramTime* t : {&column_from_, &row_from_, &row_bus_free_, &switch_at_, &refresh_due_, &refresh_at_}) back(*t);
  if (accept_cycle_ < kEpoch) accepted_ = 0;  // that cycle is past
  back(accept_cycle_);
  column_stale_ = row_stale_ = true;
  schedule_accept(0);
}

void EventDrivenDram::run_events(DramTime end) {
  for (;;) {
    const DramTime t = next_event();
    if (t >= end) return;
    step(t);
  }
}

DramTime EventDrivenDram::next_event() {
  if (column_stale_) choose_column();
  if (row_stale_) choose_row();
  return std::min({accept_at_, switch_at_, refresh_due_, refresh_at_, column_.time, row_.time});
}

void EventDrivenDram::step(DramTime t) {
  ++stats_.steps;
  column_from_ = std::max(column_from_, t);
  row_from_ = std::max(row_from_, t);
  if (refresh_due_ <= t) mark_refresh(t);
  if (accept_at_ <= t) accept(t);
  if (wants_switch()) {
    writing_ = !writing_;
    column_stale_ = row_stale_ = true;
  }
  if (column_stale_) choose_column();
  if (spec_.dual_command_bus) {
    if (column_.time <= t) issue_column(t);
    if (refresh_at_ <= t) {
      refresh_command(t);
    } else {
      if (row_stale_) choose_row();
      if (row_.time <= t) issue_row(t);
    }
  } else if (refresh_at_ <= t) {
    refresh_command(t);
  } else {
    if (row_stale_) choose_row();
    const bool row = row_.time <= t;
    const bool column = column_.time <= t && !(row && spec_.policy.bus_by_age && row_.rank < column_.rank);
    if (column) {
      row_from_ = t + 1;
      issue_column(t);
      row_stale_ = row_stale_ || row;  // it comes second; another may be before it then
    } else if (row) {
      issue_row(t);
      column_stale_ = column_stale_ || column_.time <= t;
    }
  }
  column_from_ = row_from_ = t + 1;
  if (accept_at_ == t + 1 && spec_.policy.accepts_per_cycle == 1) accept(t + 1);
  if (refresh_pending_ != 0) schedule_refresh(t + 1);
  // A switch belongs to the next cycle: requests that arrive then may change it.
  switch_at_ = wants_switch() ? t + 1 : kNoTime;
}

bool EventDrivenDram::forwardable(const DramEntry& read) const {
  if (read.write || !spec_.policy.write_forwarding) return false;
  const size_t bank = read.place.bank;
  const auto same = [&](const DramEntry& e) { return e.write && e.place.row == read.place.row && e.place.column == read.place.column; };
  if (active_.has(bank) && same(active_.entry(bank))) return true;
  for (uint64_t left = queue_[1].of_bank(bank); left != 0; left &= left - 1) {
    if (same(queue_[1].entry(static_cast<uint32_t>(std::countr_zero(left))))) return true;
  }
  return false;
}

void EventDrivenDram::accept(DramTime t) {
  if (t > accept_cycle_) {
    accept_cycle_ = t;
    accepted_ = 0;
  }
  const Cycle cycle = epoch_ + t;
  for (; accepted_ < spec_.policy.accepts_per_cycle && !incoming_.empty() && incoming_.front().arrival <= cycle; ++accepted_) {
    const DramEntry& head = incoming_.front().entry;
    if (forwardable(head)) {
      done_->push_back({cycle + 1, head.transfer});
      ++stats_.reads;
      ++stats_.row_hits;
      ++stats_.forwarded;
    } else if (room(head)) {
      insert(head, t);
    } else {
      break;  // the head of the line blocks what is behind it
    }
    incoming_.pop();
  }
  schedule_accept(t);
}

// When the head of the line enters, if a slot that the command at from - 1 freed may be filled from `from` on.
void EventDrivenDram::schedule_accept(DramTime from) {
  accept_at_ = kNoTime;
  if (incoming_.empty()) return;
  const Waiting& head = incoming_.front();
  if (!room(head.entry) && !forwardable(head.entry)) return;  // a command that frees a slot comes back to it
  const Cycle arrival = head.arrival - epoch_;
  if (arrival > kEpoch) return;  // rebase() comes back to it
  const DramTime free = accepted_ >= spec_.policy.accepts_per_cycle ? accept_cycle_ + 1 : accept_cycle_;
  accept_at_ = std::max({static_cast<DramTime>(std::max<Cycle>(arrival, 0)), free, from});
}

void EventDrivenDram::insert(const DramEntry& entry, DramTime t) {
  DramQueue& queue = queue_[entry.write];
  const size_t bank = entry.place.bank;
  if (queue.must_compact()) {
    queue.compact();
    for (size_t b = 0; b < kMaxBanks; ++b) {
      queue.set_column_rank(b);
      queue.set_row_rank(b, row_rank(queue, b));
    }
    column_stale_ = row_stale_ = true;
  }
  const uint32_t position = queue.insert(entry);
  const bool served = entry.write == writing_;
  if (is_open(bank) && open_row_[bank] == entry.place.row) {
    const bool first = queue.hits(bank) == 0;
    queue.add_hit(bank, position);
    if (!first) return;
    queue.set_column_rank(bank);
    if (served) consider_column(bank, queue.column_rank()[bank], entry.write, t);
  }
  const DramRank before = queue.row_rank()[bank];
  const DramRank after = row_rank(queue, bank);
  if (before == after) return;
  queue.set_row_rank(bank, after);
  if (!served) return;
  if (before == kNoRank) {
    consider_row(bank, after, t);
  } else {
    row_stale_ = true;  // a PRE is not wanted any more
  }
}

}  // namespace togsim
