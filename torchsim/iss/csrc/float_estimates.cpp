// vfrec7 and vfrsqrt7 (RVV 1.0 sections 13.9, 13.10). The tables are the published ones: 7-bit roundings of 1/x and 1/sqrt(x)
// at the middle of each interval.
#include <array>
#include <cmath>

#include "float_ops.hpp"

namespace torchsim::iss {
namespace {

using Table = std::array<u8, 128>;

const Table& rec7_table() {
  static const Table table = [] {
    Table t{};
    for (unsigned i = 0; i < 128; ++i) t[i] = static_cast<u8>(std::lround((2.0 / (1.0 + (i + 0.5) / 128) - 1) * 128));
    return t;
  }();
  return table;
}

// index: lowest exponent bit, then six fraction bits; an even biased exponent means [0.5, 1), odd [1, 2)
const Table& rsqrt7_table() {
  static const Table table = [] {
    Table t{};
    for (unsigned i = 0; i < 128; ++i) {
      const double x = (1.0 + (i % 64 + 0.5) / 64) * (i < 64 ? 0.5 : 1.0);
      t[i] = static_cast<u8>(std::lround(((i < 64 ? 1.0 : 2.0) / std::sqrt(x) - 1) * 128));
    }
    return t;
  }();
  return table;
}

struct Parts {
  i64 exponent;
  u64 fraction;
};

/// Exponent and fraction with the leading one normalised away; subnormals get exponents <= 0.
Parts normalised(Format f, u64 magnitude) {
  Parts p{static_cast<i64>(magnitude >> f.fraction_bits), magnitude & ((u64{1} << f.fraction_bits) - 1)};
  if (p.exponent == 0) {
    while (!(p.fraction >> (f.fraction_bits - 1))) --p.exponent, p.fraction <<= 1;
    p.fraction = (p.fraction << 1) & ((u64{1} << f.fraction_bits) - 1);
  }
  return p;
}

}  // namespace

u64 estimate_rsqrt7(unsigned sew_log, u64 bits) {
  const Format f = Format::of(sew_log);
  const bool sign = bits & f.sign_bit();
  const u64 magnitude = bits & (f.sign_bit() - 1);
  if (magnitude > f.infinity()) return f.canonical_nan();
  if (magnitude == 0) return bits | f.infinity();
  if (sign) return f.canonical_nan();
  if (magnitude == f.infinity()) return 0;
  const Parts p = normalised(f, magnitude);
  const u64 index = (static_cast<u64>(p.exponent) & 1) << 6 | p.fraction >> (f.fraction_bits - 6);
  const u64 exponent = static_cast<u64>((3 * f.bias() - 1 - p.exponent) / 2);
  return exponent << f.fraction_bits | static_cast<u64>(rsqrt7_table()[index]) << (f.fraction_bits - 7);
}

u64 estimate_rec7(unsigned sew_log, u64 bits, Rounding mode) {
  const Format f = Format::of(sew_log);
  const u64 sign = bits & f.sign_bit();
  const u64 magnitude = bits & (f.sign_bit() - 1);
  if (magnitude > f.infinity()) return f.canonical_nan();
  if (magnitude == f.infinity()) return sign;
  if (magnitude == 0) return sign | f.infinity();
  const Parts p = normalised(f, magnitude);
  if (p.exponent < -1) {  // the reciprocal overflows
    const bool finite = mode == Rounding::rtz || (mode == Rounding::rdn && !sign) || (mode == Rounding::rup && sign);
    return sign | (finite ? f.infinity() - 1 : f.infinity());
  }
  u64 fraction = static_cast<u64>(rec7_table()[p.fraction >> (f.fraction_bits - 7)]) << (f.fraction_bits - 7);
  i64 exponent = 2 * f.bias() - 1 - p.exponent;
  if (exponent <= 0) {  // subnormal result
    fraction = fraction >> 1 | u64{1} << (f.fraction_bits - 1);
    if (exponent < 0) fraction >>= 1;
    exponent = 0;
  }
  return sign | static_cast<u64>(exponent) << f.fraction_bits | fraction;
}

}  // namespace torchsim::iss
