// A crossbar whose every source sends to one destination that hears of no other source: packets of one flit never meet, and what
// NetworkNoc does with them one cycle at a time is a recurrence over the packets of each flow.
//
// Packet k is sent in cycle s(k), leaves its source's queue in i(k) and passes the switch in p(k). With link latency l, v channels
// of b flits, and r(j) the cycle from which the j-th place that its destination freed can be seen:
//
//   i(k) = max(s(k) + 1, i(k-1) + 1, p(k - v b) + l + 1)                     its queue, its link, its credit
//   p(k) = max(i(k) + l + 1, p(k-1) + (v > 1 ? 1 : 2), r(k - places))        its channel, the switch, its place
//
// Sources take the channels in turn and the switch serves them in turn, so that packets stay in order; a free output channel is
// always there, because there are as many as there are queues that can want one; a queue needs two cycles from one packet to the
// next, which shows only if it is the only one. A value is computed when those that it is made of are known.
#ifndef TOGSIM_NOC_FLOWS_H
#define TOGSIM_NOC_FLOWS_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "noc.h"
#include "noc_network.h"
#include "request_fifo.h"

namespace togsim {

class FlowNoc final : public Noc {
 public:
  // Whether these rules hold for a network in which every source has a destination of its own.
  static bool describes(const NetworkConfig& config, int32_t places) {
    return config.data_flits == 1 && config.control_flits == 1 && (config.queue_packets > 0 || places == 0);
  }

  FlowNoc(const NetworkConfig& config, NodeRange sources, NodeRange destinations, Clock clock, int32_t places)
      : config_(config),
        clock_(clock),
        first_source_(sources.first),
        first_destination_(destinations.first),
        buffered_(config.channels * config.buffer_flits),
        places_(static_cast<uint64_t>(places)),
        flows_(sources.count),
        flow_to_(destinations.count) {
    for (Flow& flow : flows_) flow.packets.resize(std::bit_ceil(size_t{config.queue_packets} + buffered_ + 1));
  }

  bool try_send(const Packet& packet, Tick now) override {
    const uint32_t source = packet.source - first_source_;
    Flow& flow = flows_[source];
    const uint64_t queue = config_.queue_packets;
    if (queue > 0 && flow.sent >= queue) {
      const uint64_t before = flow.sent - queue;  // has left its place to this one
      if (before >= flow.left || clock_.tick(flow.at(before).left + 1) > now) return false;
    }
    flow_to_[packet.destination - first_destination_] = source;
    flow.at(flow.sent++) = {packet, clock_.at_or_after(now), 0, 0};
    advance(flow);
    return true;
  }
  void run_until(Tick) override {}
  Tick horizon(Tick sent) const override { return clock_.tick(clock_.at_or_after(sent) + 1); }
  // Of packets that wait for a place: the others take longer.
  Tick delay() const override { return clock_.tick(config_.router_cycles - 1 + config_.link_cycles); }
  void release(uint32_t destination, Tick from) override {
    Flow& flow = flows_[flow_to_[destination - first_destination_]];
    flow.freed.push(clock_.at_or_after(from));
    advance(flow);
  }

 private:
  struct Sent {
    Packet packet;
    Cycle sent;
    Cycle left;
    Cycle passed;
  };
  // Packets are numbered from 0; the ring keeps those that others still depend on.
  struct Flow {
    std::vector<Sent> packets;
    uint64_t sent = 0;  // how many
    uint64_t left = 0;
    uint64_t passed = 0;
    Cycle last_left = -1;
    Cycle last_passed = -2;
    RequestFifo<Cycle> freed;  // places that no packet has taken yet

    Sent& at(uint64_t packet) { return packets[packet & (packets.size() - 1)]; }
  };

  void advance(Flow& flow) {
    for (;;) {
      if (flow.left < flow.sent && flow.left < flow.passed + buffered_) {
        leave(flow);
      } else if (flow.passed < flow.left && (places_ == 0 || flow.passed < places_ || !flow.freed.empty())) {
        pass(flow);
      } else {
        return;
      }
    }
  }

  void leave(Flow& flow) {
    Sent& p = flow.at(flow.left);
    p.left = std::max(p.sent, flow.last_left) + 1;
    if (flow.left >= buffered_) p.left = std::max(p.left, flow.at(flow.left - buffered_).passed + config_.link_cycles + 1);
    flow.last_left = p.left;
    ++flow.left;
    ++stats_.flits;
    if (config_.report_departures) departed_.push_back({p.packet.source, clock_.tick(p.left + 1)});
  }

  void pass(Flow& flow) {
    Sent& p = flow.at(flow.passed);
    p.passed = std::max(p.left + config_.link_cycles + 1, flow.last_passed + (config_.channels > 1 ? 1 : 2));
    if (places_ > 0 && flow.passed >= places_) {
      p.passed = std::max(p.passed, flow.freed.front());
      flow.freed.pop();
    }
    flow.last_passed = p.passed;
    ++flow.passed;
    ++stats_.packets;
    const Cycle arrival = p.passed + config_.router_cycles - 1 + config_.link_cycles;
    stats_.queued += arrival - p.sent - (1 + config_.link_cycles + config_.router_cycles + config_.link_cycles);
    delivered_.push_back({p.packet, clock_.tick(arrival)});
  }

  NetworkConfig config_;
  Clock clock_;
  uint32_t first_source_;
  uint32_t first_destination_;
  uint64_t buffered_;  // flits that a source may have in the router and on its link
  uint64_t places_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> flow_to_;  // by destination
};

}  // namespace togsim
#endif
