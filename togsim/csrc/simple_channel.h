// The "simple" DRAM: every request takes a fixed latency; a channel accepts one request per DRAM cycle.
#ifndef TOGSIM_SIMPLE_CHANNEL_H
#define TOGSIM_SIMPLE_CHANNEL_H

#include <algorithm>

#include "channel.h"

namespace togsim {

class SimpleChannel final : public Channel {
 public:
  explicit SimpleChannel(Cycle latency) : latency_(latency) {}

  void push(const DramRequest& request) override {
    next_ = std::max(next_, request.arrival);
    waiting_.push_back({next_ + latency_, request.transfer});
    ++next_;
    ++(request.write ? stats_.writes : stats_.reads);
    ++stats_.busy;
  }
  void run_until(Cycle, bool, std::vector<DramCompletion>& done) override {
    done.insert(done.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
  }
  bool idle() const override { return waiting_.empty(); }
  const ChannelStats& stats() const override { return stats_; }

 private:
  Cycle latency_;
  Cycle next_ = 0;
  std::vector<DramCompletion> waiting_;
  ChannelStats stats_;
};

}  // namespace togsim
#endif
