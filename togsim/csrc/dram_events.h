// The DRAM channel, event-driven: exactly what dram_cycle_loop.h does, in steps from one cycle in which something happens to the next.
//
// * For each bank the first cycle at which each command is legal is kept up to date ("ready"): every command raises the figures of all
//   banks that it binds, so that legality is one comparison.
// * The next command of either slot is one minimum over the banks (dram_kernels.h), taken again only after a change.
// * What enters the channel in the next cycle is accepted at the end of a step, if it is the only one; nothing can come between.
#ifndef TOGSIM_DRAM_EVENTS_H
#define TOGSIM_DRAM_EVENTS_H

#include <array>
#include <vector>

#include "address_map.h"
#include "channel.h"
#include "dram_active.h"
#include "dram_distances.h"
#include "dram_kernels.h"
#include "dram_queue.h"
#include "dram_spec.h"
#include "request_fifo.h"

namespace togsim {

class EventDrivenDram {
 public:
  explicit EventDrivenDram(const DramSpec& spec);

  void push(const DramRequest& request, const DramPlace& place);
  // `end` is a cycle that time reaches: refreshes go on for ever.
  void run_until(Cycle end, std::vector<DramCompletion>& done);
  bool idle() const { return incoming_.empty() && queue_[0].count() == 0 && queue_[1].count() == 0 && active_.banks() == 0; }
  const ChannelStats& stats() const { return stats_; }

 private:
  struct Waiting {
    Cycle arrival = 0;
    DramEntry entry{};
  };
  struct PseudoChannel {
    std::array<DramTime, 4> fifth_activate{};  // FAW after each of the last four ACTs, oldest at `next`
    uint32_t next = 0;
    DramTime refresh_due = kNoTime;
  };

  void run_events(DramTime end);
  void step(DramTime t);
  DramTime next_event();
  void rebase();

  // dram_events.cpp: requests come in
  void accept(DramTime t);
  void schedule_accept(DramTime from);
  void insert(const DramEntry& entry, DramTime t);
  bool forwardable(const DramEntry& read) const;
  bool room(const DramEntry& entry) const { return queue_[entry.write].count() < queue_size_[entry.write]; }
  bool wants_switch() const {
    const int reads = queue_[0].count();
    const int writes = queue_[1].count();
    return writing_ ? reads > 0 && writes < write_low_ : writes > write_high_ || (reads == 0 && writes > 0);
  }

  // dram_events_issue.cpp: commands go out
  void issue_column(DramTime t);
  void issue_row(DramTime t);
  void activate(DramTime t, size_t bank, uint32_t row);
  void precharge(DramTime t, size_t bank);
  void row_bus_taken(DramTime t, int cycles);
  void mark_refresh(DramTime t);
  void set_blocked();
  void schedule_refresh(DramTime from);
  void refresh_command(DramTime t);
  DramTime refresh_ready(size_t pseudo_channel) const;

  // dram_events_choose.cpp: what goes out next
  void choose_column();
  void choose_row();
  DramRank row_rank(const DramQueue& queue, size_t bank) const;
  void update_row_rank(DramQueue& queue, size_t bank);
  void consider_column(size_t bank, DramRank rank, bool write, DramTime from);
  void consider_row(size_t bank, DramRank rank, DramTime from);
  DramTime row_ready(size_t bank) const { return is_open(bank) ? precharge_ready_[bank] : activate_ready_[bank]; }
  size_t bank_of(DramRank rank) const {
    return rank < kQueued ? active_.bank_at(rank) : queue_[writing_].entry(static_cast<uint32_t>(rank - kQueued)).place.bank;
  }

  DramQueue& current() { return queue_[writing_]; }
  bool is_open(size_t bank) const { return open_[bank] != 0; }
  size_t pseudo_of(size_t bank) const { return bank >> pseudo_shift_; }
  size_t first_of_pseudo(size_t bank) const { return bank & ~(banks_per_pseudo_ - 1); }
  size_t first_of_group(size_t bank) const { return bank & ~(banks_per_group_ - 1); }

  DramSpec spec_;
  DramDistances distance_;
  size_t banks_per_pseudo_;
  size_t banks_per_group_;
  uint32_t pseudo_shift_;
  std::array<int, 2> queue_size_;
  int write_high_;
  int write_low_;
  ChannelStats stats_;
  std::vector<DramCompletion>* done_ = nullptr;  // of the run_until in progress
  Cycle epoch_ = 0;

  RequestFifo<Waiting> incoming_;
  std::array<DramQueue, 2> queue_;  // reads, writes
  DramActiveList active_;
  std::array<PerBank<DramTime>, 2> column_ready_{};  // read, write
  PerBank<DramTime> activate_ready_{};
  PerBank<DramTime> precharge_ready_{};
  PerBank<DramTime> refresh_ready_{};
  PerBank<int32_t> open_{};     // 0 or -1
  PerBank<int32_t> blocked_{};  // 0 or kNoRank: due for refresh
  std::array<uint32_t, kMaxBanks> open_row_{};
  std::array<PseudoChannel, 2> pseudo_;
  uint32_t refresh_pending_ = 0;  // a bit for each pseudo-channel
  uint32_t blocked_banks_ = 0;
  bool writing_ = false;

  bool column_stale_ = true;
  bool row_stale_ = true;
  DramChoice column_;
  DramChoice row_;
  DramTime column_from_ = 0;  // no column command before it
  DramTime row_from_ = 0;     // nor row command, the bus apart
  DramTime row_bus_free_ = 0;
  DramTime accept_at_ = kNoTime;
  DramTime switch_at_ = kNoTime;
  DramTime refresh_due_ = kNoTime;  // first of the pseudo-channels
  DramTime refresh_at_ = kNoTime;   // next refresh command
  DramTime accept_cycle_ = 0;
  int accepted_ = 0;  // in accept_cycle_
};

}  // namespace togsim
#endif
