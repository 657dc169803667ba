// Requests from the DMA engines through interconnect and DRAM channels, and their answers back.
#ifndef TOGSIM_MEMORY_SYSTEM_H
#define TOGSIM_MEMORY_SYSTEM_H

#include <cstdint>
#include <memory>
#include <vector>

#include "address_map.h"
#include "answer_calendar.h"
#include "channel.h"
#include "channel_activity.h"
#include "config.h"
#include "noc.h"

namespace togsim {

// A transfer whose last answer is on its way; ticks of the first and the last answer at the core.
struct Arrival {
  uint32_t core;
  uint32_t handle;  // the core's own number for the transfer
  Tick first;
  Tick last;
};

class MemorySystem {
 public:
  MemorySystem(const Config& config, const Clocks& clocks);

  // A transfer of `requests` granules will follow. Returns its number.
  uint32_t open(uint32_t core, uint32_t handle, uint64_t requests, bool write);
  // False: the interconnect has no room for it at `now`; nothing happened.
  bool try_send(uint32_t transfer, uint64_t granule, Tick now);

  // Simulate up to, not including, `end`. Everything that the cores send before `end` - lookahead() has been sent. Transfers
  // whose answers are all known are reported, and may lie beyond `end`.
  void run_until(Tick end, bool every_cycle, std::vector<Arrival>& arrivals);

  // From now on every answer is counted there; null: nowhere.
  void watch(ChannelActivity* activity) { activity_ = activity; }

  // Grows with every request sent and every answer.
  uint64_t progress() const { return progress_; }
  bool idle() const { return outstanding_ == 0; }
  Tick lookahead() const { return requests_->lookahead(); }
  int64_t granule() const { return granule_; }
  NocStats noc_stats() const;
  const std::vector<std::unique_ptr<Channel>>& channels() const { return channels_; }

 private:
  struct Pending {
    uint32_t core;
    uint32_t handle;
    uint64_t remaining;
    Tick first;
    Tick last;
    bool write;
  };

  void run_window(Tick end, bool every_cycle, std::vector<Arrival>& arrivals);
  void run_channels(Tick end, bool every_cycle);
  void arrived(const Delivery& delivery, std::vector<Arrival>& arrivals);

  Clocks clocks_;
  NocNodes nodes_;
  std::unique_ptr<Noc> requests_;
  std::unique_ptr<Noc> replies_;
  ChannelInterleave interleave_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Pending> transfers_;
  std::vector<uint32_t> free_;
  AnswerCalendar answers_;  // not yet handed to the interconnect
  Tick now_ = 0;
  uint64_t outstanding_ = 0;  // requests
  ChannelActivity* activity_ = nullptr;
  uint64_t progress_ = 0;
  int64_t granule_;
  // Work space of run_window().
  std::vector<DramCompletion> completions_;
  std::vector<Delivery> delivered_;
  std::vector<uint32_t> left_;
};

}  // namespace togsim
#endif
