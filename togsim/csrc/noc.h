// Interconnect between cores and DRAM channels: fixed latency, then one packet per destination and interconnect cycle.
//
// A core has `ports` injection ports; channel c answers to port c mod ports. Buffers are unbounded, so a packet's delivery is
// known when it is sent, provided that packets for one destination are sent in order of time.
#ifndef TOGSIM_NOC_H
#define TOGSIM_NOC_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "clock.h"
#include "config.h"

namespace togsim {

class Noc {
 public:
  Noc(const Config& config, Clock clock)
      : clock_(clock),
        latency_(config.icnt_latency),
        ports_(static_cast<uint32_t>(config.icnt_ports)),
        to_channel_(static_cast<size_t>(config.dram_channels), 0),
        to_port_(static_cast<size_t>(config.num_cores) * ports_, 0) {}

  // Tick at which a packet sent at `tick` reaches the channel or the core.
  Tick to_channel(uint32_t channel, Tick tick) { return deliver(to_channel_[channel], tick); }
  Tick to_core(uint32_t core, uint32_t channel, Tick tick) { return deliver(to_port_[core * ports_ + channel % ports_], tick); }

  // No packet sent at or after `tick` arrives before tick + lookahead().
  Tick lookahead() const { return clock_.tick(latency_); }
  int64_t packets() const { return packets_; }
  // Cycles that packets waited for a busy destination.
  int64_t queued_cycles() const { return queued_; }

 private:
  Tick deliver(Cycle& next_free, Tick tick) {
    const Cycle arrival = clock_.at_or_after(tick) + latency_;
    const Cycle at = std::max(arrival, next_free);
    next_free = at + 1;
    ++packets_;
    queued_ += at - arrival;
    return clock_.tick(at);
  }

  Clock clock_;
  Cycle latency_;
  uint32_t ports_;
  std::vector<Cycle> to_channel_;
  std::vector<Cycle> to_port_;
  int64_t packets_ = 0;
  int64_t queued_ = 0;
};

}  // namespace togsim
#endif
