#include "memory_system.h"

#include <algorithm>

namespace togsim {

MemorySystem::MemorySystem(const Config& config, const Clocks& clocks)
    : clocks_(clocks), noc_(config, clocks.icnt), interleave_(config.dram_channels), granule_(config.request_bytes) {
  for (int32_t c = 0; c < config.dram_channels; ++c) channels_.push_back(make_channel(config));
}

uint32_t MemorySystem::open(uint32_t core, uint32_t handle, uint64_t requests) {
  const Pending transfer{core, handle, requests, kNever, 0};
  if (free_.empty()) {
    transfers_.push_back(transfer);
    return static_cast<uint32_t>(transfers_.size() - 1);
  }
  const uint32_t id = free_.back();
  free_.pop_back();
  transfers_[id] = transfer;
  return id;
}

void MemorySystem::send(uint32_t transfer, uint64_t granule, bool write, Tick now) {
  const ChannelInterleave::Place place = interleave_.place(granule);
  const Tick at = noc_.to_channel(place.channel, now);
  channels_[place.channel]->push({clocks_.dram.at_or_after(at), place.granule, transfer, write});
  ++outstanding_;
}

void MemorySystem::run_until(Tick end, bool every_cycle, std::vector<Arrival>& arrivals) {
  if (idle()) return;
  const Cycle dram_end = clocks_.dram.at_or_after(end);
  for (uint32_t c = 0; c < channels_.size(); ++c) {
    if (channels_[c]->idle()) continue;
    scratch_.clear();
    channels_[c]->run_until(dram_end, every_cycle, scratch_);
    for (const DramCompletion& done : scratch_) answers_.push_back({done.cycle, c, done.transfer});
  }
  // Answers leave in order of time, then channel: the interconnect needs that order, and it is the same for any window.
  const auto later = std::stable_partition(answers_.begin(), answers_.end(), [&](const Answer& a) { return a.cycle < dram_end; });
  due_.assign(answers_.begin(), later);
  answers_.erase(answers_.begin(), later);
  std::stable_sort(due_.begin(), due_.end(),
                   [](const Answer& a, const Answer& b) { return a.cycle != b.cycle ? a.cycle < b.cycle : a.channel < b.channel; });
  for (const Answer& answer : due_) {
    Pending& transfer = transfers_[answer.transfer];
    const Tick at = noc_.to_core(transfer.core, answer.channel, clocks_.dram.tick(answer.cycle));
    transfer.first = std::min(transfer.first, at);
    transfer.last = std::max(transfer.last, at);
    --outstanding_;
    if (--transfer.remaining > 0) continue;
    arrivals.push_back({transfer.core, transfer.handle, transfer.first, transfer.last});
    free_.push_back(answer.transfer);
  }
}

}  // namespace togsim
