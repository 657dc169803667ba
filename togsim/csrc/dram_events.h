// The DRAM channel, event-driven: exactly what dram_cycle_loop.h does, in steps from one cycle in which something happens to the next.
//
// * For each bank the first cycle at which each command is legal is kept up to date ("ready"): every command raises the figures of all
//   banks that it binds, so that legality is one comparison.
// * The next command of either slot is one minimum over the banks (dram_kernels.h), taken again only after a change.
// * What enters the channel in the next cycle is accepted at the end of a step, if it is the only one; nothing can come between.
#ifndef TOGSIM_DRAM_EVENTS_H
#define TOGSIM_DRAM_EVENTS_H

#include <algorithm>
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
  EventDrivenDram(const EventDrivenDram&) = delete;
  EventDrivenDram& operator=(const EventDrivenDram&) = delete;

  void push(const DramRequest& request, const DramMap& map);
  // `end` is a cycle that time reaches: refreshes go on for ever.
  void run_until(Cycle end, std::vector<DramCompletion>& done) {
    if (end - epoch_ > next_) run_on(end, done);
  }
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
  // What a column command binds, in cycles after it.
  struct ColumnFigures {
    DramTime done = 0;         // completion
    DramTime precharge = 0;    // PRE of the bank
    RaisedTo read{}, write{};  // RD and WR in the bank group and in the pseudo-channel
  };

  void run_on(Cycle end, std::vector<DramCompletion>& done);
  void run_events(DramTime end);
  [[gnu::always_inline]] void step(DramTime t);
  DramTime next_event() {
    if (column_stale_) choose_column();
    if (row_stale_) choose_row();
    return static_cast<DramTime>(std::min<Cycle>({accept_at_, timer_, column_.time, row_.time}));
  }
  void rebase();

  // dram_events_accept.h: requests come in
  void first_of_line();
  void accept(DramTime t);
  [[gnu::always_inline]] bool take_head(DramTime t);
  [[gnu::always_inline]] void schedule_accept(DramTime from);
  [[gnu::always_inline]] void insert(const DramEntry& entry, DramTime t);
  bool forwardable(const DramEntry& read) const { return writes_ != 0 && !read.write() && writes(read); }
  bool writes(const DramEntry& read) const;
  bool room(const DramEntry& entry) const { return queue_[entry.write()].count() < queue_size_[entry.write()]; }
  bool wants_switch() const {
    const int reads = queue_[0].count();
    const int writes = queue_[1].count();
    return writing_ ? reads > 0 && writes < write_low_ : writes > write_high_ || (reads == 0 && writes > 0);
  }

  // dram_events_column.h, dram_events_row.cpp, dram_events_refresh.cpp: commands go out
  // Whether a slot of a queue became free.
  bool issue_column(DramTime t);
  bool issue_row(DramTime t);
  void activate(DramTime t, size_t bank, uint32_t row);
  void precharge(DramTime t, size_t bank);
  void row_bus_taken(DramTime t, int cycles) {
    row_bus_free_ = t + cycles;
    row_stale_ = true;
  }
  void mark_refresh(DramTime t);
  void set_blocked();
  void schedule_refresh(DramTime from);
  void refresh_command(DramTime t);
  DramTime refresh_ready(size_t pseudo_channel) const;
  BankGroup group_of(size_t bank) const { return {static_cast<int32_t>(bank), group_mask_}; }
  void raise_pseudo(PerBank<DramTime>& ready, size_t bank, RaisedTo to) {
    const size_t block = bank & kBlock;
    raise(ready, block, group_of(bank), to);
    if (wide_pseudo_) raise(ready, block ^ kBlock, group_of(bank), to);
  }

  // dram_events_choose.cpp: what goes out next
  void choose_column();
  void choose_row();
  template <size_t kBanks>
  DramKey first_column() const;
  template <size_t kBanks>
  DramKey first_row(DramTime from) const;
  DramRank row_rank(const DramQueue& queue, size_t bank) const;
  void update_row_rank(DramQueue& queue, size_t bank);
  // A candidate that is new joins a choice that is otherwise up to date.
  void consider_column(size_t bank, DramRank rank, bool write, DramTime from) {
    if (column_stale_ || is_blocked(bank)) return;
    const DramChoice choice{std::max({column_ready_[write][bank], from_, from}), rank};
    if (choice.before(column_)) column_ = choice;
  }
  void consider_row(size_t bank, DramRank rank, DramTime from) {
    if (row_stale_ || is_blocked(bank)) return;
    const DramChoice choice{std::max({row_ready(bank), from_, row_bus_free_, from}), rank};
    if (choice.before(row_)) row_ = choice;
  }
  DramTime row_ready(size_t bank) const { return is_open(bank) ? precharge_ready_[bank] : activate_ready_[bank]; }

  DramQueue& current() { return *current_; }
  const DramQueue& current() const { return *current_; }
  bool is_open(size_t bank) const { return open_row_[bank] != kClosed; }
  bool is_blocked(size_t bank) const { return ((blocked_banks_ >> bank) & 1) != 0; }
  size_t pseudo_of(size_t slot) const { return slot / slots_per_pseudo_; }

  static constexpr DramTime kEpoch = 1 << 29;      // times are moved back by this much before they leave the range of DramTime
  static constexpr uint32_t kClosed = UINT32_MAX;  // no row: they have at most 31 bits

  // What each step reads and writes lies together: the channels of a machine take turns in the cache.
  Cycle epoch_ = 0;
  std::vector<DramCompletion>* done_ = nullptr;  // of the run_until in progress
  DramTime next_ = 0;                            // nothing happens before it
  DramTime from_ = 0;                            // no command before it
  DramTime row_bus_free_ = 0;                    // no row command before it
  DramTime accept_at_ = kNoTime;
  DramTime switch_at_ = kNoTime;
  DramTime timer_ = kNoTime;  // first of switch_at_, refresh_due_ and refresh_at_
  DramChoice column_;
  DramChoice row_;
  bool column_stale_ = true;
  bool row_stale_ = true;
  bool writing_ = false;  // `current_` is the queue of the writes

  std::array<uint8_t, kMaxBanks> slot_of_{};  // where a bank lies: each pseudo-channel begins with a block
  RequestFifo<Waiting> incoming_;

  DramQueue* current_ = queue_.data();
  DramTime accept_free_ = 0;  // nothing enters before it
  int accepted_ = 0;          // at accept_free_
  int writes_ = 0;            // in queue and active list, if reads may be answered from there
  int write_high_;
  int write_low_;
  std::array<int, 2> queue_size_;
  uint32_t refresh_pending_ = 0;  // a bit for each pseudo-channel
  uint32_t blocked_banks_ = 0;    // due for refresh
  uint32_t first_slot_ = 0;       // the others: whole blocks from here on
  uint32_t unblocked_slots_;

  DramPolicy policy_;
  bool dual_command_bus_;
  bool wide_pseudo_;    // a pseudo-channel has both blocks, not one
  int32_t group_mask_;  // bits in which the banks of a group agree
  int burst_;
  std::array<ColumnFigures, 2> column_figures_{};  // RD, WR
  ChannelStats stats_;

  std::array<DramQueue, 2> queue_;  // reads, writes
  DramActiveList active_;
  std::array<PerBank<DramTime>, 2> column_ready_{};  // read, write
  PerBank<DramTime> precharge_ready_{};
  std::array<uint32_t, kMaxBanks> open_row_;
  PerBank<DramTime> activate_ready_{};
  PerBank<int32_t> open_{};  // 0 or -1
  PerBank<DramTime> refresh_ready_{};

  std::array<PseudoChannel, 2> pseudo_;
  DramTime refresh_due_ = kNoTime;  // first of the pseudo-channels
  DramTime refresh_at_ = kNoTime;   // next refresh command
  size_t pseudo_channels_;
  size_t slots_per_pseudo_;
  DramTiming timing_;
  DramDistances distance_;
};

}  // namespace togsim
#endif
