// One DRAM channel with row state, bank groups, refresh and an FR-FCFS controller (docs/togsim.md, "DRAM").
//
// step(t) carries out everything that happens in cycle t; next_event(t) is the first cycle after t in which anything can. The
// fast mode jumps from event to event, the reference mode steps through every cycle; both run the same step.
#ifndef TOGSIM_DRAM_CHANNEL_H
#define TOGSIM_DRAM_CHANNEL_H

#include <array>
#include <deque>
#include <vector>

#include "address_map.h"
#include "channel.h"
#include "dram_spec.h"

namespace togsim {

class DramChannel final : public Channel {
 public:
  DramChannel(const DramSpec& spec, const DramMap& map);

  void push(const DramRequest& request) override;
  void run_until(Cycle end, bool every_cycle, std::vector<DramCompletion>& done) override;
  bool idle() const override { return incoming_.empty() && queue_[0].empty() && queue_[1].empty() && active_.empty(); }
  const ChannelStats& stats() const override { return stats_; }

 private:
  enum class Outcome : uint8_t { Hit, Miss, Conflict };
  struct Entry {
    Cycle arrival;
    uint32_t row;
    uint32_t transfer;
    uint16_t column;
    uint8_t bank;
    bool write;
    Outcome outcome = Outcome::Hit;
  };
  struct Bank {
    // First cycle at which each command is legal, every constraint included except the command bus.
    Cycle act = 0;
    Cycle precharge = 0;
    Cycle refresh = 0;
    std::array<Cycle, 2> column{};  // read, write
  };
  struct PseudoChannel {
    std::array<Cycle, 4> activates{};  // last four, oldest at next_activate
    uint32_t next_activate = 0;
    Cycle refresh_due = 0;
    bool refresh_pending = false;
  };
  // What could issue next and when, oldest first among equals.
  struct Choice {
    Cycle when = kNever;
    int32_t index = -1;  // in active_ (>= 0 and `active`) or the current queue
    bool active = false;
  };

  void step(Cycle t, std::vector<DramCompletion>& done);
  Cycle next_event(Cycle t);
  void mark_refresh(Cycle t);
  void accept(Cycle t, std::vector<DramCompletion>& done);
  void set_blocked();
  bool wants_switch() const;
  void choose(Cycle column_from, Cycle row_from);
  void consider_new(const Entry& entry, Cycle t);
  bool refresh_command(Cycle t);
  Cycle refresh_ready(size_t pseudo_channel) const;
  void issue_column(Cycle t, std::vector<DramCompletion>& done);
  void issue_row(Cycle t);
  void activate(Cycle t, size_t bank, uint32_t row);
  void precharge(Cycle t, size_t bank);
  bool forwardable(const Entry& read) const;
  bool room(const Entry& entry) const { return static_cast<int>(queue_[entry.write].size()) < spec_.queue_size; }
  size_t pseudo_channel_of(size_t bank) const { return bank >> pseudo_shift_; }
  size_t group_of(size_t bank) const { return bank >> group_shift_; }
  static uint64_t bit(size_t bank) { return uint64_t{1} << bank; }
  bool hits(const Entry& e) const { return open_row_[e.bank] == static_cast<int64_t>(e.row); }
  template <typename Apply>
  void each_bank(size_t first, size_t count, Apply apply) {
    for (size_t b = first; b < first + count; ++b) apply(banks_[b]);
  }

  DramSpec spec_;
  DramMap map_;
  std::deque<Entry> incoming_;
  std::array<std::vector<Entry>, 2> queue_;  // reads, writes; oldest first
  std::vector<Entry> active_;                // activated for: served first, their rows stay open
  std::vector<Bank> banks_;
  std::array<int64_t, kMaxBanks> open_row_{};  // -1: closed
  std::vector<PseudoChannel> pseudo_;
  bool writing_ = false;
  bool stale_ = true;  // column_, row_ must be chosen again
  Choice column_;
  Choice row_;
  uint64_t keep_ = 0;     // banks whose open row must stay: it has a pending hit or an activated request
  uint64_t blocked_ = 0;  // banks that are due for refresh
  uint32_t pseudo_shift_;
  uint32_t group_shift_;
  Cycle row_bus_ = 0;
  Cycle last_accept_ = -1;
  Cycle now_ = 0;  // cycles before it are done
  ChannelStats stats_;
};

}  // namespace togsim
#endif
