#include "array.h"

#include <softfloat/softfloat.h>

#include <bit>
#include <cmath>
#include <limits>

namespace npu {
namespace {

// sums += factor * weights, each fused; the clone for processors with the instruction saves a library call an element.
#ifdef __x86_64__
__attribute__((target_clones("fma", "default")))
#endif
void add_product(float* sums, float factor, const float* weights, unsigned lanes) {
  for (unsigned lane = 0; lane < lanes; ++lane) sums[lane] = __builtin_fmaf(factor, weights[lane], sums[lane]);
}

}  // namespace

void Array::reset() {
  weights_.clear();
  inputs_.clear();
  results_.clear();
}

void Array::push_weights(Row row) {
  weights_.push_back(std::move(row));
  if (weights_.size() > lanes_) weights_.pop_front();
}

void Array::push_input(Row row) {
  if (inputs_.size() == queue_rows_) throw Fault{"sa_queue_overflow", inputs_.size()};
  inputs_.push_back(std::move(row));
}

void Array::compute() {
  if (weights_.size() != lanes_) throw Fault{"sa_queue_underflow", weights_.size()};
  for (; !inputs_.empty(); inputs_.pop_front()) {
    if (results_.size() == queue_rows_) throw Fault{"sa_queue_overflow", results_.size()};
    Row sums(lanes_, 0.0f);
    for (unsigned k = 0; k < lanes_; ++k) add_product(sums.data(), inputs_.front()[k], weights_[k].data(), lanes_);
    for (float& sum : sums)
      if (std::isnan(sum)) sum = std::numeric_limits<float>::quiet_NaN();
    results_.push_back(std::move(sums));
  }
}

void Array::require_results(uint64_t rows) const {
  if (results_.size() < rows) throw Fault{"sa_queue_underflow", results_.size()};
}

Row Array::pop() {
  Row row = std::move(results_.front());
  results_.pop_front();
  return row;
}

uint32_t special_f32(Function function, uint32_t bits) {
  const auto result = static_cast<float>(function(std::bit_cast<float>(bits)));
  return std::bit_cast<uint32_t>(std::isnan(result) ? std::numeric_limits<float>::quiet_NaN() : result);
}

uint64_t special_f64(Function function, uint64_t bits) {
  const double result = function(std::bit_cast<double>(bits));
  return std::bit_cast<uint64_t>(std::isnan(result) ? std::numeric_limits<double>::quiet_NaN() : result);
}

uint16_t special_f16(Function function, uint16_t bits) {
  const auto mode = softfloat_roundingMode;
  const auto flags = softfloat_exceptionFlags;
  softfloat_roundingMode = softfloat_round_near_even;
  const uint32_t result = special_f32(function, f16_to_f32(float16_t{bits}).v);
  const uint16_t rounded = f32_to_f16(float32_t{result}).v;
  softfloat_roundingMode = mode;  // special functions leave frm and fflags alone
  softfloat_exceptionFlags = flags;
  return rounded;
}

}  // namespace npu
