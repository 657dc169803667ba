// float16 <-> float32, and float32 to float64. Narrowing follows the host's rounding direction.
#include <cfenv>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "../float_format.hpp"
#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

void f16_to_f32(float* d, const u16* s, std::size_t n) {
  std::size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i))));
#endif
  for (; i < n; ++i) d[i] = static_cast<float>(half_to_double(s[i]));
}

void f16_to_f32_in_place(u32* words, std::size_t n) {
  std::size_t i = 0;
#ifdef __AVX2__
  for (; i + 8 <= n; i += 8) {
    auto* at = reinterpret_cast<__m256i*>(words + i);
    const __m256i low = _mm256_and_si256(_mm256_loadu_si256(at), _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0b1000);
    _mm256_storeu_si256(at, _mm256_castps_si256(_mm256_cvtph_ps(_mm256_castsi256_si128(packed))));
  }
#endif
  for (; i < n; ++i) words[i] = std::bit_cast<u32>(static_cast<float>(half_to_double(static_cast<u16>(words[i]))));
}

void odd_f32(float* down, const float* up, std::size_t n) {
  auto* d = reinterpret_cast<u32*>(down);
  const auto* u = reinterpret_cast<const u32*>(up);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const u32 odd = u32{0} - (d[i] & 1);
    d[i] = (d[i] & odd) | (u[i] & ~odd);
  }
}

void f32_to_f64(double* d, const u64* s, std::size_t n) {
  std::size_t i = 0;
#ifdef __AVX2__
  for (; i + 4 <= n; i += 4) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + i));
    const __m256i low = _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm256_storeu_pd(d + i, _mm256_cvtps_pd(_mm_castsi128_ps(_mm256_castsi256_si128(low))));
  }
#endif
  for (; i < n; ++i) d[i] = static_cast<double>(std::bit_cast<float>(static_cast<u32>(s[i])));
}

void f32_to_f16(u16* d, const float* s, std::size_t n) {
  std::size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    const __m256 x = _mm256_loadu_ps(s + i);
    const __m128i h = _mm256_cvtps_ph(x, _MM_FROUND_CUR_DIRECTION);
    // NaNs keep their payload in the host's conversion; RISC-V's are canonical
    const __m128i magnitude = _mm_and_si128(h, _mm_set1_epi16(0x7fff));
    const __m128i nan = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c00));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d + i), _mm_blendv_epi8(h, _mm_set1_epi16(0x7e00), nan));
  }
#endif
  if (i < n) {
    const Rounding mode = host_rounding(std::fegetround());
    for (; i < n; ++i) d[i] = static_cast<u16>(round_double(Format::half(), static_cast<double>(s[i]), mode));
  }
}

void f32_to_f16_words(u32* d, const float* s, std::size_t n) {
  u16 part[64];
  for (std::size_t i = 0; i < n; i += 64) {
    const std::size_t count = n - i < 64 ? n - i : 64;
    f32_to_f16(part, s + i, count);
    for (std::size_t k = 0; k < count; ++k) d[i + k] = part[k];
  }
}

}  // namespace

void fill_half(KernelTable& table) {
  table.f16_to_f32 = f16_to_f32;
  table.f16_to_f32_in_place = f16_to_f32_in_place;
  table.odd_f32 = odd_f32;
  table.f32_to_f64 = f32_to_f64;
  table.f32_to_f16 = f32_to_f16;
  table.f32_to_f16_words = f32_to_f16_words;
}

}  // namespace torchsim::iss::ISS_VARIANT
