// How busy each DRAM channel is over time: requests answered in windows of fixed length. Kept only for runs with a trace.
#ifndef TOGSIM_CHANNEL_ACTIVITY_H
#define TOGSIM_CHANNEL_ACTIVITY_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock.h"
#include "trace_log.h"

namespace togsim {

class ChannelActivity {
 public:
  static constexpr Cycle kWindow = 256;  // DRAM cycles

  explicit ChannelActivity(size_t channels) : counts_(channels) {}

  // A request of `channel` is answered in DRAM cycle `cycle`.
  void add(size_t channel, Cycle cycle) {
    std::vector<int64_t>& windows = counts_[channel];
    const auto window = static_cast<size_t>(cycle / kWindow);
    if (window >= windows.size()) windows.resize(window + 1);
    ++windows[window];
  }

  // One entry per channel and window whose count differs from that of the window before, the first empty one included.
  void log(const Clocks& clocks, TraceLog& trace) const {
    for (size_t c = 0; c < counts_.size(); ++c) {
      int64_t before = 0;
      for (size_t w = 0; w <= counts_[c].size(); ++w) {
        const int64_t now = w < counts_[c].size() ? counts_[c][w] : 0;
        if (now == before) continue;
        const Cycle at = clocks.core.at_or_after(clocks.dram.tick(static_cast<Cycle>(w) * kWindow));
        trace.add({at, 0, Tag::DramWindow, 0, "CHANNEL", {{"channel", static_cast<int64_t>(c)}, {"requests", now}, {"window", kWindow}}});
        before = now;
      }
    }
  }

 private:
  std::vector<std::vector<int64_t>> counts_;  // by channel, by window
};

}  // namespace togsim
#endif
