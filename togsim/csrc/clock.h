// Clock domains in exact integer time.
//
// One tick is 1 / lcm(core, icnt, DRAM frequency), so every period is a whole number of ticks and nothing is ever rounded.
// All three domains have an edge at tick 0; an event is seen at the next edge of the domain that it enters.
#ifndef TOGSIM_CLOCK_H
#define TOGSIM_CLOCK_H

#include <cstdint>

namespace togsim {

using Tick = int64_t;
using Cycle = int64_t;

inline constexpr int64_t kNever = INT64_MAX;

class Clock {
 public:
  explicit Clock(Tick period = 1) : period_(period) {}
  Tick period() const { return period_; }
  Tick tick(Cycle cycle) const { return cycle * period_; }
  // First cycle whose edge is at or after `tick`.
  Cycle at_or_after(Tick tick) const { return (tick + period_ - 1) / period_; }

 private:
  Tick period_;
};

}  // namespace togsim
#endif
