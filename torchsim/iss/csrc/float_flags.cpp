#include "float_flags.hpp"

#include <cmath>

#include "exact_float.hpp"
#include "float_ops.hpp"

namespace torchsim::iss {
namespace {

u64 magnitude_of(unsigned sew_log, u64 bits) { return bits & (Format::of(sew_log).sign_bit() - 1); }
bool is_nan(unsigned sew_log, u64 bits) { return magnitude_of(sew_log, bits) > Format::of(sew_log).infinity(); }
u8 invalid_if(bool bad) { return bad ? kInvalid : 0; }

}  // namespace

bool is_signaling(unsigned sew_log, u64 bits) {
  return is_nan(sew_log, bits) && !(bits & u64{1} << (Format::of(sew_log).fraction_bits - 1));
}

u8 flags_of_binary(Bin op, unsigned sew_log, u64 a, u64 b, Rounding mode) {
  const bool signaling = is_signaling(sew_log, a) || is_signaling(sew_log, b);
  switch (op) {
    case Bin::fmin:
    case Bin::fmax:
    case Bin::feq:
    case Bin::fne:
      return invalid_if(signaling);
    case Bin::flt:
    case Bin::fle:
    case Bin::fgt:
    case Bin::fge:
      return invalid_if(is_nan(sew_log, a) || is_nan(sew_log, b));
    default: {
      u8 flags = 0;
      exact_binary(op, sew_log, a, b, mode, &flags);
      return flags;
    }
  }
}

u8 flags_of_ternary(Tern op, unsigned sew_log, u64 d, u64 a, u64 b, Rounding mode) {
  u8 flags = 0;
  exact_ternary(op, sew_log, d, a, b, mode, &flags);
  return flags;
}

u8 flags_of_square_root(unsigned sew_log, u64 a) {
  const Format f = Format::of(sew_log);
  const u64 magnitude = magnitude_of(sew_log, a);
  if (magnitude > f.infinity()) return invalid_if(is_signaling(sew_log, a));
  if (magnitude == 0) return 0;
  if (a & f.sign_bit()) return kInvalid;
  if (magnitude == f.infinity()) return 0;
  const int biased = static_cast<int>(magnitude >> f.fraction_bits);
  u64 odd_part = (magnitude & ((u64{1} << f.fraction_bits) - 1)) | (biased ? u64{1} << f.fraction_bits : 0);
  const int zeros = std::countr_zero(odd_part);
  odd_part >>= zeros;
  const int exponent = (biased ? biased : 1) - f.bias() - static_cast<int>(f.fraction_bits) + zeros;
  if (exponent & 1) return kInexact;  // an odd number times an odd power of two is no square
  const auto root = static_cast<u64>(std::llround(std::sqrt(static_cast<double>(odd_part))));
  return root * root == odd_part ? 0 : kInexact;
}

u8 flags_of_rsqrt7(unsigned sew_log, u64 a) {
  const u64 magnitude = magnitude_of(sew_log, a);
  if (is_nan(sew_log, a)) return invalid_if(is_signaling(sew_log, a));
  if (magnitude == 0) return kDivideByZero;
  return invalid_if(a & Format::of(sew_log).sign_bit());
}

u8 flags_of_rec7(unsigned sew_log, u64 a) {
  const Format f = Format::of(sew_log);
  const u64 magnitude = magnitude_of(sew_log, a);
  if (magnitude > f.infinity()) return invalid_if(is_signaling(sew_log, a));
  if (magnitude == 0) return kDivideByZero;
  return magnitude < u64{1} << (f.fraction_bits - 2) ? kOverflow | kInexact : 0;
}

u8 flags_of_to_integer(unsigned sew_log, u64 a, unsigned bits, bool is_signed, Rounding mode) {
  if (magnitude_of(sew_log, a) >= Format::of(sew_log).infinity()) return kInvalid;
  const double value = to_double(sew_log, a);
  double rounded;
  switch (mode) {
    case Rounding::rtz:
      rounded = std::trunc(value);
      break;
    case Rounding::rdn:
      rounded = std::floor(value);
      break;
    case Rounding::rup:
      rounded = std::ceil(value);
      break;
    case Rounding::rmm:
      rounded = std::round(value);
      break;
    default:
      rounded = std::nearbyint(value);
      break;
  }
  const double above = std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits));
  if (rounded >= above || rounded < (is_signed ? -above : 0.0)) return kInvalid;
  return rounded == value ? 0 : kInexact;
}

u8 flags_of_from_integer(unsigned sew_log, u64 value, bool is_signed, Rounding mode) {
  u8 flags = 0;
  const bool sign = is_signed && static_cast<i64>(value) < 0;
  round_pack(Format::of(sew_log), sign, 0, sign ? u64{0} - value : value, false, mode, &flags);
  return flags;
}

u8 flags_of_convert(unsigned from_log, unsigned to_log, u64 a, Rounding mode) {
  if (is_nan(from_log, a)) return invalid_if(is_signaling(from_log, a));
  u8 flags = 0;
  round_double(Format::of(to_log), to_double(from_log, a), mode, &flags);
  return flags;
}

}  // namespace torchsim::iss
