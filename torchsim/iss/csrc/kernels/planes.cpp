// Movement between planes (lane_memory.hpp): masks, widening, narrowing, byte shifts, single elements.
#include <cstring>

#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

void blend(u64* d, const u64* a, const u64* m, std::size_t words) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < words; ++i) d[i] = (d[i] & ~m[i]) | (a[i] & m[i]);
}

void blend_uniform(u64* d, const u64* a, u64 m, std::size_t words) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < words; ++i) d[i] = (d[i] & ~m) | (a[i] & m);
}

// Spread the low 8, 4 or 2 bits of x to one bit at the bottom of each element, then fill the elements.
template <unsigned Sew>
u64 spread(u64 x) {
  if constexpr (Sew == 3)
    return u64(0) - (x & 1);
  else if constexpr (Sew == 2) {
    x = (x & 1) | ((x & 2) << 31);
    return (x << 32) - x;
  } else if constexpr (Sew == 1) {
    x &= 0xf;
    x = (x | (x << 30)) & 0x0000'0003'0000'0003;
    x = (x | (x << 15)) & 0x0001'0001'0001'0001;
    return (x << 16) - x;
  } else {
    x &= 0xff;
    x = (x | (x << 28)) & 0x0000'000f'0000'000f;
    x = (x | (x << 14)) & 0x0003'0003'0003'0003;
    x = (x | (x << 7)) & 0x0101'0101'0101'0101;
    return (x << 8) - x;
  }
}

template <unsigned Sew>
void expand(u64* out, const u64* mask, std::size_t planes, unsigned lanes) {
  constexpr unsigned per_plane = 8u >> Sew;
  for (std::size_t p = 0; p < planes; ++p) {
    const std::size_t first = p * per_plane;
    const u64* word = mask + first / 64 * lanes;
    const unsigned shift = first % 64;
    u64* to = out + p * lanes;
#pragma GCC ivdep
    for (unsigned l = 0; l < lanes; ++l) to[l] = spread<Sew>(word[l] >> shift);
  }
}

void expand_mask(u64* out, const u64* mask, std::size_t planes, unsigned sew, unsigned lanes) {
  switch (sew) {
    case 0:
      return expand<0>(out, mask, planes, lanes);
    case 1:
      return expand<1>(out, mask, planes, lanes);
    case 2:
      return expand<2>(out, mask, planes, lanes);
    default:
      return expand<3>(out, mask, planes, lanes);
  }
}

void pack_mask(u64* out, const u64* planes, std::size_t n, unsigned sew, unsigned lanes) {
  const unsigned width = 8u << sew;
  const std::size_t words = (n + 63) / 64;
  std::memset(out, 0, words * lanes * 8);
  for (std::size_t e = 0; e < n; ++e) {
    const std::size_t bit = e * width;
    const u64* from = planes + bit / 64 * lanes;
    const unsigned shift = bit % 64, to_shift = e % 64;
    u64* to = out + e / 64 * lanes;
#pragma GCC ivdep
    for (unsigned l = 0; l < lanes; ++l) to[l] |= ((from[l] >> shift) & 1) << to_shift;
  }
}

// T = destination element, S = source element of half its width.
template <class T, class S>
void widen_as(u64* d, const u64* s, std::size_t planes, unsigned lanes) {
  constexpr unsigned per = 8 / sizeof(T);  // destination elements of a plane
  for (std::size_t p = 0; p < planes; ++p) {
    const auto* from = reinterpret_cast<const S*>(s + p * lanes);
    auto* low = reinterpret_cast<T*>(d + 2 * p * lanes);
    auto* high = reinterpret_cast<T*>(d + (2 * p + 1) * lanes);
#pragma GCC ivdep
    for (unsigned l = 0; l < lanes; ++l) {
      for (unsigned k = 0; k < per; ++k) {
        low[l * per + k] = static_cast<T>(from[l * 2 * per + k]);
        high[l * per + k] = static_cast<T>(from[l * 2 * per + per + k]);
      }
    }
  }
}

void widen(u64* d, const u64* s, std::size_t planes, unsigned sew, unsigned lanes, bool is_signed) {
  if (is_signed) {
    if (sew == 0) return widen_as<i16, i8>(d, s, planes, lanes);
    if (sew == 1) return widen_as<i32, i16>(d, s, planes, lanes);
    return widen_as<i64, i32>(d, s, planes, lanes);
  }
  if (sew == 0) return widen_as<u16, u8>(d, s, planes, lanes);
  if (sew == 1) return widen_as<u32, u16>(d, s, planes, lanes);
  return widen_as<u64, u32>(d, s, planes, lanes);
}

template <class T, class S>
void narrow_as(u64* d, const u64* s, std::size_t planes, unsigned lanes) {
  constexpr unsigned per = 8 / sizeof(S);
  for (std::size_t p = 0; p < planes; ++p) {
    const auto* low = reinterpret_cast<const S*>(s + 2 * p * lanes);
    const auto* high = reinterpret_cast<const S*>(s + (2 * p + 1) * lanes);
    auto* to = reinterpret_cast<T*>(d + p * lanes);
#pragma GCC ivdep
    for (unsigned l = 0; l < lanes; ++l) {
      for (unsigned k = 0; k < per; ++k) {
        to[l * 2 * per + k] = static_cast<T>(low[l * per + k]);
        to[l * 2 * per + per + k] = static_cast<T>(high[l * per + k]);
      }
    }
  }
}

void narrow(u64* d, const u64* s, std::size_t planes, unsigned sew, unsigned lanes) {
  if (sew == 0) return narrow_as<u8, u16>(d, s, planes, lanes);
  if (sew == 1) return narrow_as<u16, u32>(d, s, planes, lanes);
  return narrow_as<u32, u64>(d, s, planes, lanes);
}

void funnel(u64* d, const u64* s, std::size_t planes, unsigned shift, unsigned lanes) {
  const unsigned right = shift * 8, left = 64 - right;
  const std::size_t words = planes * lanes;
#pragma GCC ivdep
  for (std::size_t i = 0; i < words; ++i) d[i] = (s[i] >> right) | (s[i + lanes] << left);
}

void unfunnel(u64* d, const u64* s, std::size_t planes, unsigned shift, unsigned lanes) {
  const unsigned left = shift * 8, right = 64 - left;
  const std::size_t words = planes * lanes;
  const u64* before = s - lanes;
#pragma GCC ivdep
  for (std::size_t i = 0; i < words; ++i) d[i] = (s[i] << left) | (before[i] >> right);
}

template <class T>
void get_as(void* out, const u64* plane, unsigned at, unsigned lanes) {
  auto* to = static_cast<T*>(out);
#pragma GCC ivdep
  for (unsigned l = 0; l < lanes; ++l) to[l] = static_cast<T>(plane[l] >> (at * 8));
}

void get_element(void* out, const u64* plane, unsigned at, unsigned sew, unsigned lanes) {
  if (sew == 0) return get_as<u8>(out, plane, at, lanes);
  if (sew == 1) return get_as<u16>(out, plane, at, lanes);
  if (sew == 2) return get_as<u32>(out, plane, at, lanes);
  std::memcpy(out, plane, lanes * 8u);
}

template <class T>
void put_as(u64* plane, const void* in, unsigned at, unsigned lanes) {
  const auto* from = static_cast<const T*>(in);
  const u64 keep = ~(static_cast<u64>(static_cast<T>(~T(0))) << (at * 8));
#pragma GCC ivdep
  for (unsigned l = 0; l < lanes; ++l) plane[l] = (plane[l] & keep) | (static_cast<u64>(from[l]) << (at * 8));
}

void put_element(u64* plane, const void* in, unsigned at, unsigned sew, unsigned lanes) {
  if (sew == 0) return put_as<u8>(plane, in, at, lanes);
  if (sew == 1) return put_as<u16>(plane, in, at, lanes);
  if (sew == 2) return put_as<u32>(plane, in, at, lanes);
  std::memcpy(plane, in, lanes * 8u);
}

void move_element(u64* d, unsigned to_shift, const u64* s, unsigned from_shift, u64 keep, const u64* active, unsigned lanes) {
  const u64 place = keep << to_shift;
  if (active) {
#pragma GCC ivdep
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 m = place & active[l];
      d[l] = (d[l] & ~m) | (((s[l] >> from_shift) << to_shift) & m);
    }
  } else {
#pragma GCC ivdep
    for (unsigned l = 0; l < lanes; ++l) d[l] = (d[l] & ~place) | (((s[l] >> from_shift) << to_shift) & place);
  }
}

}  // namespace

void fill_planes(KernelTable& table) {
  table.blend = blend;
  table.blend_uniform = blend_uniform;
  table.expand_mask = expand_mask;
  table.pack_mask = pack_mask;
  table.widen = widen;
  table.narrow = narrow;
  table.funnel = funnel;
  table.unfunnel = unfunnel;
  table.get_element = get_element;
  table.put_element = put_element;
  table.move_element = move_element;
}

}  // namespace torchsim::iss::ISS_VARIANT
