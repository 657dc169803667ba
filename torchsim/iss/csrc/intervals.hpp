// Sets of in-lane scratchpad bytes, kept as half-open intervals.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "address_map.hpp"

namespace torchsim::iss {

class Intervals {
 public:
  void add(u64 begin, u64 end) {
    if (!items_.empty() && begin <= items_.back().second && begin >= items_.back().first) {
      items_.back().second = std::max(items_.back().second, end);
      return;
    }
    items_.emplace_back(begin, end);
    if (items_.size() >= compact_at_) compact();
  }
  /// Sorted, disjoint, not touching.
  const std::vector<std::pair<u64, u64>>& sorted() {
    compact();
    return items_;
  }
  void clear() { items_.clear(); }

 private:
  void compact() {
    std::sort(items_.begin(), items_.end());
    std::size_t out = 0;
    for (const auto& item : items_) {
      if (out && item.first <= items_[out - 1].second)
        items_[out - 1].second = std::max(items_[out - 1].second, item.second);
      else
        items_[out++] = item;
    }
    items_.resize(out);
    compact_at_ = std::max<std::size_t>(4096, 2 * out);
  }
  std::vector<std::pair<u64, u64>> items_;
  std::size_t compact_at_ = 4096;
};

}  // namespace torchsim::iss
