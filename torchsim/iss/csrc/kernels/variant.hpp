// Shared by the files that are compiled once per host instruction set. ISS_VARIANT is the namespace of the variant.
#pragma once
#include <bit>
#include <limits>
#include <type_traits>

#include "table.hpp"

#ifndef ISS_VARIANT
#error "compile with -DISS_VARIANT=<name>"
#endif

namespace torchsim::iss::ISS_VARIANT {

void fill_integer(KernelTable& table);
void fill_fixed_point(KernelTable& table);
void fill_float(KernelTable& table);
void fill_planes(KernelTable& table);
void fill_half(KernelTable& table);
void fill_systolic(KernelTable& table);

/// Element loop. Destination and sources are either the same array or disjoint, so iterations are independent.
template <class T, class R, class F>
inline void map2(void* d, const void* a, const void* b, std::size_t n, bool scalar_b, F f) {
  auto* dp = static_cast<R*>(d);
  const auto* ap = static_cast<const T*>(a);
  const auto* bp = static_cast<const T*>(b);
  if (scalar_b) {
    const T s = *bp;
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) dp[i] = f(ap[i], s);
  } else {
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) dp[i] = f(ap[i], bp[i]);
  }
}

template <class T>
using Signed = std::make_signed_t<T>;

/// Canonical NaN of a format.
template <class F>
inline F canonical_nan() {
  if constexpr (sizeof(F) == 4)
    return std::bit_cast<F>(u32{0x7fc0'0000});
  else
    return std::bit_cast<F>(u64{0x7ff8'0000'0000'0000});
}

template <class F>
inline F canonical(F value) {
  return value != value ? canonical_nan<F>() : value;
}

}  // namespace torchsim::iss::ISS_VARIANT
