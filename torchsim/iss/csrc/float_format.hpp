// IEEE binary16/32/64 as integers: exact rounding in every mode, conversions. Slow and obvious; hot paths use the host's instructions.
#pragma once
#include <bit>
#include <cfenv>

#include "address_map.hpp"

namespace torchsim::iss {

/// Values of frm (RISC-V F 2.2); `odd` serves vfncvt.rod.
enum class Rounding : u8 { rne = 0, rtz = 1, rdn = 2, rup = 3, rmm = 4, odd = 8 };

/// Bits of fflags (RISC-V F 2.2).
enum Flag : u8 { kInexact = 1, kUnderflow = 2, kOverflow = 4, kDivideByZero = 8, kInvalid = 16 };

struct Format {
  unsigned exponent_bits, fraction_bits;
  static constexpr Format half() { return {5, 10}; }
  static constexpr Format single() { return {8, 23}; }
  static constexpr Format wide() { return {11, 52}; }
  static constexpr Format of(unsigned log_bytes) { return log_bytes == 1 ? half() : log_bytes == 2 ? single() : wide(); }

  constexpr u64 infinity() const { return ((u64{1} << exponent_bits) - 1) << fraction_bits; }
  constexpr u64 canonical_nan() const { return infinity() | u64{1} << (fraction_bits - 1); }
  constexpr u64 sign_bit() const { return u64{1} << (exponent_bits + fraction_bits); }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

// These have internal linkage because kernels/half.cpp is compiled for several instruction sets.
[[maybe_unused]] static inline Rounding host_rounding(int fe) {
  switch (fe) {
    case FE_TOWARDZERO:
      return Rounding::rtz;
    case FE_DOWNWARD:
      return Rounding::rdn;
    case FE_UPWARD:
      return Rounding::rup;
    default:
      return Rounding::rne;
  }
}

/// Does a magnitude grow by one when what lies below its last bit is dropped: `half`, that bit's upper half; `below`, anything less;
/// `odd`, the last kept bit.
[[maybe_unused]] static inline bool rounds_up(Rounding mode, bool sign, bool half, bool below, bool odd) {
  switch (mode) {
    case Rounding::rne:
      return half && (below || odd);
    case Rounding::rdn:
      return sign && (half || below);
    case Rounding::rup:
      return !sign && (half || below);
    case Rounding::rmm:
      return half;
    default:
      return false;  // rtz; odd sets the last bit instead
  }
}

/// Round (-1)^sign * (significand + something in (0,1) if sticky) * 2^exponent to the format. significand 0 needs sticky false.
/// Exceptions are or-ed into *flags when it is given; tininess is detected after rounding.
[[maybe_unused]] static inline u64 round_pack(Format f, bool sign, int exponent, u64 significand, bool sticky, Rounding mode,
                                              u8* flags = nullptr) {
  const u64 sign_bits = sign ? f.sign_bit() : 0;
  if (significand == 0) return sign_bits;
  const int shift = std::countl_zero(significand);
  significand <<= shift;
  const int top = exponent - shift + 63;  // value = 1.xxx * 2^top
  const int lowest = 1 - f.bias();
  const bool subnormal = top < lowest;
  int drop = 63 - static_cast<int>(f.fraction_bits) + (subnormal ? lowest - top : 0);
  u64 kept = 0;
  bool half = false, below = sticky;
  if (drop > 64)
    below = true;
  else if (drop == 64)
    half = true, below = below || (significand << 1) != 0;
  else {
    kept = significand >> drop;
    half = (significand >> (drop - 1)) & 1;
    below = below || (significand & ((u64{1} << (drop - 1)) - 1)) != 0;
  }
  if (mode == Rounding::odd) kept |= (half || below) ? 1 : 0;
  if (flags && (half || below)) {
    *flags |= kInexact;
    bool tiny = subnormal;
    if (top == lowest - 1) {  // with an unbounded exponent it might round up to the smallest normal number
      const int drop_normal = 63 - static_cast<int>(f.fraction_bits);
      const u64 all_ones = ~u64{0} >> drop_normal;
      const u64 rest = significand << (64 - drop_normal);
      tiny = significand >> drop_normal != all_ones || !rounds_up(mode, sign, rest >> 63, (rest << 1) != 0 || sticky, true);
    }
    if (tiny) *flags |= kUnderflow;
  }
  kept += rounds_up(mode, sign, half, below, kept & 1);
  if (!subnormal && top > f.bias()) kept = f.infinity() + 1;  // overflows whatever the fraction is
  const u64 bits = subnormal || kept > f.infinity() ? kept : (static_cast<u64>(top + f.bias() - 1) << f.fraction_bits) + kept;
  if (bits < f.infinity()) return sign_bits | bits;
  if (flags) *flags |= kOverflow | kInexact;
  const bool finite = mode == Rounding::rtz || mode == Rounding::odd || (mode == Rounding::rdn && !sign) || (mode == Rounding::rup && sign);
  return sign_bits | (finite ? f.infinity() - 1 : f.infinity());
}

/// Round a double to the format; NaNs become canonical.
[[maybe_unused]] static inline u64 round_double(Format f, double value, Rounding mode, u8* flags = nullptr) {
  const u64 bits = std::bit_cast<u64>(value);
  const bool sign = bits >> 63;
  const u64 fraction = bits & ((u64{1} << 52) - 1);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  if (biased == 0x7ff) return fraction ? f.canonical_nan() : ((sign ? f.sign_bit() : 0) | f.infinity());
  if (biased == 0) return round_pack(f, sign, -1074, fraction, false, mode, flags);
  return round_pack(f, sign, biased - 1075, fraction | u64{1} << 52, false, mode, flags);
}

/// Exact value of a binary16; NaNs become the canonical double.
[[maybe_unused]] static inline double half_to_double(u16 half) {
  const u64 sign = static_cast<u64>(half >> 15) << 63;
  const u64 fraction = half & 0x3ff;
  const unsigned biased = (half >> 10) & 0x1f;
  if (biased == 0x1f) return std::bit_cast<double>(fraction ? u64{0x7ff8'0000'0000'0000} : sign | u64{0x7ff0'0000'0000'0000});
  if (biased == 0) return std::bit_cast<double>(sign | std::bit_cast<u64>(static_cast<double>(fraction) * 0x1p-24));
  return std::bit_cast<double>(sign | static_cast<u64>(biased + 1023 - 15) << 52 | fraction << 42);
}

/// Exact value of any format as a double; NaNs become canonical.
[[maybe_unused]] static inline double to_double(unsigned log_bytes, u64 bits) {
  if (log_bytes == 1) return half_to_double(static_cast<u16>(bits));
  const double value = log_bytes == 2 ? static_cast<double>(std::bit_cast<float>(static_cast<u32>(bits))) : std::bit_cast<double>(bits);
  return value != value ? std::bit_cast<double>(u64{0x7ff8'0000'0000'0000}) : value;
}

}  // namespace torchsim::iss
