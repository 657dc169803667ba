#include "memory_system.h"

#include <algorithm>

namespace togsim {
// Channels take a limited number of requests before they answer; cores take every answer. That also bounds the answers that wait
// at a channel, so their queues have no limit of their own.
MemorySystem::MemorySystem(const Config& config, const Clocks& clocks, bool reference)
    : clocks_(clocks),
      reference_(reference),
      limited_(config.icnt_type != "simple"),
      nodes_(config),
      requests_(
          make_noc(config, clocks.icnt, nodes_.count(),
                   {nodes_.cores(), nodes_.channels(), config.icnt_queue_packets, config.icnt_channel_requests, false, nodes_.one_to_one()},
                   reference)),
      replies_(make_noc(config, clocks.icnt, nodes_.count(), {nodes_.channels(), nodes_.cores(), 0, 0, limited_, nodes_.one_to_one()},
                        reference)),
      interleave_(config),
      granule_(config.request_bytes) {
  for (int32_t c = 0; c < config.dram_channels; ++c) channels_.push_back(make_channel(config));
}

uint32_t MemorySystem::open(uint32_t core, uint32_t handle, uint64_t requests, bool write) {
  const Pending transfer{core, nodes_.first_of_core(core), handle, requests, kNever, 0, write};
  if (free_.empty()) {
    transfers_.push_back(transfer);
    return static_cast<uint32_t>(transfers_.size() - 1);
  }
  const uint32_t id = free_.back();
  free_.pop_back();
  transfers_[id] = transfer;
  return id;
}

int64_t MemorySystem::send(uint32_t transfer, uint64_t first, int64_t count, Tick now) {
  const uint32_t source = transfers_[transfer].first_node;
  const bool write = transfers_[transfer].write;
  ChannelInterleave::Walk walk(interleave_, first);
  int64_t sent = 0;
  for (; sent < count; ++sent, walk.next()) {
    const ChannelInterleave::Place& to = walk.place();
    if (!requests_->try_send({to.granule, transfer, source + nodes_.port(to.channel), nodes_.channel(to.channel), write, write}, now))
      break;
  }
  outstanding_ += static_cast<uint64_t>(sent);
  progress_ += static_cast<uint64_t>(sent);
  return sent;
}

Tick MemorySystem::advance(Tick now, std::vector<Arrival>& arrivals) {
  if (idle()) return window_end(replies_->horizon(now + requests_->delay()));
  requests_->run_until(now);
  deliver_requests();
  const Tick known = now + requests_->delay();  // requests that are not delivered yet arrive then or later
  run_channels(known);
  const Tick answered = replies_->horizon(known);
  replies_->run_until(answered);
  for (const Departure& d : replies_->departed()) requests_->release(d.source, d.tick);
  for (const Delivery& d : replies_->delivered()) arrived(d, arrivals);
  replies_->departed().clear();
  replies_->delivered().clear();
  return window_end(answered);
}

// Later answers arrive no earlier, and the places of later departures are free no earlier.
Tick MemorySystem::window_end(Tick answered) const {
  return answered + (limited_ ? std::min(clocks_.icnt.period(), replies_->delay()) : replies_->delay());
}

void MemorySystem::deliver_requests() {
  for (const Delivery& d : requests_->delivered()) {
    const Packet& p = d.packet;
    channels_[nodes_.channel_of(p.destination)]->push({clocks_.dram.at_or_after(d.tick), p.granule, p.transfer, p.write != 0});
  }
  requests_->delivered().clear();
}

void MemorySystem::run_channels(Tick end) {
  const Cycle dram_end = clocks_.dram.at_or_after(end);
  for (uint32_t c = 0; c < channels_.size(); ++c) {
    if (channels_[c]->idle()) continue;
    completions_.clear();
    channels_[c]->run_until(dram_end, reference_, completions_);
    for (const DramCompletion& done : completions_) answers_.push({done.cycle, c, done.transfer});
  }
  answers_.take(dram_end, [&](const Answer& answer) {
    if (activity_ != nullptr) activity_->add(answer.channel, answer.cycle);
    const Pending& t = transfers_[answer.transfer];
    replies_->try_send({0, answer.transfer, nodes_.channel(answer.channel), t.first_node + nodes_.port(answer.channel), t.write, !t.write},
                       clocks_.dram.tick(answer.cycle));
  });
}

void MemorySystem::arrived(const Delivery& delivery, std::vector<Arrival>& arrivals) {
  Pending& transfer = transfers_[delivery.packet.transfer];
  transfer.first = std::min(transfer.first, delivery.tick);
  transfer.last = std::max(transfer.last, delivery.tick);
  --outstanding_;
  ++progress_;
  if (--transfer.remaining > 0) return;
  arrivals.push_back({transfer.core, transfer.handle, transfer.first, transfer.last});
  free_.push_back(delivery.packet.transfer);
}

std::vector<MemorySystem::Link> MemorySystem::links() const {
  const auto name = [&](NocPlace place) {
    return place.kind == NocPlace::Kind::Node ? nodes_.name(place.number) : "router " + std::to_string(place.number);
  };
  std::vector<Link> all;
  const auto add = [&](const char* network, const Noc& noc) {
    for (const NocLink& link : noc.links())
      if (link.flits > 0) all.push_back({network, name(link.from), name(link.to), link.flits});
  };
  add("requests", *requests_);
  add("replies", *replies_);
  return all;
}

NocStats MemorySystem::noc_stats() const {
  NocStats both = requests_->stats();
  const NocStats& replies = replies_->stats();
  both.packets += replies.packets;
  both.flits += replies.flits;
  both.queued += replies.queued;
  both.steps += replies.steps;
  return both;
}

}  // namespace togsim
