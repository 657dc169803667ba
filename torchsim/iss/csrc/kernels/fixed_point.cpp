// Saturating, averaging and scaling arithmetic (RVV 1.0 section 12). Rounding follows vxrm: rnu, rne, rdn, rod.
#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

/// Rounding increment for a right shift by `shift` bits (0 <= shift < bits of W).
template <class W>
W rounding_increment(W value, unsigned shift, unsigned vxrm) {
  if (shift == 0) return 0;
  const bool half = (value >> (shift - 1)) & 1;
  const W below = value & ((W(1) << (shift - 1)) - 1);
  const bool odd = (value >> shift) & 1;
  switch (vxrm) {
    case 0:
      return half;
    case 1:
      return half && (below != 0 || odd);
    case 2:
      return 0;
    default:
      return !odd && (half || below != 0);
  }
}

template <class T>
struct Fixed {
  using S = Signed<T>;
  using W = std::conditional_t<sizeof(T) == 8, unsigned __int128, u64>;
  using SW = std::conditional_t<sizeof(T) == 8, __int128, i64>;
  static constexpr unsigned bits = sizeof(T) * 8;

  static T saddu(T a, T b, unsigned) {
    const T r = static_cast<T>(a + b);
    return r < a ? static_cast<T>(-1) : r;
  }
  static T ssubu(T a, T b, unsigned) { return a < b ? T(0) : static_cast<T>(a - b); }
  static T limit(T a) {
    return static_cast<S>(a) < 0 ? static_cast<T>(std::numeric_limits<S>::min()) : static_cast<T>(std::numeric_limits<S>::max());
  }
  static T sadd(T a, T b, unsigned) {
    const T r = static_cast<T>(a + b);
    return static_cast<S>((a ^ r) & (b ^ r)) < 0 ? limit(a) : r;
  }
  static T ssub(T a, T b, unsigned) {
    const T r = static_cast<T>(a - b);
    return static_cast<S>((a ^ b) & (a ^ r)) < 0 ? limit(a) : r;
  }
  static T average(SW sum, unsigned vxrm) {
    return static_cast<T>((sum >> 1) + static_cast<SW>(rounding_increment<W>(static_cast<W>(sum), 1, vxrm)));
  }
  static T aaddu(T a, T b, unsigned m) { return average(static_cast<SW>(static_cast<W>(a) + b), m); }
  static T asubu(T a, T b, unsigned m) { return average(static_cast<SW>(static_cast<W>(a) - b), m); }
  static T aadd(T a, T b, unsigned m) { return average(static_cast<SW>(static_cast<S>(a)) + static_cast<S>(b), m); }
  static T asub(T a, T b, unsigned m) { return average(static_cast<SW>(static_cast<S>(a)) - static_cast<S>(b), m); }
  static T smul(T a, T b, unsigned m) {
    const SW product = static_cast<SW>(static_cast<S>(a)) * static_cast<S>(b);
    const SW r = (product >> (bits - 1)) + static_cast<SW>(rounding_increment<W>(static_cast<W>(product), bits - 1, m));
    return r > static_cast<SW>(std::numeric_limits<S>::max()) ? static_cast<T>(std::numeric_limits<S>::max()) : static_cast<T>(r);
  }
  static T ssrl(T a, T b, unsigned m) {
    const unsigned shift = b & (bits - 1);
    return static_cast<T>((a >> shift) + rounding_increment<T>(a, shift, m));
  }
  static T ssra(T a, T b, unsigned m) {
    const unsigned shift = b & (bits - 1);
    return static_cast<T>(static_cast<T>(static_cast<S>(a) >> shift) + rounding_increment<T>(a, shift, m));
  }

  template <T (*F)(T, T, unsigned)>
  static void loop(void* d, const void* a, const void* b, std::size_t n, bool scalar, unsigned vxrm) {
    map2<T, T>(d, a, b, n, scalar, [vxrm](T x, T y) { return F(x, y, vxrm); });
  }
  static void fill(KernelTable& table, unsigned log) {
    auto set = [&](Bin op, BinaryKernel kernel) { table.binary[static_cast<std::size_t>(op)][log] = kernel; };
    set(Bin::saddu, loop<saddu>), set(Bin::sadd, loop<sadd>), set(Bin::ssubu, loop<ssubu>), set(Bin::ssub, loop<ssub>);
    set(Bin::aaddu, loop<aaddu>), set(Bin::aadd, loop<aadd>), set(Bin::asubu, loop<asubu>), set(Bin::asub, loop<asub>);
    set(Bin::smul, loop<smul>), set(Bin::ssrl, loop<ssrl>), set(Bin::ssra, loop<ssra>);
  }
};

}  // namespace

void fill_fixed_point(KernelTable& table) {
  Fixed<u8>::fill(table, 0);
  Fixed<u16>::fill(table, 1);
  Fixed<u32>::fill(table, 2);
  Fixed<u64>::fill(table, 3);
}

}  // namespace torchsim::iss::ISS_VARIANT
