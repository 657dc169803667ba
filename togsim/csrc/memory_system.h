// Requests from the DMA engines through interconnect and DRAM channels, and their answers back.
#ifndef TOGSIM_MEMORY_SYSTEM_H
#define TOGSIM_MEMORY_SYSTEM_H

#include <cstdint>
#include <memory>
#include <string>
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
  // `reference`: the slow models that look at everything in every cycle, with the same results.
  MemorySystem(const Config& config, const Clocks& clocks, bool reference);

  // A transfer of `requests` granules will follow. Returns its number.
  uint32_t open(uint32_t core, uint32_t handle, uint64_t requests, bool write);
  // Sends granules first, first + 1, .. of a transfer until `count` are sent or the interconnect has no room for the next one at
  // `now`. Returns how many.
  int64_t send(uint32_t transfer, uint64_t first, int64_t count, Tick now);

  // Everything that the cores send before `now` has been sent: simulate as far as that decides. Transfers whose answers are all
  // known are reported, and may lie beyond. Returns the end of the window that the cores may simulate before the next call: what
  // the memory does inside it is settled.
  Tick advance(Tick now, std::vector<Arrival>& arrivals);

  // From now on every answer is counted there; null: nowhere.
  void watch(ChannelActivity* activity) { activity_ = activity; }

  // Grows with every request sent and every answer.
  uint64_t progress() const { return progress_; }
  bool idle() const { return outstanding_ == 0; }
  int64_t granule() const { return granule_; }
  NocStats noc_stats() const;
  // A link of one of the two networks that carried something.
  struct Link {
    const char* network;  // "requests", "replies"
    std::string from;
    std::string to;
    int64_t flits;
  };
  std::vector<Link> links() const;
  const std::vector<std::unique_ptr<Channel>>& channels() const { return channels_; }

 private:
  struct Pending {
    uint32_t core;
    uint32_t first_node;  // of the core
    uint32_t handle;
    uint64_t remaining;
    Tick first;
    Tick last;
    bool write;
  };

  void deliver_requests();
  void run_channels(Tick end);
  Tick window_end(Tick answered) const;
  void arrived(const Delivery& delivery, std::vector<Arrival>& arrivals);

  Clocks clocks_;
  bool reference_;
  bool limited_;  // channels take a limited number of requests
  NocNodes nodes_;
  std::unique_ptr<Noc> requests_;
  std::unique_ptr<Noc> replies_;
  ChannelInterleave interleave_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Pending> transfers_;
  std::vector<uint32_t> free_;
  AnswerCalendar answers_;    // not yet handed to the interconnect
  uint64_t outstanding_ = 0;  // requests
  ChannelActivity* activity_ = nullptr;
  uint64_t progress_ = 0;
  int64_t granule_;
  std::vector<DramCompletion> completions_;  // work space of run_channels()
};

}  // namespace togsim
#endif
