// First in, first out; a ring that grows.
#ifndef TOGSIM_REQUEST_FIFO_H
#define TOGSIM_REQUEST_FIFO_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace togsim {

template <typename T>
class RequestFifo {
 public:
  bool empty() const { return first_ == end_; }
  const T& front() const { return ring_[first_ & mask_]; }
  void pop() { ++first_; }
  void push(const T& value) {
    make_room();
    push_with_room(value);
  }
  // The two halves of push(), for a caller that has something to compute in between.
  void make_room() {
    if (end_ - first_ > mask_) grow();
  }
  void push_with_room(const T& value) { ring_[end_++ & mask_] = value; }

 private:
  [[gnu::cold]] void grow() {
    auto larger = std::make_unique<T[]>(2 * (size_t{mask_} + 1));
    for (uint32_t i = first_; i != end_; ++i) larger[i - first_] = ring_[i & mask_];
    ring_ = std::move(larger);
    mask_ = 2 * mask_ + 1;
    end_ -= first_;
    first_ = 0;
  }

  static constexpr uint32_t kLeast = 64;
  std::unique_ptr<T[]> ring_ = std::make_unique<T[]>(kLeast);  // the size stays a power of two
  uint32_t mask_ = kLeast - 1;
  uint32_t first_ = 0;  // both count on and on, and around
  uint32_t end_ = 0;
};

}  // namespace togsim
#endif
