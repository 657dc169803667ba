// Clock domains in exact integer time.
//
// One tick is 1 / lcm(core, icnt, DRAM frequency), so every period is a whole number of ticks and nothing is ever rounded.
// All three domains have an edge at tick 0; an event is seen at the next edge of the domain that it enters.
#ifndef TOGSIM_CLOCK_H
#define TOGSIM_CLOCK_H

#include <bit>
#include <cstdint>

namespace togsim {

using Tick = int64_t;
using Cycle = int64_t;

inline constexpr int64_t kNever = INT64_MAX;

class Clock {
 public:
  explicit Clock(Tick period = 1)
      : period_(period),
        shift_(std::has_single_bit(static_cast<uint64_t>(period)) ? std::countr_zero(static_cast<uint64_t>(period)) : -1) {}
  Tick period() const { return period_; }
  Tick tick(Cycle cycle) const { return cycle * period_; }
  // First cycle whose edge is at or after `tick`.
  Cycle at_or_after(Tick tick) const {
    const Tick last = tick + period_ - 1;
    return shift_ >= 0 ? last >> shift_ : last / period_;
  }

 private:
  Tick period_;
  int shift_;  // log2(period_), or -1: most machines have periods of 1 or 2, and a division per request shows
};

}  // namespace togsim
#endif
