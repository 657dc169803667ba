// The DMA engine of one core: one transfer at a time, loads before stores, a number of requests per cycle.
#ifndef TOGSIM_DMA_ENGINE_H
#define TOGSIM_DMA_ENGINE_H

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "addresses.h"
#include "clock.h"
#include "memory_system.h"
#include "work_item.h"

namespace togsim {

struct DmaJob {
  WorkItem* item = nullptr;
  uint32_t instruction = 0;
};

class DmaEngine {
 public:
  DmaEngine(uint32_t core, int32_t ports, int32_t depth, MemorySystem& memory)
      : core_(core), ports_(ports), depth_(static_cast<size_t>(depth)), memory_(memory) {}

  bool full(bool store) const { return queue(store).size() >= depth_; }
  void enqueue(bool store, DmaJob job) { (store ? stores_ : loads_).push_back(job); }
  bool active() const { return current_.has_value() || !loads_.empty() || !stores_.empty(); }

  // What one cycle did.
  struct Step {
    std::optional<DmaJob> started;
    std::optional<DmaJob> injected;  // its last request left (or it had none)
    uint64_t requests = 0;           // of the transfer that was injected
    int64_t sent = 0;
    bool store = false;
    bool freed_queue = false;
  };
  // `handle(job)`: the core's number for the job, under which MemorySystem reports its arrival.
  template <typename Handle>
  Step step(Tick now, Handle handle) {
    Step did;
    if (!current_ && !start(did)) return did;
    Current& c = *current_;
    if (c.transfer == kNotOpen && c.requests > 0) c.transfer = memory_.open(core_, handle(c.job), c.requests, c.store);
    did.store = c.store;
    while (did.sent < ports_ && c.run < c.granules.size()) {
      const uint64_t left = c.granules[c.run].last - c.next + 1;
      const int64_t wanted = static_cast<int64_t>(std::min(left, static_cast<uint64_t>(ports_ - did.sent)));
      const int64_t sent = memory_.send(c.transfer, c.next, wanted, now);
      did.sent += sent;
      c.next += static_cast<uint64_t>(sent);
      if (static_cast<uint64_t>(sent) == left && ++c.run < c.granules.size()) c.next = c.granules[c.run].first;
      if (sent < wanted) break;
    }
    if (c.run == c.granules.size()) {
      did.injected = c.job;
      did.requests = c.requests;
      current_.reset();
    }
    return did;
  }

 private:
  static constexpr uint32_t kNotOpen = UINT32_MAX;
  struct Current {
    DmaJob job;
    bool store;
    std::vector<Interval> granules;
    uint64_t requests;
    size_t run = 0;
    uint64_t next = 0;
    uint32_t transfer = kNotOpen;
  };
  const std::deque<DmaJob>& queue(bool store) const { return store ? stores_ : loads_; }
  bool start(Step& did);

  uint32_t core_;
  int32_t ports_;
  size_t depth_;
  MemorySystem& memory_;
  std::deque<DmaJob> loads_;
  std::deque<DmaJob> stores_;
  std::optional<Current> current_;
};

}  // namespace togsim
#endif
