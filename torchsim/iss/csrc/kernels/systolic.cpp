// Weight-stationary array: out[r][j] = fma chain over k ascending of x[r][k] * w[k][j].
#include <cmath>

#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

// Block of Rows rows by Columns lanes: accumulators stay in host registers over the whole chain.
template <unsigned Rows, unsigned Columns>
void block(float* out, const float* x, const float* w, unsigned lanes) {
  float acc[Rows][Columns] = {};
  for (unsigned k = 0; k < lanes; ++k) {
    const float* wk = w + std::size_t(k) * lanes;
    for (unsigned r = 0; r < Rows; ++r) {
      const float s = x[std::size_t(r) * lanes + k];
      for (unsigned j = 0; j < Columns; ++j) acc[r][j] = std::fma(s, wk[j], acc[r][j]);
    }
  }
  for (unsigned r = 0; r < Rows; ++r)
    for (unsigned j = 0; j < Columns; ++j) out[std::size_t(r) * lanes + j] = canonical(acc[r][j]);
}

template <unsigned Columns>
void columns(float* out, const float* x, const float* w, std::size_t rows, unsigned lanes) {
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) block<4, Columns>(out + r * lanes, x + r * lanes, w, lanes);
  for (; r < rows; ++r) block<1, Columns>(out + r * lanes, x + r * lanes, w, lanes);
}

void systolic(float* out, const float* x, const float* w, std::size_t rows, unsigned lanes) {
  unsigned j = 0;
  for (; j + 16 <= lanes; j += 16) columns<16>(out + j, x, w + j, rows, lanes);
  for (; j + 8 <= lanes; j += 8) columns<8>(out + j, x, w + j, rows, lanes);
  for (; j < lanes; ++j) columns<1>(out + j, x, w + j, rows, lanes);
}

}  // namespace

void fill_systolic(KernelTable& table) { table.systolic = systolic; }

}  // namespace torchsim::iss::ISS_VARIANT
