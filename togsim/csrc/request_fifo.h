// First in, first out; a ring that grows.
#ifndef TOGSIM_REQUEST_FIFO_H
#define TOGSIM_REQUEST_FIFO_H

#include <cstddef>
#include <vector>

namespace togsim {

template <typename T>
class RequestFifo {
 public:
  bool empty() const { return count_ == 0; }
  const T& front() const { return ring_[first_]; }
  void pop() {
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
  }
  void push(const T& value) {
    if (count_ == ring_.size()) grow();
    ring_[(first_ + count_) & (ring_.size() - 1)] = value;
    ++count_;
  }

 private:
  void grow() {
    std::vector<T> larger(2 * ring_.size());
    for (size_t i = 0; i < count_; ++i) larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
    ring_.swap(larger);
    first_ = 0;
  }

  std::vector<T> ring_ = std::vector<T>(64);  // the size stays a power of two
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace togsim
#endif
