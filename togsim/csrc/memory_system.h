// Requests from the DMA engines through interconnect and DRAM channels, and their answers back.
#ifndef TOGSIM_MEMORY_SYSTEM_H
#define TOGSIM_MEMORY_SYSTEM_H

#include <cstdint>
#include <memory>
#include <vector>

#include "address_map.h"
#include "channel.h"
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
  uint32_t open(uint32_t core, uint32_t handle, uint64_t requests);
  void send(uint32_t transfer, uint64_t granule, bool write, Tick now);

  // Simulate the channels up to, not including, `end`. Every request that can reach a channel before `end` has been sent:
  // that holds if all cores have been simulated up to end - lookahead(). Transfers whose answers are all known are reported.
  void run_until(Tick end, bool every_cycle, std::vector<Arrival>& arrivals);

  bool idle() const { return outstanding_ == 0; }
  Tick lookahead() const { return noc_.lookahead(); }
  int64_t granule() const { return granule_; }
  const Noc& noc() const { return noc_; }
  const std::vector<std::unique_ptr<Channel>>& channels() const { return channels_; }

 private:
  struct Pending {
    uint32_t core;
    uint32_t handle;
    uint64_t remaining;
    Tick first;
    Tick last;
  };
  struct Answer {
    Cycle cycle;  // DRAM cycle
    uint32_t channel;
    uint32_t transfer;
  };

  Clocks clocks_;
  Noc noc_;
  ChannelInterleave interleave_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Pending> transfers_;
  std::vector<uint32_t> free_;
  std::vector<Answer> answers_;  // not yet handed to the interconnect
  std::vector<DramCompletion> scratch_;
  std::vector<Answer> due_;
  uint64_t outstanding_ = 0;  // requests
  int64_t granule_;
};

}  // namespace togsim
#endif
