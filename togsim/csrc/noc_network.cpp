#include "noc_network.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace togsim {

NetworkNoc::NetworkNoc(const NetworkConfig& config, Topology topology, Clock clock, NodeRange destinations, int32_t places,
                       bool every_router)
    : config_(config), topology_(std::move(topology)), clock_(clock), every_router_(every_router) {
  const auto nodes = static_cast<uint32_t>(topology_.homes.size());
  for (uint32_t r = 0; r < topology_.routers; ++r) {
    routers_.emplace_back(topology_.ports, config_.channels, config_.buffer_flits, &topology_.route[size_t{r} * nodes]);
    for (uint32_t p = 0; p < topology_.ports; ++p) {
      const uint32_t node = topology_.link(r, p).node;
      if (node != Topology::kNone) routers_[r].lead_to_node(p, node - destinations.first < destinations.count ? places : 0);
    }
  }
  sources_.resize(nodes);
  for (Source& s : sources_) s.ring.resize(std::max(1u, config_.queue_packets));
  free_at_.assign(std::size_t{nodes} * config_.queue_packets, 0);
  credits_.assign(std::size_t{nodes} * config_.channels, static_cast<int32_t>(config_.buffer_flits));
  sending_.assign((nodes + 63) / 64, 0);
  injected_.assign(nodes, 0);
  passed_.assign(std::size_t{topology_.routers} * topology_.ports, 0);
  slots_.resize(std::bit_ceil(static_cast<size_t>(config_.router_cycles + config_.link_cycles + 2)));
}

Cycle NetworkNoc::zero_load(const Packet& packet) const {
  const Cycle hops = topology_.hops[packet.source * topology_.homes.size() + packet.destination];
  return 1 + config_.link_cycles + hops * (config_.router_cycles + config_.link_cycles) + flits(packet) - 1;
}

std::vector<NocLink> NetworkNoc::links() const {
  using enum NocPlace::Kind;
  std::vector<NocLink> all;
  for (uint32_t n = 0; n < injected_.size(); ++n) all.push_back({{Node, n}, {Router, topology_.homes[n].router}, injected_[n]});
  for (uint32_t r = 0; r < topology_.routers; ++r) {
    for (uint32_t out = 0; out < topology_.ports; ++out) {
      const Topology::End& end = topology_.link(r, out);
      const NocPlace to = end.node != Topology::kNone ? NocPlace{Node, end.node} : NocPlace{Router, end.router};
      if (to.number != Topology::kNone) all.push_back({{Router, r}, to, passed_[r * topology_.ports + out]});
    }
  }
  return all;
}

void NetworkNoc::grow(Source& source) {
  std::rotate(source.ring.begin(), source.ring.begin() + source.first, source.ring.end());
  source.first = 0;
  source.end = source.count;
  source.ring.resize(2 * source.ring.size());
}

bool NetworkNoc::try_send(const Packet& packet, Tick now) {
  Source& s = sources_[packet.source];
  if (config_.queue_packets > 0) {
    run_until(now);
    if (free_at_[packet.source * config_.queue_packets + s.end] > now) return false;
  }
  const Cycle sent = clock_.at_or_after(now);
  uint32_t id = 0;
  if (free_packets_.empty()) {
    id = static_cast<uint32_t>(packets_.size());
    packets_.push_back({packet, sent});
  } else {
    id = free_packets_.back();
    free_packets_.pop_back();
    packets_[id] = {packet, sent};
  }
  if (s.count == s.ring.size()) grow(s);
  s.ring[s.end] = {id, sent + 1};
  if (config_.queue_packets > 0) free_at_[packet.source * config_.queue_packets + s.end] = kNever;
  if (++s.end == s.ring.size()) s.end = 0;
  ++s.count;
  sending_[packet.source / 64] |= uint64_t{1} << (packet.source % 64);
  return true;
}

void NetworkNoc::run_until(Tick end) {
  const Cycle last = clock_.at_or_after(end);
  while (next_ < last) {
    if (!every_router_) {
      next_ = next_event(next_, last);
      if (next_ == last) return;
    }
    step(next_++);
  }
}

void NetworkNoc::take_releases(Cycle now) {
  for (; !releases_.empty() && releases_.front().cycle <= now; releases_.pop()) {
    const Topology::End& home = topology_.homes[releases_.front().destination];
    routers_[home.router].release(home.port);
  }
}

// The first cycle in [from, end) in which something may move, or end.
Cycle NetworkNoc::next_event(Cycle from, Cycle end) {
  if (std::any_of(routers_.begin(), routers_.end(), [](const Router& r) { return r.busy(); })) return from;
  Cycle next = end;
  for (size_t w = 0; w < sending_.size(); ++w) {
    for (uint64_t bits = sending_[w]; bits != 0; bits &= bits - 1) {
      const Source& s = sources_[w * 64 + static_cast<size_t>(std::countr_zero(bits))];
      next = std::min(next, s.ring[s.first].since);
      if (next <= from) return from;
    }
  }
  if (scheduled_ == 0) return next;
  const Cycle horizon = std::min(next, from + static_cast<Cycle>(slots_.size()));
  for (Cycle c = from; c < horizon; ++c) {
    if (!slot(c).empty()) return c;
  }
  return next;
}

void NetworkNoc::step(Cycle now) {
  ++stats_.steps;
  take_releases(now);
  Slot& arriving = slot(now);
  scheduled_ -= arriving.flits.size() + arriving.credits.size();
  for (const Arriving& a : arriving.flits) routers_[a.router].receive(a.port, a.channel, a.flit);
  for (const Credit& c : arriving.credits) {
    if (c.unit < topology_.routers) {
      routers_[c.unit].credit(c.port, c.channel);
    } else {
      ++credits_[(c.unit - topology_.routers) * config_.channels + c.channel];
    }
  }
  arriving.flits.clear();
  arriving.credits.clear();
  for (size_t w = 0; w < sending_.size(); ++w) {
    for (uint64_t bits = sending_[w]; bits != 0; bits &= bits - 1)
      inject(static_cast<uint32_t>(w * 64) + static_cast<uint32_t>(std::countr_zero(bits)), now);
  }
  for (uint32_t r = 0; r < topology_.routers; ++r) {
    if (!routers_[r].busy() && !every_router_) continue;
    routers_[r].step([&](uint32_t in, uint32_t in_channel, uint32_t out, uint32_t out_channel, Flit flit) {
      forward(r, in, in_channel, out, out_channel, flit, now);
    });
  }
}

void NetworkNoc::inject(uint32_t node, Cycle now) {
  Source& s = sources_[node];
  const Queued head = s.ring[s.first];
  if (head.since > now) return;
  int32_t* const credits = &credits_[std::size_t{node} * config_.channels];
  const bool first = s.flits_out == 0;
  if (first) {
    uint32_t channel = s.channel;
    uint32_t tried = 0;
    do {
      channel = channel + 1 == config_.channels ? 0 : channel + 1;
    } while (credits[channel] == 0 && ++tried < config_.channels);
    if (credits[channel] == 0) return;
    s.channel = channel;
  } else if (credits[s.channel] == 0) {
    return;
  }
  const Packet& packet = packets_[head.packet].packet;
  const bool last = ++s.flits_out == flits(packet);
  --credits[s.channel];
  const Topology::End& home = topology_.homes[node];
  slot(now + config_.link_cycles)
      .flits.push_back({home.router,
                        static_cast<uint16_t>(home.port),
                        static_cast<uint16_t>(s.channel),
                        {head.packet, static_cast<uint16_t>(packet.destination), first, last}});
  ++scheduled_;
  ++stats_.flits;
  ++injected_[node];
  if (!last) return;
  s.flits_out = 0;
  if (config_.queue_packets > 0) free_at_[node * config_.queue_packets + s.first] = clock_.tick(now + 1);
  if (++s.first == s.ring.size()) s.first = 0;
  if (--s.count == 0) sending_[node / 64] &= ~(uint64_t{1} << (node % 64));
  if (config_.report_departures) departed_.push_back({node, clock_.tick(now + 1)});
}

void NetworkNoc::forward(uint32_t router, uint32_t in, uint32_t in_channel, uint32_t out, uint32_t out_channel, Flit flit, Cycle now) {
  // The switch was won in the second router cycle; the others and the link follow.
  const Cycle arrival = now + config_.router_cycles - 1 + config_.link_cycles;
  const Topology::End& to = topology_.link(router, out);
  ++passed_[router * topology_.ports + out];
  if (to.node == Topology::kNone) {
    slot(arrival).flits.push_back({to.router, static_cast<uint16_t>(to.port), static_cast<uint16_t>(out_channel), flit});
    ++scheduled_;
  } else if (flit.tail) {
    const InFlight& packet = packets_[flit.packet];
    delivered_.push_back({packet.packet, clock_.tick(arrival)});
    ++stats_.packets;
    stats_.queued += arrival - packet.sent - zero_load(packet.packet);
    free_packets_.push_back(flit.packet);
  }
  // Links come in pairs: what sends into this input is at the other end of the output with the same number.
  const Topology::End& from = topology_.link(router, in);
  const uint32_t unit = from.node == Topology::kNone ? from.router : topology_.routers + from.node;
  slot(now + config_.link_cycles + 1).credits.push_back({unit, static_cast<uint16_t>(from.port), static_cast<uint16_t>(in_channel)});
  ++scheduled_;
}

}  // namespace togsim
