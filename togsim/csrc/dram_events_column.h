// Column commands of the event-driven DRAM channel. Part of dram_events.h, for the file that needs it.
#ifndef TOGSIM_DRAM_EVENTS_COLUMN_H
#define TOGSIM_DRAM_EVENTS_COLUMN_H

#include "dram_events.h"

namespace togsim {

inline bool EventDrivenDram::issue_column(DramTime t) {
  const DramRank rank = column_.rank;
  const bool from_active = rank < kQueued;
  DramQueue& queue = current();
  const DramEntry e = from_active ? active_.entry(active_.bank_at(rank)) : queue.entry(rank);
  const size_t bank = e.bank();
  const ColumnFigures& f = column_figures_[e.write()];

  done_->push_back({epoch_ + t + f.done, e.transfer()});
  ++(e.write() ? stats_.writes : stats_.reads);
  writes_ -= e.write() && policy_.write_forwarding;
  ++(e.outcome() == DramOutcome::Hit ? stats_.row_hits : e.outcome() == DramOutcome::Miss ? stats_.row_misses : stats_.row_conflicts);
  stats_.busy += burst_;

  const RaisedTo read_to{t + f.read.near, t + f.read.far};
  const RaisedTo write_to{t + f.write.near, t + f.write.far};
  const BankGroup group = group_of(bank);
  const size_t block = bank & kBlock;
  raise(column_ready_[0], column_ready_[1], block, group, read_to, write_to);
  if (wide_pseudo_) raise(column_ready_[0], column_ready_[1], block ^ kBlock, group, read_to, write_to);
  if (const DramTime precharge = t + f.precharge; precharge > precharge_ready_[bank]) {
    precharge_ready_[bank] = precharge;
    // The bank's PRE may have been the choice: it is later now.
    if (row_.rank != kNoRank && row_.rank == queue.row_rank()[bank]) row_stale_ = true;
  }

  if (from_active) {
    active_.remove(bank);
    for (DramQueue& q : queue_) {
      if (!q.empty(bank)) update_row_rank(q, bank);
    }
  } else {
    queue.remove_hit(rank, bank);
    if (policy_.protect_hits) update_row_rank(queue, bank);  // it was perhaps the last hit
  }
  column_stale_ = true;
  return !from_active;
}

}  // namespace togsim
#endif
