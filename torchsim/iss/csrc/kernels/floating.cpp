// e32 and e64 floating point. The caller has set the host's rounding direction; results obey it because every operation is one
// host instruction. NaN results are canonical; minimum and maximum follow RISC-V F 2.2 (minimumNumber, -0 below +0).
#include <cmath>

#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

template <class F>
struct Float {
  using B = std::conditional_t<sizeof(F) == 4, u32, u64>;
  static constexpr unsigned log = sizeof(F) == 4 ? 2 : 3;
  static constexpr B sign = B(1) << (sizeof(F) * 8 - 1);
  static B bits(F value) { return std::bit_cast<B>(value); }
  static F from(B value) { return std::bit_cast<F>(value); }

  static F add(F a, F b) { return canonical(a + b); }
  static F sub(F a, F b) { return canonical(a - b); }
  static F rsub(F a, F b) { return canonical(b - a); }
  static F mul(F a, F b) { return canonical(a * b); }
  static F div(F a, F b) { return canonical(a / b); }
  static F rdiv(F a, F b) { return canonical(b / a); }
  template <bool Max>
  static F extreme(F a, F b) {
    F r = (Max ? a > b : a < b) ? a : b;
    r = a == b ? from(Max ? bits(a) & bits(b) : bits(a) | bits(b)) : r;  // differ only for zeros of both signs
    r = a != a ? b : r;
    r = b != b ? a : r;
    return canonical(r);
  }
  static B eq(F a, F b) { return B(0) - B(a == b); }
  static B ne(F a, F b) { return B(0) - B(a != b); }
  static B lt(F a, F b) { return B(0) - B(a < b); }
  static B le(F a, F b) { return B(0) - B(a <= b); }
  static B gt(F a, F b) { return B(0) - B(a > b); }
  static B ge(F a, F b) { return B(0) - B(a >= b); }

  template <auto Function>
  static void loop(void* d, const void* a, const void* b, std::size_t n, bool scalar, unsigned) {
    map2<F, decltype(Function(F{}, F{}))>(d, a, b, n, scalar, [](F x, F y) { return Function(x, y); });
  }

  // d, a = vs1/rs1, b = vs2
  static F macc(F d, F a, F b) { return canonical(std::fma(a, b, d)); }
  static F nmacc(F d, F a, F b) { return canonical(std::fma(-a, b, -d)); }
  static F msac(F d, F a, F b) { return canonical(std::fma(a, b, -d)); }
  static F nmsac(F d, F a, F b) { return canonical(std::fma(-a, b, d)); }
  static F madd(F d, F a, F b) { return canonical(std::fma(a, d, b)); }
  static F nmadd(F d, F a, F b) { return canonical(std::fma(-a, d, -b)); }
  static F msub(F d, F a, F b) { return canonical(std::fma(a, d, -b)); }
  static F nmsub(F d, F a, F b) { return canonical(std::fma(-a, d, b)); }

  template <F (*Function)(F, F, F)>
  static void loop3(void* d, const void* a, const void* b, std::size_t n, bool scalar) {
    auto* dp = static_cast<F*>(d);
    const auto* ap = static_cast<const F*>(a);
    const auto* bp = static_cast<const F*>(b);
    if (scalar) {
      const F s = *ap;
#pragma GCC ivdep
      for (std::size_t i = 0; i < n; ++i) dp[i] = Function(dp[i], s, bp[i]);
    } else {
#pragma GCC ivdep
      for (std::size_t i = 0; i < n; ++i) dp[i] = Function(dp[i], ap[i], bp[i]);
    }
  }

  static void square_root(void* d, const void* a, std::size_t n) {
    auto* dp = static_cast<F*>(d);
    const auto* ap = static_cast<const F*>(a);
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) dp[i] = canonical(std::sqrt(ap[i]));
  }

  static void fill(KernelTable& table) {
    auto set = [&](Bin op, BinaryKernel kernel) { table.binary[static_cast<std::size_t>(op)][log] = kernel; };
    set(Bin::fadd, loop<add>), set(Bin::fsub, loop<sub>), set(Bin::frsub, loop<rsub>), set(Bin::fmul, loop<mul>);
    set(Bin::fdiv, loop<div>), set(Bin::frdiv, loop<rdiv>);
    set(Bin::fmin, loop<extreme<false>>), set(Bin::fmax, loop<extreme<true>>);
    set(Bin::feq, loop<eq>), set(Bin::fne, loop<ne>), set(Bin::flt, loop<lt>);
    set(Bin::fle, loop<le>), set(Bin::fgt, loop<gt>), set(Bin::fge, loop<ge>);
    auto set3 = [&](Tern op, TernaryKernel kernel) { table.ternary[static_cast<std::size_t>(op)][log] = kernel; };
    set3(Tern::fmacc, loop3<macc>), set3(Tern::fnmacc, loop3<nmacc>), set3(Tern::fmsac, loop3<msac>), set3(Tern::fnmsac, loop3<nmsac>);
    set3(Tern::fmadd, loop3<madd>), set3(Tern::fnmadd, loop3<nmadd>), set3(Tern::fmsub, loop3<msub>), set3(Tern::fnmsub, loop3<nmsub>);
    table.fsqrt[log] = square_root;
  }
};

template <class T>
void fill_sign_injection(KernelTable& table, unsigned log) {
  constexpr T sign = static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
  auto set = [&](Bin op, BinaryKernel kernel) { table.binary[static_cast<std::size_t>(op)][log] = kernel; };
  set(Bin::fsgnj, [](void* d, const void* a, const void* b, std::size_t n, bool s, unsigned) {
    map2<T, T>(d, a, b, n, s, [](T x, T y) { return static_cast<T>((x & ~sign) | (y & sign)); });
  });
  set(Bin::fsgnjn, [](void* d, const void* a, const void* b, std::size_t n, bool s, unsigned) {
    map2<T, T>(d, a, b, n, s, [](T x, T y) { return static_cast<T>((x & ~sign) | (~y & sign)); });
  });
  set(Bin::fsgnjx, [](void* d, const void* a, const void* b, std::size_t n, bool s, unsigned) {
    map2<T, T>(d, a, b, n, s, [](T x, T y) { return static_cast<T>(x ^ (y & sign)); });
  });
}

}  // namespace

void fill_float(KernelTable& table) {
  Float<float>::fill(table);
  Float<double>::fill(table);
  fill_sign_injection<u16>(table, 1);
  fill_sign_injection<u32>(table, 2);
  fill_sign_injection<u64>(table, 3);
}

}  // namespace torchsim::iss::ISS_VARIANT
