// Systolic array and special functions (docs/isa.md section 5), on rows of one f32 a lane.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "dma.h"

namespace npu {

using Row = std::vector<float>;  // element of lane 0, 1, ..

class Array {
 public:
  Array(unsigned lanes, uint64_t queue_rows) : lanes_(lanes), queue_rows_(queue_rows) {}

  void reset();
  void push_weights(Row row);  // weight k of every lane; the oldest row falls out when more than L are held
  void push_input(Row row);    // column k of X comes from lane k
  void compute();
  void require_results(uint64_t rows) const;
  Row pop();

 private:
  unsigned lanes_;
  uint64_t queue_rows_;
  std::deque<Row> weights_, inputs_, results_;
};

// Special functions, named as in the instruction table.
using Function = double (*)(double);
uint16_t special_f16(Function function, uint16_t bits);
uint32_t special_f32(Function function, uint32_t bits);
uint64_t special_f64(Function function, uint64_t bits);

}  // namespace npu
