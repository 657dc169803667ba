#include "dram_events.h"

#include <algorithm>

#include "dram_events_accept.h"
#include "dram_events_column.h"

namespace togsim {

EventDrivenDram::EventDrivenDram(const DramSpec& spec)
    : write_high_(spec.policy.write_high_entries()),
      write_low_(spec.policy.write_low_entries()),
      queue_size_{spec.policy.read_queue, spec.policy.write_queue},
      policy_(spec.policy),
      dual_command_bus_(spec.dual_command_bus),
      group_mask_(-spec.organization.banks),
      burst_(spec.timing.BL),
      pseudo_channels_(static_cast<size_t>(spec.organization.pseudo_channels)),
      timing_(spec.timing),
      distance_(spec.timing) {
  const auto banks = static_cast<size_t>(spec.banks_per_pseudo_channel());
  slots_per_pseudo_ = std::max(banks, kBlock);
  wide_pseudo_ = slots_per_pseudo_ > kBlock;
  unblocked_slots_ = static_cast<uint32_t>(pseudo_channels_ * slots_per_pseudo_);
  for (size_t b = 0; b < pseudo_channels_ * banks; ++b) {
    slot_of_[b] = static_cast<uint8_t>(b / banks * slots_per_pseudo_ + b % banks);
  }
  open_row_.fill(kClosed);

  using enum DramCommand;
  using enum BankRelation;
  for (const DramCommand command : {Read, Write}) {
    const bool write = command == Write;
    ColumnFigures& f = column_figures_[write];
    f.done = !write || spec.policy.write_done_data ? (write ? spec.timing.CWL : spec.timing.CL) + spec.timing.BL : 0;
    f.precharge = distance_(command, Pre, SameBank);
    f.read = {distance_(command, Read, SameGroup), distance_(command, Read, SamePseudoChannel)};
    f.write = {distance_(command, Write, SameGroup), distance_(command, Write, SamePseudoChannel)};
  }
  if (!spec.policy.refresh) return;
  for (int p = 0; p < spec.organization.pseudo_channels; ++p) {
    pseudo_[static_cast<size_t>(p)].refresh_due = spec.timing.REFI + p * spec.policy.refresh_stagger;
  }
  timer_ = refresh_due_ = pseudo_[0].refresh_due;
}

void EventDrivenDram::run_on(Cycle end, std::vector<DramCompletion>& done) {
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
  if (accept_free_ < kEpoch) accepted_ = 0;  // that cycle is past
  for (DramTime* t : {&from_, &row_bus_free_, &accept_free_, &switch_at_, &refresh_due_, &refresh_at_, &timer_}) back(*t);
  column_stale_ = row_stale_ = true;
  schedule_accept(0);
}

inline void EventDrivenDram::step(DramTime t) {
  ++stats_.steps;
  from_ = std::max(from_, t);
  const bool timer = timer_ <= t;
  if (timer && refresh_due_ <= t) mark_refresh(t);
  bool switched = timer && switch_at_ <= t;
  if (accept_at_ <= t) {
    accept(t);
    switched = wants_switch();
  }
  if (switched) {
    writing_ = !writing_;
    current_ = &queue_[writing_];
    column_stale_ = row_stale_ = true;
  }
  if (column_stale_) choose_column();

  const bool refresh = timer && refresh_at_ <= t;
  bool column = column_.time <= t;
  bool row_slot = true;
  if (!dual_command_bus_) {  // one command: refresh, then column, then row
    if (row_stale_) choose_row();
    const bool row = row_.time <= t;
    const bool ready = column;
    column = column && !refresh && !(row && policy_.bus_by_age && row_.rank < column_.rank);
    row_slot = !column;
    if (column) {
      row_bus_free_ = t + 1;
      row_stale_ = row;  // it comes second; another may be before it then
    } else {
      column_stale_ = ready;
    }
  }
  bool freed = column && issue_column(t);
  if (row_slot) {
    if (refresh) {
      refresh_command(t);
    } else {
      if (row_stale_) choose_row();
      if (row_.time <= t && issue_row(t)) freed = true;
    }
  }

  from_ = t + 1;
  if (freed && accept_at_ == kNoTime) schedule_accept(t + 1);
  if (accept_at_ == t + 1 && policy_.accepts_per_cycle == 1 && take_head(t + 1)) {
    accept_free_ = t + 2;
    schedule_accept(t + 2);
  }
  if (refresh_pending_ != 0) schedule_refresh(t + 1);
  // A switch belongs to the next cycle: requests that arrive then may change it.
  switch_at_ = wants_switch() ? t + 1 : kNoTime;
  timer_ = std::min({switch_at_, refresh_due_, refresh_at_});
}

// Whether what `read` reads is still to be written.
bool EventDrivenDram::writes(const DramEntry& read) const {
  const size_t bank = read.bank();
  return queue_[1].has_write_of(read) || (active_.has(bank) && read.reads(active_.entry(bank)));
}

void EventDrivenDram::first_of_line() {
  schedule_accept(0);
  next_ = std::min(next_, accept_at_);
}

// `t`: at least accept_at_.
void EventDrivenDram::accept(DramTime t) {
  if (accept_free_ < t) {
    accept_free_ = t;
    accepted_ = 0;
  }
  for (; accept_at_ <= t && take_head(t); schedule_accept(t)) {
    if (++accepted_ < policy_.accepts_per_cycle) continue;
    accept_free_ = t + 1;
    accepted_ = 0;
  }
}

void EventDrivenDram::run_events(DramTime end) {
  for (;;) {
    const DramTime t = next_event();
    if (t >= end) {
      next_ = std::min(t, kEpoch);
      return;
    }
    step(t);
  }
}

}  // namespace togsim
