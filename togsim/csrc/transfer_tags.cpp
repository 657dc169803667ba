#include "transfer_tags.h"

#include "writer_map.h"

namespace togsim {

std::vector<uint32_t> TransferTags::take(const BarrierRecord& bar) {
  const auto slot = queues_.find(bar.tag);
  if (slot == queues_.end()) {
    site_.fail("wait without transfer", join("a transfer under tag ", bar.tag, " before it"), "none in this work-item");
  }
  std::deque<uint32_t>& queue = slot->second;
  if (static_cast<size_t>(bar.count) > queue.size()) {
    site_.fail("wait for more transfers than there are", join("at most ", queue.size(), " under tag ", bar.tag), join(bar.count));
  }
  const bool all = bar.count == 0 || faults_.bent(Rule::WaitTakesAll);
  std::vector<uint32_t> taken;
  for (size_t n = all ? queue.size() : static_cast<size_t>(bar.count); n > 0; --n) {
    if (faults_.bent(Rule::WaitTakesNewest)) {
      taken.push_back(queue.back());
      queue.pop_back();
    } else {
      taken.push_back(queue.front());
      queue.pop_front();
    }
  }
  check_no_part_left(bar, taken, queue);
  return taken;
}

// Where the hulls of two loads interleave nobody knows which of the two a byte comes from before both are there.
void TransferTags::check_no_part_left(const BarrierRecord& bar, const std::vector<uint32_t>& taken,
                                      const std::deque<uint32_t>& left) const {
  const auto hull = [&](uint32_t i) { return arena_bytes(item_.transfers[static_cast<size_t>(item_.code[i].dma)].record.writes); };
  for (const uint32_t later : left) {
    for (const uint32_t done : taken) {
      if (item_.code[later].op != Op::Load || item_.code[done].op != Op::Load) continue;
      if (!intersection(hull(done), hull(later)).empty()) {
        site_.fail("wait for some of the transfers that interleave", join("a wait for all transfers under tag ", bar.tag),
                   join(taken.size(), " of them"));
      }
    }
  }
}

void TransferTags::check_all_taken() const {
  for (const auto& [tag, queue] : queues_) {
    if (queue.empty()) continue;
    site_.fail("transfer that is never waited for", join("a wait for tag ", tag, " before the end of the work-item"),
               join(queue.size(), " outstanding"));
  }
}

}  // namespace togsim
