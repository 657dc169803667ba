// First in, first out; a ring that grows.
#ifndef TOGSIM_REQUEST_FIFO_H
#define TOGSIM_REQUEST_FIFO_H

#include <cstddef>
#include <vector>

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
    std::vector<T> larger(2 * ring_.size());
    for (size_t i = first_; i != end_; ++i) larger[i - first_] = ring_[i & mask_];
    ring_.swap(larger);
    mask_ = ring_.size() - 1;
    end_ -= first_;
    first_ = 0;
  }

  static constexpr size_t kLeast = 64;
  std::vector<T> ring_ = std::vector<T>(kLeast);  // the size stays a power of two
  size_t mask_ = kLeast - 1;
  size_t first_ = 0;  // both count on and on
  size_t end_ = 0;
};

}  // namespace togsim
#endif
