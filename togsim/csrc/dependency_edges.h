// What the instruction being added must wait for.
#ifndef TOGSIM_DEPENDENCY_EDGES_H
#define TOGSIM_DEPENDENCY_EDGES_H

#include <cstdint>
#include <vector>

#include "faults.h"
#include "work_item.h"

namespace togsim {

class DependencyEdges {
 public:
  DependencyEdges(WorkItem& item, const Faults& faults) : item_(item), faults_(faults) {}

  void need(uint32_t producer, Event event, Why why) { needs_.push_back({producer, event, why}); }
  // Give `consumer` what was needed: one edge per producer, DONE if both events were named, for it implies ISSUE.
  void commit(uint32_t consumer);

 private:
  struct Need {
    uint32_t producer;
    Event event;
    Why why;
  };
  void bend(uint32_t consumer);

  WorkItem& item_;
  const Faults& faults_;
  std::vector<Need> needs_;
  int64_t edges_ = 0;
};

}  // namespace togsim
#endif
