// Integer arithmetic, logic, shifts, comparisons (RVV 1.0 sections 11 and 11.8) and integer multiply-add.
#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

template <class T>
using Wide = std::conditional_t<sizeof(T) == 1, u16,
                                std::conditional_t<sizeof(T) == 2, u32, std::conditional_t<sizeof(T) == 4, u64, unsigned __int128>>>;
template <class T>
using SignedWide =
    std::conditional_t<sizeof(T) == 1, i16, std::conditional_t<sizeof(T) == 2, i32, std::conditional_t<sizeof(T) == 4, i64, __int128>>>;

template <class T>
constexpr unsigned kBits = sizeof(T) * 8;

// Arithmetic is on unsigned operands (wraps); narrow products are widened first, because u16 * u16 promotes to int.
template <class T>
T multiply(T a, T b) {
  return static_cast<T>(static_cast<u64>(a) * b);
}

template <class T>
T divide(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == 0) return T(-1);
    if (b == T(-1)) return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a));
  } else {
    if (b == 0) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(a / b);
}

template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return static_cast<T>(a % b);
}

template <class T>
struct Ops {
  using S = Signed<T>;
  static T truth(bool value) { return static_cast<T>(T(0) - T(value)); }
  template <class F>
  static constexpr BinaryKernel make() {
    return [](void* d, const void* a, const void* b, std::size_t n, bool scalar, unsigned) { map2<T, T>(d, a, b, n, scalar, F{}); };
  }
#define ISS_OP(name, expression)                                               \
  struct name {                                                                \
    T operator()(T a, T b) const {                                             \
      [[maybe_unused]] const S sa = static_cast<S>(a), sb = static_cast<S>(b); \
      return static_cast<T>(expression);                                       \
    }                                                                          \
  };
  ISS_OP(Add, a + b)
  ISS_OP(Sub, a - b)
  ISS_OP(Rsub, b - a)
  ISS_OP(And, a& b)
  ISS_OP(Or, a | b)
  ISS_OP(Xor, a ^ b)
  ISS_OP(Sll, a << (b & (kBits<T> - 1)))
  ISS_OP(Srl, a >> (b & (kBits<T> - 1)))
  ISS_OP(Sra, sa >> (b & (kBits<T> - 1)))
  ISS_OP(Minu, a < b ? a : b)
  ISS_OP(Min, sa < sb ? sa : sb)
  ISS_OP(Maxu, a > b ? a : b)
  ISS_OP(Max, sa > sb ? sa : sb)
  ISS_OP(Mul, multiply(a, b))
  ISS_OP(Mulhu, (static_cast<Wide<T>>(static_cast<Wide<T>>(a) * b)) >> kBits<T>)
  ISS_OP(Mulh, static_cast<SignedWide<T>>(static_cast<SignedWide<T>>(sa) * static_cast<SignedWide<T>>(sb)) >> kBits<T>)
  ISS_OP(Mulhsu, static_cast<SignedWide<T>>(static_cast<SignedWide<T>>(sa) * static_cast<SignedWide<T>>(b)) >> kBits<T>)
  ISS_OP(Divu, divide(a, b))
  ISS_OP(Div, divide(sa, sb))
  ISS_OP(Remu, remainder(a, b))
  ISS_OP(Rem, remainder(sa, sb))
  ISS_OP(Seq, truth(a == b))
  ISS_OP(Sne, truth(a != b))
  ISS_OP(Sltu, truth(a < b))
  ISS_OP(Slt, truth(sa < sb))
  ISS_OP(Sleu, truth(a <= b))
  ISS_OP(Sle, truth(sa <= sb))
  ISS_OP(Sgtu, truth(a > b))
  ISS_OP(Sgt, truth(sa > sb))
#undef ISS_OP

  template <class F>
  static constexpr TernaryKernel make3() {
    return [](void* d, const void* a, const void* b, std::size_t n, bool scalar) {
      auto* dp = static_cast<T*>(d);
      const auto* ap = static_cast<const T*>(a);
      const auto* bp = static_cast<const T*>(b);
      if (scalar) {
        const T s = *ap;
#pragma GCC ivdep
        for (std::size_t i = 0; i < n; ++i) dp[i] = F{}(dp[i], s, bp[i]);
      } else {
#pragma GCC ivdep
        for (std::size_t i = 0; i < n; ++i) dp[i] = F{}(dp[i], ap[i], bp[i]);
      }
    };
  }
  struct Macc {
    T operator()(T d, T a, T b) const { return static_cast<T>(d + multiply(a, b)); }
  };
  struct Nmsac {
    T operator()(T d, T a, T b) const { return static_cast<T>(d - multiply(a, b)); }
  };
  struct Madd {
    T operator()(T d, T a, T b) const { return static_cast<T>(b + multiply(a, d)); }
  };
  struct Nmsub {
    T operator()(T d, T a, T b) const { return static_cast<T>(b - multiply(a, d)); }
  };

  static void fill(KernelTable& table, unsigned log) {
    auto set = [&](Bin op, BinaryKernel kernel) { table.binary[static_cast<std::size_t>(op)][log] = kernel; };
    set(Bin::add, make<Add>()), set(Bin::sub, make<Sub>()), set(Bin::rsub, make<Rsub>());
    set(Bin::and_, make<And>()), set(Bin::or_, make<Or>()), set(Bin::xor_, make<Xor>());
    set(Bin::sll, make<Sll>()), set(Bin::srl, make<Srl>()), set(Bin::sra, make<Sra>());
    set(Bin::minu, make<Minu>()), set(Bin::min, make<Min>()), set(Bin::maxu, make<Maxu>()), set(Bin::max, make<Max>());
    set(Bin::mul, make<Mul>()), set(Bin::mulh, make<Mulh>()), set(Bin::mulhu, make<Mulhu>()), set(Bin::mulhsu, make<Mulhsu>());
    set(Bin::divu, make<Divu>()), set(Bin::div, make<Div>()), set(Bin::remu, make<Remu>()), set(Bin::rem, make<Rem>());
    set(Bin::seq, make<Seq>()), set(Bin::sne, make<Sne>()), set(Bin::sltu, make<Sltu>()), set(Bin::slt, make<Slt>());
    set(Bin::sleu, make<Sleu>()), set(Bin::sle, make<Sle>()), set(Bin::sgtu, make<Sgtu>()), set(Bin::sgt, make<Sgt>());
    auto set3 = [&](Tern op, TernaryKernel kernel) { table.ternary[static_cast<std::size_t>(op)][log] = kernel; };
    set3(Tern::macc, make3<Macc>()), set3(Tern::nmsac, make3<Nmsac>());
    set3(Tern::madd, make3<Madd>()), set3(Tern::nmsub, make3<Nmsub>());
  }
};

}  // namespace

void fill_integer(KernelTable& table) {
  Ops<u8>::fill(table, 0);
  Ops<u16>::fill(table, 1);
  Ops<u32>::fill(table, 2);
  Ops<u64>::fill(table, 3);
}

}  // namespace torchsim::iss::ISS_VARIANT
