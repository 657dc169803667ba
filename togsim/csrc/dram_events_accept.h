// How requests enter the event-driven DRAM channel. Part of dram_events.h, for the files that need it.
#ifndef TOGSIM_DRAM_EVENTS_ACCEPT_H
#define TOGSIM_DRAM_EVENTS_ACCEPT_H

#include "dram_events.h"

namespace togsim {

inline void EventDrivenDram::push(const DramRequest& request, const DramMap& map) {
  incoming_.make_room();
  const bool was_empty = incoming_.empty();
  const DramPlace place = map.place(request.granule);
  incoming_.push_with_room({request.arrival, {place.row, place.column, slot_of_[place.bank], request.write, request.transfer}});
  if (was_empty) first_of_line();
}

// Whether the head of the line got in.
inline bool EventDrivenDram::take_head(DramTime t) {
  const DramEntry& head = incoming_.front().entry;
  if (forwardable(head)) {
    done_->push_back({epoch_ + t + 1, head.transfer()});
    ++stats_.reads;
    ++stats_.row_hits;
    ++stats_.forwarded;
  } else if (room(head)) {
    insert(head, t);
  } else {
    return false;  // it blocks what is behind it
  }
  incoming_.pop();
  return true;
}

// When the head of the line enters, if a slot that the command at from - 1 freed may be filled from `from` on.
inline void EventDrivenDram::schedule_accept(DramTime from) {
  accept_at_ = kNoTime;
  if (incoming_.empty()) return;
  const Waiting& head = incoming_.front();
  if (!room(head.entry) && !forwardable(head.entry)) return;  // a command that frees a slot comes back to it
  // What arrives later than a DramTime can say is after the next rebase().
  accept_at_ = static_cast<DramTime>(std::clamp<Cycle>(head.arrival - epoch_, std::max(accept_free_, from), kNoTime));
}

inline void EventDrivenDram::insert(const DramEntry& entry, DramTime t) {
  const bool write = entry.write();
  const bool served = write == writing_;
  const size_t bank = entry.bank();
  DramQueue& queue = queue_[write];
  if (queue.must_renumber()) {
    queue.renumber();
    if (served) column_stale_ = row_stale_ = true;
  }
  writes_ += write && policy_.write_forwarding;
  const bool hit = open_row_[bank] == entry.row();
  const DramRank rank = queue.insert(entry, hit);
  if (hit) {
    if (served) consider_column(bank, rank, write, t);
    if (policy_.protect_hits) update_row_rank(queue, bank);  // a PRE is not wanted any more
    return;
  }
  // What wants a row command already is older; an active entry's row stays open, and a protected one.
  if (queue.row_rank()[bank] != kNoRank || active_.has(bank)) return;
  if (policy_.protect_hits && queue.has_hit(bank)) return;
  queue.set_row_rank(bank, rank);
  if (served) consider_row(bank, rank, t);
}

}  // namespace togsim
#endif
