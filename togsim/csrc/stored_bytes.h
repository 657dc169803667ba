// DRAM bytes that a work-item stored: a load of them depends on what completes the store.
#ifndef TOGSIM_STORED_BYTES_H
#define TOGSIM_STORED_BYTES_H

#include <cstdint>
#include <vector>

#include "addresses.h"
#include "dependency_edges.h"
#include "trace_site.h"

namespace togsim {

class StoredBytes {
 public:
  StoredBytes(WorkItem& item, DependencyEdges& edges, const Faults& faults, const TraceSite& site)
      : item_(item), edges_(edges), faults_(faults), site_(site) {}

  void add_store(uint32_t store);
  void add_load(uint32_t load);

 private:
  struct Store {
    uint32_t instruction;
    Interval box;                 // bytes
    std::vector<Interval> bytes;  // exact; filled when first needed
  };
  const Transfer& transfer(uint32_t i) const { return item_.transfers[static_cast<size_t>(item_.code[i].dma)]; }

  WorkItem& item_;
  DependencyEdges& edges_;
  const Faults& faults_;
  const TraceSite& site_;
  std::vector<Store> stores_;
};

}  // namespace togsim
#endif
