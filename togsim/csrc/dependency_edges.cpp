#include "dependency_edges.h"

#include <algorithm>

namespace togsim {

void DependencyEdges::bend(uint32_t consumer) {
  const auto kind = [&](const Need& n) { return EdgeKind{n.why, item_.code[n.producer].op, item_.code[consumer].op}; };
  std::erase_if(needs_, [&](const Need& n) { return faults_.drop_edges == kind(n); });
  for (Need& n : needs_) {
    if (faults_.relabel_edges == kind(n)) n.event = n.event == Event::Issue ? Event::Done : Event::Issue;
  }
}

void DependencyEdges::commit(uint32_t consumer) {
  if (faults_.drop_edges || faults_.relabel_edges) bend(consumer);
  std::sort(needs_.begin(), needs_.end(),
            [](const Need& a, const Need& b) { return a.producer != b.producer ? a.producer < b.producer : a.event > b.event; });
  for (size_t k = 0; k < needs_.size(); ++k) {
    if (k > 0 && needs_[k].producer == needs_[k - 1].producer) continue;
    if (edges_++ == faults_.drop_dependency) continue;
    item_.deps.add_dep(needs_[k].producer, needs_[k].event, consumer);
  }
  needs_.clear();
}

}  // namespace togsim
