#include "float_ops.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "exact_float.hpp"

namespace torchsim::iss {
namespace {

bool is_comparison(Bin op) { return op >= Bin::feq; }
bool is_selection(Bin op) { return op == Bin::fmin || op == Bin::fmax; }

u64 element(const void* array, std::size_t index, unsigned sew_log) {
  u64 bits = 0;
  std::memcpy(&bits, static_cast<const u8*>(array) + (index << sew_log), std::size_t{1} << sew_log);
  return bits;
}
void set_element(void* array, std::size_t index, unsigned sew_log, u64 bits) {
  std::memcpy(static_cast<u8*>(array) + (index << sew_log), &bits, std::size_t{1} << sew_log);
}

}  // namespace

HostRounding::HostRounding(Rounding mode) : changed_(mode == Rounding::rtz || mode == Rounding::rdn || mode == Rounding::rup) {
  if (changed_) std::fesetround(mode == Rounding::rtz ? FE_TOWARDZERO : mode == Rounding::rdn ? FE_DOWNWARD : FE_UPWARD);
}
HostRounding::~HostRounding() {
  if (changed_) std::fesetround(FE_TONEAREST);
}

const float* FloatOps::widen(std::vector<float>& space, const void* a, std::size_t n) {
  if (space.size() < n) space.resize(n);
  kernels_.f16_to_f32(space.data(), static_cast<const u16*>(a), n);
  return space.data();
}

// e32 has more than twice the precision of e16 plus two bits, so rounding an e32 result again is as good as rounding once
// (Figueroa 1995); in directed modes both roundings go the same way.
void FloatOps::half_binary(Bin op, u16* d, const void* a, const void* b, std::size_t n, bool scalar_b, Rounding mode) {
  const float* left = widen(left_, a, n);
  const float* right = widen(right_, b, scalar_b ? 1 : n);
  if (result_.size() < n) result_.resize(n);
  HostRounding guard(mode);
  kernels_.binary[static_cast<unsigned>(op)][2](result_.data(), left, right, n, scalar_b, 0);
  if (!is_comparison(op)) return kernels_.f32_to_f16(d, result_.data(), n);
  for (std::size_t i = 0; i < n; ++i) d[i] = static_cast<u16>(std::bit_cast<u32>(result_[i]));
}

void FloatOps::binary(Bin op, unsigned sew_log, void* d, const void* a, const void* b, std::size_t n, bool scalar_b, Rounding mode) {
  if (mode == Rounding::rmm && !is_comparison(op) && !is_selection(op)) {
    for (std::size_t i = 0; i < n; ++i)
      set_element(d, i, sew_log, exact_binary(op, sew_log, element(a, i, sew_log), element(b, scalar_b ? 0 : i, sew_log), mode));
    return;
  }
  if (sew_log == 1) return half_binary(op, static_cast<u16*>(d), a, b, n, scalar_b, mode);
  HostRounding guard(mode);
  kernels_.binary[static_cast<unsigned>(op)][sew_log](d, a, b, n, scalar_b, 0);
}

// A fused result has too many bits for the rule above. In nearest-even it is first rounded to odd in e32, which has more than two
// further bits, so that the second rounding sees on which side of every tie it lies (Boldo and Melquiond 2008). Of the results
// rounded down and up, which are equal or neighbours, that is the odd one; zeros of both signs (an exact cancellation) give +0.
void FloatOps::half_ternary(Tern op, u16* d, const void* a, const void* b, std::size_t n, bool scalar_a, Rounding mode) {
  const float* left = widen(left_, a, scalar_a ? 1 : n);
  const float* right = widen(right_, b, n);
  widen(result_, d, n);
  const auto kernel = kernels_.ternary[static_cast<unsigned>(op)][2];
  if (mode != Rounding::rne) {
    HostRounding guard(mode);
    kernel(result_.data(), left, right, n, scalar_a);
    return kernels_.f32_to_f16(d, result_.data(), n);
  }
  other_.assign(result_.begin(), result_.begin() + static_cast<std::ptrdiff_t>(n));
  {
    HostRounding guard(Rounding::rdn);
    kernel(result_.data(), left, right, n, scalar_a);
  }
  {
    HostRounding guard(Rounding::rup);
    kernel(other_.data(), left, right, n, scalar_a);
  }
  kernels_.odd_f32(result_.data(), other_.data(), n);
  kernels_.f32_to_f16(d, result_.data(), n);
}

void FloatOps::ternary(Tern op, unsigned sew_log, void* d, const void* a, const void* b, std::size_t n, bool scalar_a, Rounding mode) {
  if (sew_log == 1 && mode != Rounding::rmm) return half_ternary(op, static_cast<u16*>(d), a, b, n, scalar_a, mode);
  if (mode == Rounding::rmm || sew_log == 1) {
    for (std::size_t i = 0; i < n; ++i)
      set_element(d, i, sew_log,
                  exact_ternary(op, sew_log, element(d, i, sew_log), element(a, scalar_a ? 0 : i, sew_log), element(b, i, sew_log), mode));
    return;
  }
  HostRounding guard(mode);
  kernels_.ternary[static_cast<unsigned>(op)][sew_log](d, a, b, n, scalar_a);
}

void FloatOps::square_root(unsigned sew_log, void* d, const void* a, std::size_t n, Rounding mode) {
  HostRounding guard(mode);  // rmm: a square root is never half way between two numbers, so nearest-even is the same
  if (sew_log != 1) return kernels_.fsqrt[sew_log](d, a, n);
  widen(left_, a, n);
  kernels_.fsqrt[2](left_.data(), left_.data(), n);
  kernels_.f32_to_f16(static_cast<u16*>(d), left_.data(), n);
}

u64 classify(unsigned sew_log, u64 bits) {
  const Format f = Format::of(sew_log);
  const bool sign = bits & f.sign_bit();
  const u64 magnitude = bits & (f.sign_bit() - 1);
  if (magnitude > f.infinity()) return magnitude & u64{1} << (f.fraction_bits - 1) ? 1u << 9 : 1u << 8;
  if (magnitude == f.infinity()) return sign ? 1u << 0 : 1u << 7;
  if (magnitude >> f.fraction_bits) return sign ? 1u << 1 : 1u << 6;
  if (magnitude) return sign ? 1u << 2 : 1u << 5;
  return sign ? 1u << 3 : 1u << 4;
}

u64 to_integer(double value, unsigned bits, bool is_signed, Rounding mode) {
  const u64 most = is_signed ? (u64{1} << (bits - 1)) - 1 : (bits == 64 ? ~u64{0} : (u64{1} << bits) - 1);
  const u64 least = is_signed ? ~most : 0;
  if (value != value) return most;
  double r;
  switch (mode) {
    case Rounding::rtz:
      r = std::trunc(value);
      break;
    case Rounding::rdn:
      r = std::floor(value);
      break;
    case Rounding::rup:
      r = std::ceil(value);
      break;
    case Rounding::rmm:
      r = std::round(value);
      break;
    default:
      r = std::nearbyint(value);
      break;
  }
  const double above = std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits));  // first value that does not fit
  if (r >= above) return most;
  if (is_signed) return r < -above ? least : static_cast<u64>(static_cast<i64>(r));
  return r < 0 ? 0 : static_cast<u64>(r);
}

u64 from_integer(Format format, u64 value, bool is_signed, Rounding mode) {
  const bool sign = is_signed && static_cast<i64>(value) < 0;
  return round_pack(format, sign, 0, sign ? u64{0} - value : value, false, mode);
}

}  // namespace torchsim::iss
