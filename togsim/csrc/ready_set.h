// Instructions of a work-item that wait for no other instruction, visited in program order.
#ifndef TOGSIM_READY_SET_H
#define TOGSIM_READY_SET_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace togsim {

class ReadySet {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit ReadySet(uint32_t instructions = 0) : words_((instructions + 63) / 64, 0) {}

  void insert(uint32_t i) {
    words_[i / 64] |= uint64_t{1} << (i % 64);
    first_ = std::min<size_t>(first_, i / 64);
  }
  void erase(uint32_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  bool contains(uint32_t i) const { return (words_[i / 64] >> (i % 64)) & 1; }

  // Smallest member >= `from`, or kNone. Members may come and go between calls.
  uint32_t next(uint32_t from) {
    while (first_ < words_.size() && words_[first_] == 0) ++first_;  // a long work-item is not walked from its start every time
    size_t w = std::max<size_t>(from / 64, first_);
    if (w >= words_.size()) return kNone;
    uint64_t bits = words_[w];
    if (w == from / 64) bits &= ~uint64_t{0} << (from % 64);
    while (bits == 0) {
      if (++w == words_.size()) return kNone;
      bits = words_[w];
    }
    return static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(bits)));
  }

 private:
  std::vector<uint64_t> words_;
  size_t first_ = 0;  // all words before it are empty
};

}  // namespace togsim
#endif
