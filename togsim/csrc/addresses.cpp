#include "addresses.h"

#include <algorithm>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

// Calls visit(address) for every active position, in row-major order.
template <typename Visit>
void each_element(const Transfer& transfer, Visit visit) {
  const DmaRecord& dma = transfer.record;
  const int64_t bytes = dma.element_bits / 8;
  const size_t rank = dma.axes.size();
  std::vector<int64_t> position(rank);
  for (size_t a = 0; a < rank; ++a) {
    if (dma.axes[a].low >= dma.axes[a].high) return;
    position[a] = dma.axes[a].low;
  }
  for (;;) {
    int64_t linear = 0;
    int64_t element = dma.element_offset;
    for (size_t a = 0; a < rank; ++a) {
      linear = linear * dma.axes[a].dim + position[a];
      element += position[a] * dma.axes[a].stride;
    }
    element += (*transfer.offsets)[static_cast<size_t>(linear)];
    const int64_t address = static_cast<int64_t>(transfer.base) + element * bytes;
    if (address < 0) {
      throw TraceError("transfer below address 0", {"index values that stay inside the tensor", std::to_string(address),
                                                    join("argument ", dma.arg_id, ", position ", linear), "check the index values"});
    }
    visit(static_cast<uint64_t>(address));
    size_t a = rank;
    while (a > 0 && ++position[a - 1] == dma.axes[a - 1].high) {
      position[a - 1] = dma.axes[a - 1].low;
      --a;
    }
    if (a == 0) return;
  }
}

}  // namespace

std::vector<Interval> touched_granules(const Transfer& transfer, uint64_t granule) {
  if (transfer.offsets == nullptr) return touched_granules(transfer.record, transfer.base, granule);
  const auto bytes = static_cast<uint64_t>(transfer.record.element_bits / 8);
  std::vector<Interval> runs;
  each_element(transfer, [&](uint64_t address) {
    const Interval run{address / granule, (address + bytes - 1) / granule};
    if (!transfer.repeats && !runs.empty() && run.first >= runs.back().first && run.first <= runs.back().last + 1) {
      runs.back().last = std::max(runs.back().last, run.last);
    } else {
      runs.push_back(run);
    }
  });
  if (!transfer.repeats) merge(runs);
  return runs;
}

Interval bounding_bytes(const Transfer& transfer) {
  if (transfer.offsets == nullptr) return bounding_bytes(transfer.record, transfer.base);
  Interval box{1, 0};
  const auto bytes = static_cast<uint64_t>(transfer.record.element_bits / 8);
  bool first = true;
  each_element(transfer, [&](uint64_t address) {
    box = first ? Interval{address, address + bytes - 1} : Interval{std::min(box.first, address), std::max(box.last, address + bytes - 1)};
    first = false;
  });
  return box;
}

}  // namespace togsim
