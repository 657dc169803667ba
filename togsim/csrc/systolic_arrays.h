// The systolic arrays of one core and their weight slots.
//
// A preload takes a slot on the next array, round robin, that has one free, and pins the matmuls that use its weights to that
// array; the slot is free again when the last of them has stopped streaming.
#ifndef TOGSIM_SYSTOLIC_ARRAYS_H
#define TOGSIM_SYSTOLIC_ARRAYS_H

#include <cstdint>
#include <vector>

#include "pipe.h"

namespace togsim {

class SystolicArrays {
 public:
  static constexpr int32_t kNone = -1;

  SystolicArrays(int32_t arrays, int32_t slots)
      : pipes_(static_cast<size_t>(arrays)), used_(static_cast<size_t>(arrays), 0), slots_(slots) {}

  // Array for the next preload, or kNone if every slot is taken.
  int32_t pick() const {
    for (size_t k = 0; k < pipes_.size(); ++k) {
      const size_t a = (next_ + k) % pipes_.size();
      if (used_[a] < slots_) return static_cast<int32_t>(a);
    }
    return kNone;
  }
  void take(int32_t array, const Faults& faults) {
    ++used_[static_cast<size_t>(array)];
    if (faults.bent(Rule::ArraysNotInTurn)) return;
    next_ = (static_cast<size_t>(array) + 1) % pipes_.size();
  }
  void release(int32_t array) { --used_[static_cast<size_t>(array)]; }

  Pipe& pipe(int32_t array) { return pipes_[static_cast<size_t>(array)]; }
  const std::vector<Pipe>& pipes() const { return pipes_; }
  int32_t used(int32_t array) const { return used_[static_cast<size_t>(array)]; }

 private:
  std::vector<Pipe> pipes_;
  std::vector<int32_t> used_;
  int32_t slots_;
  size_t next_ = 0;
};

}  // namespace togsim
#endif
