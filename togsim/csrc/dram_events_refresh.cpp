// Refresh in the event-driven DRAM channel.
#include <algorithm>
#include <bit>

#include "dram_events.h"

namespace togsim {
namespace {

using enum DramCommand;
using enum BankRelation;

}  // namespace

void EventDrivenDram::mark_refresh(DramTime t) {
  refresh_due_ = kNoTime;
  for (size_t p = 0; p < pseudo_channels_; ++p) {
    if (pseudo_[p].refresh_due <= t) {
      refresh_pending_ |= 1u << p;
      pseudo_[p].refresh_due += timing_.REFI;
    }
    refresh_due_ = std::min(refresh_due_, pseudo_[p].refresh_due);
  }
  set_blocked();
  schedule_refresh(t);
}

void EventDrivenDram::set_blocked() {
  const bool all = policy_.block_channel && refresh_pending_ != 0;
  blocked_banks_ = 0;
  first_slot_ = unblocked_slots_ = 0;
  for (size_t b = 0; b < pseudo_channels_ * slots_per_pseudo_; ++b) {
    const bool blocked = all || ((refresh_pending_ >> pseudo_of(b)) & 1) != 0;
    blocked_banks_ |= static_cast<uint32_t>(blocked) << b;
    if (!blocked && unblocked_slots_++ == 0) first_slot_ = static_cast<uint32_t>(b);
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
  for (size_t b = pseudo_channel * slots_per_pseudo_; b < (pseudo_channel + 1) * slots_per_pseudo_; ++b) {
    if (is_open(b)) {
      open = true;
      precharged = std::max(precharged, precharge_ready_[b]);
    }
    closed = std::max(closed, refresh_ready_[b]);
  }
  return open ? precharged : closed;
}

void EventDrivenDram::refresh_command(DramTime t) {
  for (size_t p = 0; p < pseudo_.size(); ++p) {
    if (((refresh_pending_ >> p) & 1) == 0 || refresh_ready(p) > t) continue;
    bool closed = false;
    for (size_t b = p * slots_per_pseudo_; b < (p + 1) * slots_per_pseudo_; ++b) {
      if (!is_open(b)) continue;
      precharge(t, b);
      closed = true;
    }
    if (!closed) {
      const DramTime again = t + distance_(Refresh, Act, SamePseudoChannel);
      raise_pseudo(activate_ready_, p * slots_per_pseudo_, {again, again});
      refresh_pending_ &= ~(1u << p);
      set_blocked();
      refresh_at_ = kNoTime;
    }
    ++(closed ? stats_.precharges : stats_.refreshes);
    row_bus_taken(t, 1);
    if (!dual_command_bus_) column_stale_ = column_stale_ || column_.time <= t;
    return;
  }
}

}  // namespace togsim
