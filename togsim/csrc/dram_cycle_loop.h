// The DRAM channel as a plain loop over cycles: the reference that the event-driven channel must equal.
//
// It follows docs/timing-model.md word by word, and keeps no derived state: in every cycle it scans every request and checks each
// candidate command against the last commands of all banks. Slow on purpose.
#ifndef TOGSIM_DRAM_CYCLE_LOOP_H
#define TOGSIM_DRAM_CYCLE_LOOP_H

#include <array>
#include <deque>
#include <vector>

#include "address_map.h"
#include "channel.h"
#include "dram_distances.h"
#include "dram_spec.h"

namespace togsim {

class CycleLoopDram {
 public:
  explicit CycleLoopDram(const DramSpec& spec);

  void push(const DramRequest& request, const DramPlace& place);
  void run_until(Cycle end, std::vector<DramCompletion>& done);
  bool idle() const { return incoming_.empty() && queue_[0].empty() && queue_[1].empty() && active_.empty(); }
  const ChannelStats& stats() const { return stats_; }

 private:
  enum class Outcome : uint8_t { Hit, Miss, Conflict };
  struct Entry {
    Cycle arrival;
    DramPlace place;
    uint32_t transfer;
    bool write;
    Outcome outcome = Outcome::Hit;
  };
  // A command that may issue now for one entry: the first in the order of service.
  struct Candidate {
    DramCommand command;
    std::vector<Entry>* from = nullptr;  // nullptr: nothing may issue
    size_t index = 0;
    bool found() const { return from != nullptr; }
  };

  void tick(std::vector<DramCompletion>& done);
  void accept(std::vector<DramCompletion>& done);
  void choose_mode();
  bool refresh_command();
  Candidate column_candidate();
  Candidate row_candidate();
  bool row_first(const Candidate& row, const Candidate& column) const;
  void issue_column(const Candidate& c, std::vector<DramCompletion>& done);
  void issue_row(const Candidate& c);

  bool legal(DramCommand command, size_t bank) const;
  void record(DramCommand command, size_t bank) { last_[static_cast<size_t>(command)][bank] = now_; }
  bool blocked(size_t bank) const;
  bool open_for(const Entry& e) const { return open_row_[e.place.bank] == static_cast<int64_t>(e.place.row); }
  bool has_active(size_t bank) const;
  bool has_hit(size_t bank) const;
  bool queued_write(const Entry& read) const;
  size_t pseudo_channel(size_t bank) const { return bank / static_cast<size_t>(spec_.banks_per_pseudo_channel()); }

  DramSpec spec_;
  DramDistances distance_;
  std::deque<Entry> incoming_;
  std::array<std::vector<Entry>, 2> queue_;  // reads, writes; oldest first
  std::vector<Entry> active_;                // in the order of their ACTs
  bool writing_ = false;
  std::vector<int64_t> open_row_;                       // -1: closed
  std::array<std::vector<Cycle>, kDramCommands> last_;  // of each command and bank
  std::vector<std::vector<Cycle>> activates_;           // of each pseudo-channel
  std::vector<Cycle> refresh_due_;
  std::vector<bool> refresh_pending_;
  Cycle row_bus_free_ = 0;
  Cycle now_ = 0;
  ChannelStats stats_;
};

}  // namespace togsim
#endif
