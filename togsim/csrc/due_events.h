// What is known to happen at a later core cycle, in order of cycle. Events of one cycle commute; kind, work-item and
// instruction break ties so that logs have one order.
#ifndef TOGSIM_DUE_EVENTS_H
#define TOGSIM_DUE_EVENTS_H

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "clock.h"

namespace togsim {

struct WorkItem;

struct DueEvent {
  enum class Kind : uint8_t { WeightSlot, ComputeDone, DataArrived };
  Cycle cycle;
  Kind kind;
  size_t item_index;  // dispatch order, for the tie-break
  uint32_t instruction;
  WorkItem* item;  // null for WeightSlot
  int32_t array;   // WeightSlot

  bool operator>(const DueEvent& other) const {
    return std::tie(cycle, kind, item_index, instruction) > std::tie(other.cycle, other.kind, other.item_index, other.instruction);
  }
};

class DueEvents {
 public:
  void push(const DueEvent& event) { heap_.push(event); }
  Cycle next() const { return heap_.empty() ? kNever : heap_.top().cycle; }
  DueEvent pop() {
    DueEvent event = heap_.top();
    heap_.pop();
    return event;
  }

 private:
  std::priority_queue<DueEvent, std::vector<DueEvent>, std::greater<>> heap_;
};

}  // namespace togsim
#endif
