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
  LatencyNoc(Cycle latency, Clock clock, uint32_t nodes)
      : clock_(clock), latency_(latency), next_free_(nodes, 0), sent_(nodes, 0), received_(nodes, 0) {}

  bool try_send(const Packet& packet, Tick now) override {
    Cycle& next_free = next_free_[packet.destination];
    const Cycle arrival = clock_.at_or_after(now) + latency_;
    const Cycle at = std::max(arrival, next_free);
    next_free = at + 1;
    ++sent_[packet.source];
    ++received_[packet.destination];
    ++stats_.packets;
    ++stats_.flits;
    stats_.queued += at - arrival;
    delivered_.push_back({packet, clock_.tick(at)});
    return true;
  }
  void run_until(Tick) override {}
  Tick horizon(Tick sent) const override { return sent; }
  Tick delay() const override { return clock_.tick(latency_); }
  void release(uint32_t, Tick) override {}
  std::vector<NocLink> links() const override {
    std::vector<NocLink> all;
    for (uint32_t n = 0; n < sent_.size(); ++n) all.push_back({{NocPlace::Kind::Node, n}, {NocPlace::Kind::Router, 0}, sent_[n]});
    for (uint32_t n = 0; n < sent_.size(); ++n) all.push_back({{NocPlace::Kind::Router, 0}, {NocPlace::Kind::Node, n}, received_[n]});
    return all;
  }

 private:
  Clock clock_;
  Cycle latency_;
  std::vector<Cycle> next_free_;
  std::vector<int64_t> sent_;  // by node
  std::vector<int64_t> received_;
};

}  // namespace togsim
#endif
