// A set of at most 64 * W numbers, searched in round-robin order.
#ifndef TOGSIM_QUEUE_MASK_H
#define TOGSIM_QUEUE_MASK_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace togsim {

// First set bit at or after `from`, else the first one; there is one.
inline uint32_t round_robin(uint64_t mask, uint32_t from) {
  const uint64_t high = mask & (~uint64_t{0} << from);
  return static_cast<uint32_t>(std::countr_zero(high != 0 ? high : mask));
}

template <uint32_t W>
class QueueMask {
 public:
  void set(uint32_t n) { words_[word(n)] |= bit(n); }
  void reset(uint32_t n) { words_[word(n)] &= ~bit(n); }
  bool any() const {
    uint64_t bits = 0;
    for (const uint64_t w : words_) bits |= w;
    return bits != 0;
  }
  // First member at or after `from`, cyclically; there is one.
  uint32_t next(uint32_t from) const {
    if constexpr (W == 1) {
      return round_robin(words_[0], from);
    } else {
      uint32_t w = word(from);
      uint64_t bits = words_[w] & (~uint64_t{0} << (from % 64));
      while (bits == 0) {
        w = w + 1 == W ? 0 : w + 1;
        bits = words_[w];
      }
      return w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  // Members first .. first + count - 1, from bit 0 on; they lie in one word.
  uint64_t few(uint32_t first, uint32_t count) const { return (words_[word(first)] >> (first % 64)) & ((uint64_t{1} << count) - 1); }

 private:
  static constexpr size_t word(uint32_t n) { return W == 1 ? 0 : n / 64; }
  static constexpr uint64_t bit(uint32_t n) { return uint64_t{1} << (n % 64); }
  std::array<uint64_t, W> words_{};
};

}  // namespace togsim
#endif
