// The crossbar's sources and links.
#include "noc_crossbar.h"

#include <algorithm>
#include <bit>

#include "noc_crossbar_switch.h"

namespace togsim {

template <uint32_t W>
CrossbarNoc<W>::CrossbarNoc(const NetworkConfig& config, NodeRange sources, NodeRange destinations, Clock clock, int32_t places)
    : config_(config),
      first_source_(sources.first),
      first_destination_(destinations.first),
      clock_(clock),
      crossing_(config.router_cycles - 1 + config.link_cycles),
      zero_load_(1 + config.link_cycles + config.router_cycles + config.link_cycles),
      stride_shift_(static_cast<uint32_t>(std::countr_zero(std::bit_ceil(config.channels)))),
      ring_shift_(static_cast<uint32_t>(std::countr_zero(std::bit_ceil(config.buffer_flits)))),
      number_of_outputs_(destinations.count),
      number_of_inputs_(sources.count),
      limited_(places > 0),
      sources_(sources.count),
      slot_mask_(std::bit_ceil(static_cast<size_t>(config.link_cycles + 2)) - 1),
      slots_(slot_mask_ + 1),
      inputs_(sources.count),
      queues_(std::size_t{sources.count} << stride_shift_),
      buffer_(queues_.size() << ring_shift_),
      outputs_(destinations.count) {
  const uint32_t all_channels = (1u << config.channels) - 1;
  for (uint32_t o = 0; o < destinations.count; ++o) {
    outputs_[o].places = static_cast<uint32_t>(places);
    outputs_[o].free = all_channels;
    open_ |= bit(o);
  }
  free_outputs_ = open_;
  for (Queue& q : queues_) q.credits = config.buffer_flits;
  for (Source& s : sources_) {
    s.with_credit = all_channels;
    s.places = std::max(1u, config.queue_packets);
    s.ring.resize(s.places);
  }
}

template <uint32_t W>
bool CrossbarNoc<W>::try_send(const Packet& packet, Tick now) {
  const uint32_t source = packet.source - first_source_;
  Source& s = sources_[source];
  if (config_.queue_packets > 0) {
    run_until(now);
    if (s.count == s.places || s.ring[s.end].sent > now) return false;
  } else if (s.count == s.places) {
    grow(s);
  }
  s.ring[s.end] = {packet, clock_.at_or_after(now)};
  if (++s.end == s.places) s.end = 0;
  ++s.count;
  sending_ |= bit(source);
  return true;
}

template <uint32_t W>
void CrossbarNoc<W>::grow(Source& s) {
  std::rotate(s.ring.begin(), s.ring.begin() + s.first, s.ring.end());
  s.first = 0;
  s.end = s.count;
  s.places *= 2;
  s.ring.resize(s.places);
}

template <uint32_t W>
void CrossbarNoc<W>::run_until(Tick end) {
  const Cycle last = clock_.at_or_after(end);
  while (next_ < last) {
    if (flits_ == 0) {
      next_ = next_event(next_, last);
      if (next_ == last) return;
    }
    step(next_++);
  }
}

// The first cycle in [from, end) in which something may move, with nothing in the router; or end.
template <uint32_t W>
Cycle CrossbarNoc<W>::next_event(Cycle from, Cycle end) {
  Cycle next = end;
  for (uint64_t left = sending_; left != 0; left &= left - 1) {
    const Source& s = sources_[static_cast<size_t>(std::countr_zero(left))];
    next = std::min(next, s.ring[s.first].sent + 1);
    if (next <= from) return from;
  }
  if (scheduled_ == 0) return next;
  const Cycle horizon = std::min(next, from + static_cast<Cycle>(slot_mask_ + 1));
  for (Cycle c = from; c < horizon; ++c) {
    if (slot(c).flits + slot(c).credits > 0) return c;
  }
  return next;
}

template <uint32_t W>
void CrossbarNoc<W>::step(Cycle now) {
  ++stats_.steps;
  for (; !releases_.empty() && releases_.front().cycle <= now; releases_.pop()) {
    const uint32_t output = releases_.front().output;
    ++outputs_[output].places;
    open_ |= bit(output);
  }
  if (scheduled_ > 0) arrive(now);
  inject(now);
  if (flits_ > 0) pass(now);
}

template <uint32_t W>
void CrossbarNoc<W>::arrive(Cycle now) {
  Slot& here = slot(now);
  for (uint32_t k = 0; k < here.flits; ++k) receive(here.arriving[k]);
  const uint32_t shift = stride_shift_;
  for (uint32_t k = 0; k < here.credits; ++k) {
    const uint32_t queue = here.credited[k];
    const uint32_t source = queue >> shift;
    ++queues_[queue].credits;
    sources_[source].with_credit |= 1u << (queue - (source << shift));
  }
  flits_ += here.flits;
  scheduled_ -= here.flits + here.credits;
  here.flits = here.credits = 0;
}

// One flit of the packet at the front of each source leaves, if there is a credit.
template <uint32_t W>
void CrossbarNoc<W>::inject(Cycle now) {
  Slot& there = slot(now + config_.link_cycles);
  const uint32_t before = there.flits;
  const uint32_t ring_shift = ring_shift_;
  const uint32_t last_place = (1u << ring_shift) - 1;
  for (uint64_t left = sending_; left != 0; left &= left - 1) {
    const auto source = static_cast<uint32_t>(std::countr_zero(left));
    Source& s = sources_[source];
    const Flit& front = s.ring[s.first];
    if (front.sent >= now) continue;
    const bool head = s.flits_left == 0;
    if (head) {
      if (s.with_credit == 0) continue;
      s.channel = round_robin(s.with_credit, s.channel + 1);
      s.flits_left = front.packet.data != 0 ? config_.data_flits : config_.control_flits;
    } else if (((s.with_credit >> s.channel) & 1) == 0) {
      continue;
    }
    const uint32_t queue = (source << stride_shift_) + s.channel;
    Queue& q = queues_[queue];
    if (--q.credits == 0) s.with_credit &= ~(1u << s.channel);
    Flit& place = buffer_[(queue << ring_shift) + q.end];
    q.end = (q.end + 1) & last_place;
    place = front;
    place.packet.head = head;
    --s.flits_left;
    place.packet.tail = s.flits_left == 0;
    there.arriving[there.flits++] = queue;
    ++s.flits;
    if (s.flits_left == 0) departed(s, source, now);
  }
  scheduled_ += there.flits - before;
  stats_.flits += there.flits - before;
}

template <uint32_t W>
inline void CrossbarNoc<W>::departed(Source& s, uint32_t number, Cycle now) {
  const Tick free_at = clock_.tick(now + 1);
  s.ring[s.first].sent = free_at;
  s.first = s.first + 1 == s.places ? 0 : s.first + 1;
  if (--s.count == 0) sending_ &= ~bit(number);
  if (config_.report_departures) departed_.push_back({number + first_source_, free_at});
}

template <uint32_t W>
std::vector<NocLink> CrossbarNoc<W>::links() const {
  std::vector<NocLink> all;
  for (uint32_t s = 0; s < sources_.size(); ++s)
    all.push_back({{NocPlace::Kind::Node, first_source_ + s}, {NocPlace::Kind::Router, 0}, sources_[s].flits});
  for (uint32_t o = 0; o < outputs_.size(); ++o)
    all.push_back({{NocPlace::Kind::Router, 0}, {NocPlace::Kind::Node, first_destination_ + o}, outputs_[o].flits});
  return all;
}

template class CrossbarNoc<1>;
template class CrossbarNoc<2>;
template class CrossbarNoc<8>;

}  // namespace togsim
