// Functional systolic array (docs/isa.md section 5): weight, input and output queues and the compute step.
#pragma once
#include <vector>

#include "kernels/table.hpp"

namespace torchsim::iss {

class SystolicArray {
 public:
  SystolicArray(unsigned lanes, unsigned queue_rows, const KernelTable& kernels);

  void reset();
  /// Append `rows` rows; row r is lanes floats produced by get(r, out).
  template <class Get>
  void push_weights(std::size_t rows, Get get) {
    for (std::size_t r = 0; r < rows; ++r) get(r, next_weight_row());
  }
  template <class Get>
  void push_inputs(std::size_t rows, Get get) {
    reserve_inputs(rows);
    for (std::size_t r = 0; r < rows; ++r) get(r, inputs_.data() + inputs_used_++ * lanes_);
  }
  /// Consume all queued rows. Returns how many. Traps: queue over- and underflow.
  std::size_t compute();
  /// Oldest result row (lanes floats), removed; traps on underflow when fewer than `needed` rows are left.
  void require_results(std::size_t needed) const;
  const float* pop();
  std::size_t results() const { return result_rows_; }

 private:
  float* next_weight_row();
  void reserve_inputs(std::size_t rows) const;
  void order_weights();

  unsigned lanes_, queue_rows_;
  const KernelTable& kernels_;
  std::vector<float> weights_;  // ring of `lanes` rows, oldest at weight_first_
  std::vector<float> ordered_;  // the same, oldest first
  std::size_t weight_first_ = 0, weight_rows_ = 0;
  bool weights_ordered_ = false;
  std::vector<float> inputs_;  // queue_rows x lanes
  std::size_t inputs_used_ = 0;
  std::vector<float> results_;  // ring of queue_rows x lanes
  std::size_t result_first_ = 0, result_rows_ = 0;
  std::vector<float> staging_;
};

}  // namespace torchsim::iss
