#include "systolic_array.hpp"

#include <algorithm>

#include "trap.hpp"

namespace torchsim::iss {

SystolicArray::SystolicArray(unsigned lanes, unsigned queue_rows, const KernelTable& kernels)
    : lanes_(lanes),
      queue_rows_(queue_rows),
      kernels_(kernels),
      weights_(std::size_t{lanes} * lanes),
      ordered_(std::size_t{lanes} * lanes),
      inputs_(std::size_t{queue_rows} * lanes),
      results_(std::size_t{queue_rows} * lanes),
      staging_(std::size_t{queue_rows} * lanes) {}

void SystolicArray::reset() {
  weight_first_ = weight_rows_ = inputs_used_ = result_first_ = result_rows_ = 0;
  weights_ordered_ = false;
}

float* SystolicArray::next_weight_row() {
  weights_ordered_ = false;
  if (weight_rows_ < lanes_) return weights_.data() + (weight_first_ + weight_rows_++) % lanes_ * lanes_;
  float* oldest = weights_.data() + weight_first_ * lanes_;  // falls out
  weight_first_ = (weight_first_ + 1) % lanes_;
  return oldest;
}

void SystolicArray::reserve_inputs(std::size_t rows) const {
  if (inputs_used_ + rows > queue_rows_)
    raise(Cause::sa_queue_overflow, "input push of %zu rows onto %zu; the queue holds %u", rows, inputs_used_, queue_rows_);
}

void SystolicArray::order_weights() {
  if (weights_ordered_) return;
  const auto middle = weights_.begin() + static_cast<std::ptrdiff_t>(weight_first_ * lanes_);
  std::rotate_copy(weights_.begin(), middle, weights_.end(), ordered_.begin());
  weights_ordered_ = true;
}

std::size_t SystolicArray::compute() {
  if (weight_rows_ != lanes_)
    raise(Cause::sa_queue_underflow, "compute with %zu weights in every lane; %u are needed", weight_rows_, lanes_);
  if (result_rows_ + inputs_used_ > queue_rows_)
    raise(Cause::sa_queue_overflow, "compute of %zu rows onto %zu results; the queue holds %u", inputs_used_, result_rows_, queue_rows_);
  order_weights();
  kernels_.systolic(staging_.data(), inputs_.data(), ordered_.data(), inputs_used_, lanes_);
  for (std::size_t r = 0; r < inputs_used_; ++r) {
    const std::size_t slot = (result_first_ + result_rows_++) % queue_rows_;
    std::copy_n(staging_.data() + r * lanes_, lanes_, results_.data() + slot * lanes_);
  }
  const std::size_t rows = inputs_used_;
  inputs_used_ = 0;
  return rows;
}

void SystolicArray::require_results(std::size_t needed) const {
  if (result_rows_ < needed) raise(Cause::sa_queue_underflow, "pop of %zu results; the queue holds %zu", needed, result_rows_);
}

const float* SystolicArray::pop() {
  const float* row = results_.data() + result_first_ * lanes_;
  result_first_ = (result_first_ + 1) % queue_rows_;
  --result_rows_;
  return row;
}

}  // namespace torchsim::iss
