// Asynchronous transfers of one work-item that nobody has waited for yet, by tag, oldest first.
#ifndef TOGSIM_TRANSFER_TAGS_H
#define TOGSIM_TRANSFER_TAGS_H

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "faults.h"
#include "trace_site.h"
#include "work_item.h"

namespace togsim {

class TransferTags {
 public:
  TransferTags(const WorkItem& item, const Faults& faults, const TraceSite& site) : item_(item), faults_(faults), site_(site) {}

  void add(int64_t tag, uint32_t transfer) { queues_[tag].push_back(transfer); }
  // The transfers that a barrier takes; none for a repeated wait for all.
  std::vector<uint32_t> take(const BarrierRecord& bar);
  // At the end of the work-item.
  void check_all_taken() const;

 private:
  void check_no_part_left(const BarrierRecord& bar, const std::vector<uint32_t>& taken, const std::deque<uint32_t>& left) const;

  const WorkItem& item_;
  const Faults& faults_;
  const TraceSite& site_;
  std::map<int64_t, std::deque<uint32_t>> queues_;
};

}  // namespace togsim
#endif
