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
        credit_(config.link_cycles + 1),
        gap_(config.channels > 1 ? 1 : 2),
        crossing_(config.router_cycles - 1 + config.link_cycles),
        empty_(1 + config.link_cycles + 1),
        buffered_(config.channels * config.buffer_flits),
        places_(static_cast<uint64_t>(places)),
        unlimited_(places == 0 && config.queue_packets == 0),
        flows_(sources.count),
        flow_to_(destinations.count, kNobody) {
    const size_t ring = std::bit_ceil(size_t{config.queue_packets} + buffered_ + 1);
    for (Flow& flow : flows_) {
      flow.packets.resize(ring);
      flow.passes.resize(ring);
      flow.last = ring - 1;
    }
  }

  bool try_send(const Packet& packet, Tick now) override {
    const uint32_t source = packet.source - first_source_;
    Flow& flow = flows_[source];
    flow_to_[packet.destination - first_destination_] = source;
    if (unlimited_) {
      send_through(flow, packet, clock_.at_or_after(now));
      return true;
    }
    const uint64_t queue = config_.queue_packets;
    if (queue > 0 && flow.sent >= queue) {
      const uint64_t before = flow.sent - queue;  // has left its place to this one
      if (before >= flow.left || clock_.tick(flow.at(before).left + 1) > now) return false;
    }
    Sent& p = flow.at(flow.sent++);
    p.packet = packet;
    p.sent = clock_.at_or_after(now);
    advance(flow);
    return true;
  }
  void run_until(Tick) override {}
  Tick horizon(Tick sent) const override { return clock_.tick(clock_.at_or_after(sent) + 1); }
  // Of packets that wait for a place: the others take longer.
  Tick delay() const override { return clock_.tick(crossing_); }
  void release(uint32_t destination, Tick from) override {
    Flow& flow = flows_[flow_to_[destination - first_destination_]];
    const Cycle seen = clock_.at_or_after(from);
    if (flow.passed < flow.left && flow.passed == places_ + flow.freed) {
      pass(flow, seen);  // somebody waits for just this place
      ++flow.passed;
    } else {
      flow.freed_at.push(seen);
    }
    ++flow.freed;
    advance(flow);
  }
  std::vector<NocLink> links() const override {
    std::vector<NocLink> all;
    for (uint32_t f = 0; f < flows_.size(); ++f)
      all.push_back({{NocPlace::Kind::Node, first_source_ + f}, {NocPlace::Kind::Router, 0}, static_cast<int64_t>(flows_[f].left)});
    for (uint32_t d = 0; d < flow_to_.size(); ++d)
      if (flow_to_[d] != kNobody)
        all.push_back({{NocPlace::Kind::Router, 0},
                       {NocPlace::Kind::Node, first_destination_ + d},
                       static_cast<int64_t>(flows_[flow_to_[d]].passed)});
    return all;
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  struct Sent {
    Packet packet;
    Cycle sent;
    Cycle left;
  };
  // Packets are numbered from 0; the rings keep what others still depend on.
  struct Flow {
    uint64_t sent = 0;  // how many
    uint64_t left = 0;
    uint64_t passed = 0;
    uint64_t freed = 0;  // places
    Cycle last_left = -1;
    Cycle last_passed = -2;
    uint64_t last = 0;  // place of the rings
    std::vector<Sent> packets;
    std::vector<Cycle> passes;
    RequestFifo<Cycle> freed_at;  // places that no packet has taken yet

    Sent& at(uint64_t packet) { return packets[packet & last]; }
  };

  // Nothing waits for what is not known yet.
  void send_through(Flow& flow, const Packet& packet, Cycle sent) {
    const Cycle left = leaving(flow, sent);
    if (config_.report_departures) departed_.push_back({packet.source, clock_.tick(left + 1)});
    const Cycle passed = std::max(left + credit_, flow.last_passed + gap_);
    deliver(flow, packet, sent, passed);
    ++flow.left;
    ++flow.passed;
  }

  void advance(Flow& flow) {
    for (;;) {
      for (; flow.left < flow.sent && flow.left < flow.passed + buffered_; ++flow.left) leave(flow);
      const uint64_t stop = places_ == 0 ? flow.left : std::min(flow.left, places_ + flow.freed);
      if (flow.passed == stop) return;
      for (; flow.passed < stop; ++flow.passed) pass(flow, place(flow));
    }
  }

  Cycle leaving(Flow& flow, Cycle sent) {
    Cycle left = std::max(sent, flow.last_left) + 1;
    if (flow.left >= buffered_) {
      // No two packets pass in one cycle: mostly that says enough of the one whose credit this packet takes.
      const uint64_t lender = flow.left - buffered_;
      const Cycle at_most = flow.last_passed - static_cast<Cycle>(flow.passed - 1 - lender) + credit_;
      if (at_most > left) left = std::max(left, flow.passes[lender & flow.last] + credit_);
    }
    flow.last_left = left;
    return left;
  }

  void leave(Flow& flow) {
    Sent& p = flow.at(flow.left);
    p.left = leaving(flow, p.sent);
    if (config_.report_departures) departed_.push_back({p.packet.source, clock_.tick(p.left + 1)});
  }

  // When the next packet may have its place.
  Cycle place(Flow& flow) {
    if (places_ == 0 || flow.passed < places_) return 0;
    const Cycle at = flow.freed_at.front();
    flow.freed_at.pop();
    return at;
  }

  void pass(Flow& flow, Cycle place) {
    const Sent& p = flow.at(flow.passed);
    deliver(flow, p.packet, p.sent, std::max({p.left + credit_, flow.last_passed + gap_, place}));
  }

  void deliver(Flow& flow, const Packet& packet, Cycle sent, Cycle passed) {
    flow.passes[flow.passed & flow.last] = flow.last_passed = passed;
    ++stats_.packets;
    ++stats_.flits;
    stats_.queued += passed - sent - empty_;
    delivered_.push_back({packet, clock_.tick(passed + crossing_)});
  }

  NetworkConfig config_;
  Clock clock_;
  uint32_t first_source_;
  uint32_t first_destination_;
  Cycle credit_;       // from a flit's leaving to its passing, and from that to its credit's return
  Cycle gap_;          // from one flit to the next
  Cycle crossing_;     // from the switch to the destination
  Cycle empty_;        // from sending to passing in an empty network
  uint64_t buffered_;  // flits that a source may have in the router and on its link
  uint64_t places_;
  bool unlimited_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> flow_to_;  // by destination
};

}  // namespace togsim
#endif
