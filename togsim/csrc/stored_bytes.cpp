#include "stored_bytes.h"

namespace togsim {

void StoredBytes::add_store(uint32_t store) {
  const Transfer& source = transfer(store);
  stores_.push_back({store, bounding_bytes(source), {}});
}

void StoredBytes::add_load(uint32_t load) {
  const Transfer& target = transfer(load);
  const Interval box = bounding_bytes(target);
  std::vector<Interval> bytes;
  for (Store& stored : stores_) {
    if (box.last < stored.box.first || stored.box.last < box.first) continue;
    const Instruction& store = item_.code[stored.instruction];
    const Transfer& source = transfer(stored.instruction);
    if (bytes.empty()) bytes = touched_granules(target, 1);
    if (stored.bytes.empty()) stored.bytes = touched_granules(source, 1);
    if (!faults_.bent(Rule::StoredByBox) && !intersect(bytes, stored.bytes)) continue;
    if (source.record.is_async && store.barrier < 0) {
      site_.fail("load of DRAM bytes whose store is in flight", "a wait between store and load", join("store of record ", store.record));
    }
    edges_.need(source.record.is_async ? static_cast<uint32_t>(store.barrier) : stored.instruction, Event::Done, Why::Stored);
    if (faults_.bent(Rule::StoredFirstOnly)) return;
  }
}

}  // namespace togsim
