// The dependency rule over scratchpad bytes (docs/togsim.md, "Dependencies" and "Capacity"), and nothing else.
//
// Each byte has a set of current writers and a version. A reader waits for all writers of its bytes. A writer replaces the set and
// opens a version; a block that reads what it writes passes the version on; a matmul that does so joins the set.
#ifndef TOGSIM_DEPENDENCY_RULE_H
#define TOGSIM_DEPENDENCY_RULE_H

#include <cstdint>
#include <vector>

#include "dependency_edges.h"
#include "trace_site.h"
#include "writer_map.h"

namespace togsim {

class DependencyRule {
 public:
  DependencyRule(WorkItem& item, DependencyEdges& edges, const Faults& faults, const TraceSite& site)
      : item_(item), edges_(edges), faults_(faults), site_(site), map_(item.versions) {}

  // `in_place`: the bytes that instruction i both reads and writes.
  void read(uint32_t i, const std::vector<Bytes>& bytes, const std::vector<Bytes>& in_place);
  void write(uint32_t i, const std::vector<Bytes>& bytes, const std::vector<Bytes>& in_place);

  void write_load(uint32_t i, const std::vector<Bytes>& bytes, bool async);
  // The barrier is the writer of what an asynchronous load brought.
  void land(uint32_t load, uint32_t barrier);

  bool any_written(const std::vector<Bytes>& bytes);

 private:
  Op op(uint32_t i) const { return item_.code[i].op; }
  const DmaRecord& transfer(uint32_t i) const { return item_.transfers[static_cast<size_t>(item_.code[i].dma)].record; }
  void need(uint32_t reader, uint32_t writer, Why why);
  void pass_on(uint32_t i, Segment& segment);
  void open(Bytes bytes, uint32_t i, bool in_flight = false);
  // Open what of `bytes` lies outside of `held`, both ascending.
  void open_outside(Bytes bytes, const std::vector<Bytes>& held, uint32_t i, bool in_flight = false);

  WorkItem& item_;
  DependencyEdges& edges_;
  const Faults& faults_;
  const TraceSite& site_;
  WriterMap map_;
};

}  // namespace togsim
#endif
