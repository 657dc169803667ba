#include "exact_float.hpp"

#include <algorithm>

namespace torchsim::iss {
namespace {

using u128 = unsigned __int128;

enum class Kind { nan, infinite, zero, finite };

/// (-1)^sign * significand * 2^exponent
struct Value {
  Kind kind;
  bool sign;
  int exponent;
  u64 significand;
};

Value unpack(Format f, u64 bits) {
  const bool sign = bits & f.sign_bit();
  const u64 fraction = bits & ((u64{1} << f.fraction_bits) - 1);
  const int biased = static_cast<int>((bits & ~f.sign_bit()) >> f.fraction_bits);
  const int lowest = 1 - f.bias() - static_cast<int>(f.fraction_bits);
  if (biased == (1 << f.exponent_bits) - 1) return {fraction ? Kind::nan : Kind::infinite, sign, 0, 0};
  if (biased == 0) return {fraction ? Kind::finite : Kind::zero, sign, lowest, fraction};
  return {Kind::finite, sign, lowest + biased - 1, fraction | u64{1} << f.fraction_bits};
}

bool signaling(Format f, u64 bits) { return (bits & (f.sign_bit() - 1)) > f.infinity() && !(bits & u64{1} << (f.fraction_bits - 1)); }

/// The canonical NaN; `bad` says whether the operation was invalid.
u64 nan_result(Format f, bool bad, u8* flags) {
  if (bad && flags) *flags |= kInvalid;
  return f.canonical_nan();
}

u64 signed_zero(Format f, bool sign) { return sign ? f.sign_bit() : 0; }
u64 signed_infinity(Format f, bool sign) { return signed_zero(f, sign) | f.infinity(); }

int top_bit(u128 value) {
  const u64 high = static_cast<u64>(value >> 64);
  return high ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<u64>(value));
}

/// Shift right, or-ing what falls out into bit 0.
u128 shift_sticky(u128 value, int amount) {
  if (amount <= 0) return value << -amount;
  if (amount > 127) return value != 0;
  return value >> amount | ((value & ((u128{1} << amount) - 1)) != 0);
}

u64 round128(Format f, bool sign, int exponent, u128 significand, Rounding mode, u8* flags) {
  const int down = std::max(0, top_bit(significand) - 62);
  const u128 kept = shift_sticky(significand, down);
  return round_pack(f, sign, exponent + down, static_cast<u64>(kept), false, mode,
                    flags);  // the sticky bit is far below the rounding position
}

/// Exact sum of two finite non-zero numbers of at most 106 significant bits, to 120 bits and sticky, rounded.
u64 add_magnitudes(Format f, bool a_sign, int a_exponent, u128 a, bool b_sign, int b_exponent, u128 b, Rounding mode, u8* flags) {
  // put the larger one's top bit at 120, so that a carry fits
  if (top_bit(a) + a_exponent < top_bit(b) + b_exponent) {
    std::swap(a, b);
    std::swap(a_exponent, b_exponent);
    std::swap(a_sign, b_sign);
  }
  const int up = 120 - top_bit(a);
  a <<= up;
  a_exponent -= up;
  b = shift_sticky(b, a_exponent - b_exponent);
  if (a_sign == b_sign) return round128(f, a_sign, a_exponent, a + b, mode, flags);
  if (a == b) return signed_zero(f, mode == Rounding::rdn);
  return a > b ? round128(f, a_sign, a_exponent, a - b, mode, flags) : round128(f, b_sign, a_exponent, b - a, mode, flags);
}

u64 add(Format f, u64 a_bits, u64 b_bits, Rounding mode, u8* flags) {
  const Value a = unpack(f, a_bits), b = unpack(f, b_bits);
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_result(f, signaling(f, a_bits) || signaling(f, b_bits), flags);
  if (a.kind == Kind::infinite) return b.kind == Kind::infinite && a.sign != b.sign ? nan_result(f, true, flags) : a_bits;
  if (b.kind == Kind::infinite) return b_bits;
  if (a.kind == Kind::zero && b.kind == Kind::zero) return a.sign == b.sign ? a_bits : signed_zero(f, mode == Rounding::rdn);
  if (a.kind == Kind::zero) return b_bits;
  if (b.kind == Kind::zero) return a_bits;
  return add_magnitudes(f, a.sign, a.exponent, a.significand, b.sign, b.exponent, b.significand, mode, flags);
}

u64 multiply(Format f, u64 a_bits, u64 b_bits, Rounding mode, u8* flags) {
  const Value a = unpack(f, a_bits), b = unpack(f, b_bits);
  const bool sign = a.sign != b.sign;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_result(f, signaling(f, a_bits) || signaling(f, b_bits), flags);
  if (a.kind == Kind::infinite || b.kind == Kind::infinite)
    return a.kind == Kind::zero || b.kind == Kind::zero ? nan_result(f, true, flags) : signed_infinity(f, sign);
  if (a.kind == Kind::zero || b.kind == Kind::zero) return signed_zero(f, sign);
  return round128(f, sign, a.exponent + b.exponent, static_cast<u128>(a.significand) * b.significand, mode, flags);
}

u64 divide(Format f, u64 a_bits, u64 b_bits, Rounding mode, u8* flags) {
  const Value a = unpack(f, a_bits), b = unpack(f, b_bits);
  const bool sign = a.sign != b.sign;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return nan_result(f, signaling(f, a_bits) || signaling(f, b_bits), flags);
  if (a.kind == Kind::infinite) return b.kind == Kind::infinite ? nan_result(f, true, flags) : signed_infinity(f, sign);
  if (b.kind == Kind::infinite) return signed_zero(f, sign);
  if (b.kind == Kind::zero) {
    if (a.kind == Kind::zero) return nan_result(f, true, flags);
    if (flags) *flags |= kDivideByZero;
    return signed_infinity(f, sign);
  }
  if (a.kind == Kind::zero) return signed_zero(f, sign);
  const int up = 126 - top_bit(a.significand);
  const u128 numerator = static_cast<u128>(a.significand) << up;
  const u128 quotient = numerator / b.significand;
  return round128(f, sign, a.exponent - up - b.exponent, quotient | (numerator % b.significand != 0), mode, flags);
}

}  // namespace

u64 exact_binary(Bin op, unsigned sew_log, u64 a, u64 b, Rounding mode, u8* flags) {
  const Format f = Format::of(sew_log);
  switch (op) {
    case Bin::fadd:
      return add(f, a, b, mode, flags);
    case Bin::fsub:
      return add(f, a, b ^ f.sign_bit(), mode, flags);
    case Bin::frsub:
      return add(f, b, a ^ f.sign_bit(), mode, flags);
    case Bin::fmul:
      return multiply(f, a, b, mode, flags);
    case Bin::fdiv:
      return divide(f, a, b, mode, flags);
    default:
      return divide(f, b, a, mode, flags);  // frdiv
  }
}

u64 exact_fma(unsigned sew_log, u64 a_bits, u64 b_bits, u64 c_bits, Rounding mode, u8* flags) {
  const Format f = Format::of(sew_log);
  const Value a = unpack(f, a_bits), b = unpack(f, b_bits), c = unpack(f, c_bits);
  const bool sign = a.sign != b.sign;
  const bool infinity_times_zero = (a.kind == Kind::infinite && b.kind == Kind::zero) || (a.kind == Kind::zero && b.kind == Kind::infinite);
  if (a.kind == Kind::nan || b.kind == Kind::nan || c.kind == Kind::nan || infinity_times_zero)  // invalid even if c is a quiet NaN
    return nan_result(f, infinity_times_zero || signaling(f, a_bits) || signaling(f, b_bits) || signaling(f, c_bits), flags);
  if (a.kind == Kind::infinite || b.kind == Kind::infinite)
    return c.kind == Kind::infinite && c.sign != sign ? nan_result(f, true, flags) : signed_infinity(f, sign);
  if (c.kind == Kind::infinite) return c_bits;
  const bool zero_product = a.kind == Kind::zero || b.kind == Kind::zero;
  if (zero_product && c.kind == Kind::zero) return sign == c.sign ? signed_zero(f, sign) : signed_zero(f, mode == Rounding::rdn);
  if (zero_product) return c_bits;
  const u128 product = static_cast<u128>(a.significand) * b.significand;
  if (c.kind == Kind::zero) return round128(f, sign, a.exponent + b.exponent, product, mode, flags);
  return add_magnitudes(f, sign, a.exponent + b.exponent, product, c.sign, c.exponent, c.significand, mode, flags);
}

u64 exact_ternary(Tern op, unsigned sew_log, u64 d, u64 a, u64 b, Rounding mode, u8* flags) {
  const u64 sign = Format::of(sew_log).sign_bit();
  switch (op) {
    case Tern::fmacc:
      return exact_fma(sew_log, a, b, d, mode, flags);
    case Tern::fnmacc:
      return exact_fma(sew_log, a ^ sign, b, d ^ sign, mode, flags);
    case Tern::fmsac:
      return exact_fma(sew_log, a, b, d ^ sign, mode, flags);
    case Tern::fnmsac:
      return exact_fma(sew_log, a ^ sign, b, d, mode, flags);
    case Tern::fmadd:
      return exact_fma(sew_log, a, d, b, mode, flags);
    case Tern::fnmadd:
      return exact_fma(sew_log, a ^ sign, d, b ^ sign, mode, flags);
    case Tern::fmsub:
      return exact_fma(sew_log, a, d, b ^ sign, mode, flags);
    default:
      return exact_fma(sew_log, a ^ sign, d, b, mode, flags);  // fnmsub
  }
}

}  // namespace torchsim::iss
