// The "simple" interconnect: a fixed latency, then one packet per destination and interconnect cycle, in order of sending.
// Buffers are unbounded, so a packet's delivery is known when it is sent.
#ifndef TOGSIM_NOC_LATENCY_H
#define TOGSIM_NOC_LATENCY_H

#include <algorithm>
#include <vector>

#include "noc.h"

namespace togsim {

class LatencyNoc final : public Noc {
 public:
  LatencyNoc(Cycle latency, Clock clock, uint32_t nodes) : clock_(clock), latency_(latency), next_free_(nodes, 0) {}

  bool can_send(uint32_t, Tick) override { return true; }
  void send(const Packet& packet, Tick now) override {
    Cycle& next_free = next_free_[packet.destination];
    const Cycle arrival = clock_.at_or_after(now) + latency_;
    const Cycle at = std::max(arrival, next_free);
    next_free = at + 1;
    ++stats_.packets;
    ++stats_.flits;
    stats_.queued += at - arrival;
    sent_.push_back({clock_.tick(at), packet});
  }
  void run_until(Tick, bool, std::vector<Delivery>& delivered, std::vector<uint32_t>&) override {
    delivered.insert(delivered.end(), sent_.begin(), sent_.end());
    sent_.clear();
  }
  void release(uint32_t) override {}
  Tick lookahead() const override { return clock_.tick(latency_); }
  const NocStats& stats() const override { return stats_; }

 private:
  Clock clock_;
  Cycle latency_;
  std::vector<Cycle> next_free_;
  std::vector<Delivery> sent_;
  NocStats stats_;
};

}  // namespace togsim
#endif
