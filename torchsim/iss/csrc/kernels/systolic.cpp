// Weight-stationary array: out[r][j] = fma chain over k ascending of x[r][k] * w[k][j].
#include <cmath>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

/// Any shape, one result at a time.
void scalar_columns(float* out, const float* x, const float* w, std::size_t rows, unsigned lanes, unsigned first) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (unsigned j = first; j < lanes; ++j) {
      float acc = 0;
      for (unsigned k = 0; k < lanes; ++k) acc = std::fma(x[r * lanes + k], w[std::size_t{k} * lanes + j], acc);
      out[r * lanes + j] = canonical(acc);
    }
  }
}

#ifdef __AVX2__
__m256 canonical(__m256 value) {
  return _mm256_blendv_ps(value, _mm256_set1_ps(canonical_nan<float>()), _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

/// Rows x 8 * Vectors results: the accumulators stay in host registers over the whole chain.
template <unsigned Rows, unsigned Vectors>
void block(float* out, const float* x, const float* w, unsigned lanes) {
  __m256 acc[Rows][Vectors];
  for (auto& row : acc) {
    for (__m256& one : row) one = _mm256_setzero_ps();
  }
  for (unsigned k = 0; k < lanes; ++k) {
    const float* wk = w + std::size_t{k} * lanes;
    __m256 weights[Vectors];
    for (unsigned v = 0; v < Vectors; ++v) weights[v] = _mm256_loadu_ps(wk + 8 * v);
    for (unsigned r = 0; r < Rows; ++r) {
      const __m256 s = _mm256_broadcast_ss(x + std::size_t{r} * lanes + k);
      for (unsigned v = 0; v < Vectors; ++v) acc[r][v] = _mm256_fmadd_ps(s, weights[v], acc[r][v]);
    }
  }
  for (unsigned r = 0; r < Rows; ++r) {
    for (unsigned v = 0; v < Vectors; ++v) _mm256_storeu_ps(out + std::size_t{r} * lanes + 8 * v, canonical(acc[r][v]));
  }
}

template <unsigned Vectors>
void columns(float* out, const float* x, const float* w, std::size_t rows, unsigned lanes) {
  std::size_t r = 0;
  for (; r + 6 <= rows; r += 6) block<6, Vectors>(out + r * lanes, x + r * lanes, w, lanes);
  for (; r + 2 <= rows; r += 2) block<2, Vectors>(out + r * lanes, x + r * lanes, w, lanes);
  for (; r < rows; ++r) block<1, Vectors>(out + r * lanes, x + r * lanes, w, lanes);
}

void systolic(float* out, const float* x, const float* w, std::size_t rows, unsigned lanes) {
  unsigned j = 0;
  for (; j + 16 <= lanes; j += 16) columns<2>(out + j, x, w + j, rows, lanes);
  for (; j + 8 <= lanes; j += 8) columns<1>(out + j, x, w + j, rows, lanes);
  scalar_columns(out, x, w, rows, lanes, j);
}
#else
void systolic(float* out, const float* x, const float* w, std::size_t rows, unsigned lanes) { scalar_columns(out, x, w, rows, lanes, 0); }
#endif

}  // namespace

void fill_systolic(KernelTable& table) { table.systolic = systolic; }

}  // namespace torchsim::iss::ISS_VARIANT
