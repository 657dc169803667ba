// A few floating-point numbers side by side: One<F> holds a single one, Pack<F> as many as a host register has room for. The same
// source of an operation serves both. Explicit, because -frounding-math (which the rounding modes need) makes GCC leave fma, sqrt
// and comparisons of a loop scalar.
#pragma once
#include <cmath>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {

template <class F>
struct One {
  using Element = F;
  using B = std::conditional_t<sizeof(F) == 4, u32, u64>;
  static constexpr std::size_t width = 1;
  static constexpr B sign_bit = B(1) << (sizeof(F) * 8 - 1);
  F v;

  static One load(const F* from) { return {*from}; }
  static One all(F value) { return {value}; }
  void store(F* to) const { *to = v; }
  static B bits(One a) { return std::bit_cast<B>(a.v); }
  static One from(B value) { return {std::bit_cast<F>(value)}; }
  static One truth(bool value) { return from(B(0) - B(value)); }

  friend One operator+(One a, One b) { return {a.v + b.v}; }
  friend One operator-(One a, One b) { return {a.v - b.v}; }
  friend One operator*(One a, One b) { return {a.v * b.v}; }
  friend One operator/(One a, One b) { return {a.v / b.v}; }
  friend One operator&(One a, One b) { return from(bits(a) & bits(b)); }
  friend One operator|(One a, One b) { return from(bits(a) | bits(b)); }
  friend One operator-(One a) { return from(bits(a) ^ sign_bit); }
  /// Comparisons: all ones or zero; only not_equal is true of NaN.
  friend One equal(One a, One b) { return truth(a.v == b.v); }
  friend One not_equal(One a, One b) { return truth(a.v != b.v); }
  friend One less(One a, One b) { return truth(a.v < b.v); }
  friend One less_equal(One a, One b) { return truth(a.v <= b.v); }
  friend One select(One mask, One a, One b) { return bits(mask) ? a : b; }
  friend One fused(One a, One b, One c) { return {std::fma(a.v, b.v, c.v)}; }
  friend One root(One a) { return {std::sqrt(a.v)}; }
};

#ifdef __AVX2__
struct Floats {
  using Element = float;
  static constexpr std::size_t width = 8;
  __m256 v;

  static Floats load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static Floats all(float value) { return {_mm256_set1_ps(value)}; }
  void store(float* to) const { _mm256_storeu_ps(to, v); }

  friend Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
  friend Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
  friend Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
  friend Floats operator/(Floats a, Floats b) { return {_mm256_div_ps(a.v, b.v)}; }
  friend Floats operator&(Floats a, Floats b) { return {_mm256_and_ps(a.v, b.v)}; }
  friend Floats operator|(Floats a, Floats b) { return {_mm256_or_ps(a.v, b.v)}; }
  friend Floats operator-(Floats a) { return {_mm256_xor_ps(a.v, _mm256_set1_ps(-0.0f))}; }
  friend Floats equal(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
  friend Floats not_equal(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_NEQ_UQ)}; }
  friend Floats less(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
  friend Floats less_equal(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)}; }
  friend Floats select(Floats mask, Floats a, Floats b) { return {_mm256_blendv_ps(b.v, a.v, mask.v)}; }
  friend Floats fused(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  friend Floats root(Floats a) { return {_mm256_sqrt_ps(a.v)}; }
};

struct Doubles {
  using Element = double;
  static constexpr std::size_t width = 4;
  __m256d v;

  static Doubles load(const double* from) { return {_mm256_loadu_pd(from)}; }
  static Doubles all(double value) { return {_mm256_set1_pd(value)}; }
  void store(double* to) const { _mm256_storeu_pd(to, v); }

  friend Doubles operator+(Doubles a, Doubles b) { return {_mm256_add_pd(a.v, b.v)}; }
  friend Doubles operator-(Doubles a, Doubles b) { return {_mm256_sub_pd(a.v, b.v)}; }
  friend Doubles operator*(Doubles a, Doubles b) { return {_mm256_mul_pd(a.v, b.v)}; }
  friend Doubles operator/(Doubles a, Doubles b) { return {_mm256_div_pd(a.v, b.v)}; }
  friend Doubles operator&(Doubles a, Doubles b) { return {_mm256_and_pd(a.v, b.v)}; }
  friend Doubles operator|(Doubles a, Doubles b) { return {_mm256_or_pd(a.v, b.v)}; }
  friend Doubles operator-(Doubles a) { return {_mm256_xor_pd(a.v, _mm256_set1_pd(-0.0))}; }
  friend Doubles equal(Doubles a, Doubles b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_EQ_OQ)}; }
  friend Doubles not_equal(Doubles a, Doubles b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_NEQ_UQ)}; }
  friend Doubles less(Doubles a, Doubles b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)}; }
  friend Doubles less_equal(Doubles a, Doubles b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)}; }
  friend Doubles select(Doubles mask, Doubles a, Doubles b) { return {_mm256_blendv_pd(b.v, a.v, mask.v)}; }
  friend Doubles fused(Doubles a, Doubles b, Doubles c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
  friend Doubles root(Doubles a) { return {_mm256_sqrt_pd(a.v)}; }
};

template <class F>
using Pack = std::conditional_t<sizeof(F) == 4, Floats, Doubles>;
#else
template <class F>
using Pack = One<F>;
#endif

template <class P>
  requires requires { P::width; }
inline P canonical(P value) {
  return select(not_equal(value, value), P::all(canonical_nan<typename P::Element>()), value);
}

}  // namespace torchsim::iss::ISS_VARIANT
