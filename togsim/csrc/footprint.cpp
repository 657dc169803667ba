#include "footprint.h"

#include <algorithm>
#include <string>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

struct Walk {
  uint64_t extent;
  uint64_t stride;  // bytes, > 0
};

struct Box {
  uint64_t lowest = 0;  // address of the lowest active element
  uint64_t bytes = 0;   // of an element
  std::vector<Walk> axes;
  bool empty = false;
};

// Active positions as steps upwards from the lowest address. Axes of extent 1 or stride 0 move nothing and are left out.
Box normalise(const DmaRecord& dma, uint64_t base) {
  Box box;
  box.bytes = static_cast<uint64_t>(dma.element_bits / 8);
  const auto bytes = static_cast<int64_t>(box.bytes);
  int64_t lowest = static_cast<int64_t>(base) + dma.element_offset * bytes;
  for (const Axis& axis : dma.axes) {
    if (axis.low >= axis.high) {
      box.empty = true;
      return box;
    }
    lowest += (axis.stride < 0 ? axis.high - 1 : axis.low) * axis.stride * bytes;
    const auto extent = static_cast<uint64_t>(axis.high - axis.low);
    const auto stride = static_cast<uint64_t>(std::abs(axis.stride) * bytes);
    if (extent > 1 && stride > 0) box.axes.push_back({extent, stride});
  }
  if (lowest < 0) {
    throw TraceError("transfer below address 0", {"active elements inside the tensor", std::to_string(lowest),
                                                  join("argument ", dma.arg_id), "check offset, bounds and the base address"});
  }
  box.lowest = static_cast<uint64_t>(lowest);
  std::sort(box.axes.begin(), box.axes.end(), [](const Walk& a, const Walk& b) { return a.stride < b.stride; });
  return box;
}

}  // namespace

void merge(std::vector<Interval>& runs) {
  const auto by_first = [](const Interval& a, const Interval& b) { return a.first < b.first; };
  if (!std::is_sorted(runs.begin(), runs.end(), by_first)) std::sort(runs.begin(), runs.end(), by_first);
  size_t kept = 0;
  for (size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].first <= runs[kept].last + 1) {
      runs[kept].last = std::max(runs[kept].last, runs[i].last);
    } else {
      runs[++kept] = runs[i];
    }
  }
  runs.resize(runs.empty() ? 0 : kept + 1);
}

std::vector<Interval> touched_granules(const DmaRecord& dma, uint64_t base, uint64_t granule) {
  const Box box = normalise(dma, base);
  if (box.empty) return {};
  // An axis whose step is no longer than what lies below it (or than a granule) skips no granule: it only lengthens the run.
  uint64_t span = box.bytes;
  size_t dense = 0;
  while (dense < box.axes.size() && box.axes[dense].stride <= std::max(span, granule)) {
    span += (box.axes[dense].extent - 1) * box.axes[dense].stride;
    ++dense;
  }
  std::vector<Interval> runs;
  std::vector<uint64_t> position(box.axes.size(), 0);
  uint64_t address = box.lowest;
  for (;;) {
    runs.push_back({address / granule, (address + span - 1) / granule});
    size_t a = dense;
    for (; a < box.axes.size(); ++a) {
      address += box.axes[a].stride;
      if (++position[a] < box.axes[a].extent) break;
      address -= box.axes[a].extent * box.axes[a].stride;
      position[a] = 0;
    }
    if (a == box.axes.size()) break;
  }
  merge(runs);
  return runs;
}

Interval bounding_bytes(const DmaRecord& dma, uint64_t base) {
  const Box box = normalise(dma, base);
  if (box.empty) return {1, 0};
  uint64_t last = box.lowest + box.bytes - 1;
  for (const Walk& axis : box.axes) last += (axis.extent - 1) * axis.stride;
  return {box.lowest, last};
}

bool intersect(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].last < b[j].first) {
      ++i;
    } else if (b[j].last < a[i].first) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

uint64_t count(const std::vector<Interval>& intervals) {
  uint64_t total = 0;
  for (const Interval& i : intervals) total += i.last - i.first + 1;
  return total;
}

}  // namespace togsim
