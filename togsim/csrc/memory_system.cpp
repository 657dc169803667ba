#include "memory_system.h"

#include <algorithm>

namespace togsim {
namespace {

// Channels take a limited number of requests before they answer; cores take every answer. That also bounds the answers that wait
// at a channel, so their queues have no limit of their own.
std::vector<int32_t> places(const Config& config, const NocNodes& nodes, bool requests) {
  std::vector<int32_t> all(nodes.count(), 0);
  if (!requests) return all;
  for (uint32_t c = 0; c < static_cast<uint32_t>(config.dram_channels); ++c) all[nodes.channel(c)] = config.icnt_channel_requests;
  return all;
}

}  // namespace

MemorySystem::MemorySystem(const Config& config, const Clocks& clocks)
    : clocks_(clocks),
      nodes_(config),
      requests_(make_noc(config, clocks.icnt, config.icnt_queue_packets, places(config, nodes_, true))),
      replies_(make_noc(config, clocks.icnt, 0, places(config, nodes_, false))),
      interleave_(config),
      granule_(config.request_bytes) {
  for (int32_t c = 0; c < config.dram_channels; ++c) channels_.push_back(make_channel(config));
}

uint32_t MemorySystem::open(uint32_t core, uint32_t handle, uint64_t requests, bool write) {
  const Pending transfer{core, handle, requests, kNever, 0, write};
  if (free_.empty()) {
    transfers_.push_back(transfer);
    return static_cast<uint32_t>(transfers_.size() - 1);
  }
  const uint32_t id = free_.back();
  free_.pop_back();
  transfers_[id] = transfer;
  return id;
}

bool MemorySystem::try_send(uint32_t transfer, uint64_t granule, Tick now) {
  const ChannelInterleave::Place place = interleave_.place(granule);
  const Pending& t = transfers_[transfer];
  const uint32_t source = nodes_.core(t.core, place.channel);
  if (!requests_->can_send(source, now)) return false;
  requests_->send({source, nodes_.channel(place.channel), transfer, place.granule, t.write, t.write}, now);
  ++outstanding_;
  ++progress_;
  return true;
}

void MemorySystem::run_until(Tick end, bool every_cycle, std::vector<Arrival>& arrivals) {
  if (idle()) {
    now_ = end;
    return;
  }
  // What one side does inside a window no longer than lookahead() is not seen by the others inside it.
  for (const Tick window = lookahead(); now_ < end;) {
    now_ = std::min(end, now_ + window);
    run_window(now_, every_cycle, arrivals);
  }
}

void MemorySystem::run_window(Tick end, bool every_cycle, std::vector<Arrival>& arrivals) {
  delivered_.clear();
  left_.clear();
  requests_->run_until(end, every_cycle, delivered_, left_);
  for (const Delivery& d : delivered_) {
    const Packet& p = d.packet;
    channels_[nodes_.channel_of(p.destination)]->push({clocks_.dram.at_or_after(d.tick), p.granule, p.transfer, p.write});
  }
  run_channels(end, every_cycle);
  delivered_.clear();
  left_.clear();
  replies_->run_until(end, every_cycle, delivered_, left_);
  for (const uint32_t node : left_) requests_->release(node);
  for (const Delivery& d : delivered_) arrived(d, arrivals);
}

void MemorySystem::run_channels(Tick end, bool every_cycle) {
  const Cycle dram_end = clocks_.dram.at_or_after(end);
  for (uint32_t c = 0; c < channels_.size(); ++c) {
    if (channels_[c]->idle()) continue;
    completions_.clear();
    channels_[c]->run_until(dram_end, every_cycle, completions_);
    for (const DramCompletion& done : completions_) answers_.push({done.cycle, c, done.transfer});
  }
  answers_.take(dram_end, [&](const Answer& answer) {
    if (activity_ != nullptr) activity_->add(answer.channel, answer.cycle);
    const Pending& t = transfers_[answer.transfer];
    replies_->send({nodes_.channel(answer.channel), nodes_.core(t.core, answer.channel), answer.transfer, 0, t.write, !t.write},
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

NocStats MemorySystem::noc_stats() const {
  NocStats both = requests_->stats();
  const NocStats& replies = replies_->stats();
  both.packets += replies.packets;
  both.flits += replies.flits;
  both.queued += replies.queued;
  return both;
}

}  // namespace togsim
