// A compute pipe: vector unit or systolic array. Instructions pass in order of issue.
//
// An instruction of `cycles` latency occupies the pipe for cycles - overlapping and drains for `overlapping`, which its
// successor may overlap. busy = sum of the occupancies; everything else is idle.
#ifndef TOGSIM_PIPE_H
#define TOGSIM_PIPE_H

#include <algorithm>
#include <cstdint>

#include "clock.h"
#include "faults.h"

namespace togsim {

class Pipe {
 public:
  // Returns the cycle at which the instruction finishes.
  Cycle issue(Cycle now, int64_t cycles, int64_t overlapping, const Faults& faults) {
    if (finish_ <= now) {
      finish_ = now + cycles + faults.shift(Figure::PipeEmpty);
    } else {
      finish_ += cycles - std::min(finish_ - now, overlapping) + faults.shift(Figure::PipeBusy);
    }
    busy_ += cycles - overlapping;
    ++instructions_;
    return finish_;
  }
  bool empty(Cycle now) const { return finish_ <= now; }
  int64_t busy() const { return busy_; }
  int64_t instructions() const { return instructions_; }

 private:
  Cycle finish_ = 0;
  int64_t busy_ = 0;
  int64_t instructions_ = 0;
};

}  // namespace togsim
#endif
