// e32 and e64 floating point. The caller has set the host's rounding direction; results obey it because every operation is one
// host instruction. NaN results are canonical; minimum and maximum follow RISC-V F 2.2 (minimumNumber, -0 below +0).
#include "pack.hpp"

namespace torchsim::iss::ISS_VARIANT {
namespace {

// P is a Pack or a One, so that one source serves the whole packs of an array and what is left behind the last.
#define ISS_OP2(name, expression) \
  struct name {                   \
    template <class P>            \
    static P apply(P a, P b) {    \
      return expression;          \
    }                             \
  };
ISS_OP2(Add, canonical(a + b))
ISS_OP2(Sub, canonical(a - b))
ISS_OP2(Rsub, canonical(b - a))
ISS_OP2(Mul, canonical(a* b))
ISS_OP2(Div, canonical(a / b))
ISS_OP2(Rdiv, canonical(b / a))
ISS_OP2(Eq, equal(a, b))
ISS_OP2(Ne, not_equal(a, b))
ISS_OP2(Lt, less(a, b))
ISS_OP2(Le, less_equal(a, b))
ISS_OP2(Gt, less(b, a))
ISS_OP2(Ge, less_equal(b, a))
#undef ISS_OP2

template <bool Max>
struct Extreme {
  template <class P>
  static P apply(P a, P b) {
    P r = select(Max ? less(b, a) : less(a, b), a, b);
    r = select(equal(a, b), Max ? a & b : a | b, r);  // differ only for zeros of both signs
    r = select(not_equal(a, a), b, r);
    r = select(not_equal(b, b), a, r);
    return canonical(r);
  }
};

// d, a = vs1/rs1, b = vs2
#define ISS_OP3(name, expression)   \
  struct name {                     \
    template <class P>              \
    static P apply(P d, P a, P b) { \
      return canonical(expression); \
    }                               \
  };
ISS_OP3(Macc, fused(a, b, d))
ISS_OP3(Nmacc, fused(-a, b, -d))
ISS_OP3(Msac, fused(a, b, -d))
ISS_OP3(Nmsac, fused(-a, b, d))
ISS_OP3(Madd, fused(a, d, b))
ISS_OP3(Nmadd, fused(-a, d, -b))
ISS_OP3(Msub, fused(a, d, -b))
ISS_OP3(Nmsub, fused(-a, d, b))
#undef ISS_OP3

/// step(pack or one, index) over [0, n).
template <class F, class Step>
[[gnu::always_inline]] inline void each(std::size_t n, Step step) {
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + Pack<F>::width <= n; i += Pack<F>::width) step(Pack<F>{}, i);
  for (; i < n; ++i) step(One<F>{}, i);
}

template <class F>
struct Float {
  static constexpr unsigned log = sizeof(F) == 4 ? 2 : 3;

  template <class Op>
  static void loop(void* d, const void* a, const void* b, std::size_t n, bool scalar, unsigned) {
    auto* dp = static_cast<F*>(d);
    const auto* ap = static_cast<const F*>(a);
    const auto* bp = static_cast<const F*>(b);
    if (scalar) {
      const F s = *bp;
      each<F>(n, [=]<class P>(P, std::size_t i) { Op::apply(P::load(ap + i), P::all(s)).store(dp + i); });
    } else {
      each<F>(n, [=]<class P>(P, std::size_t i) { Op::apply(P::load(ap + i), P::load(bp + i)).store(dp + i); });
    }
  }

  template <class Op>
  static void loop3(void* d, const void* a, const void* b, std::size_t n, bool scalar) {
    auto* dp = static_cast<F*>(d);
    const auto* ap = static_cast<const F*>(a);
    const auto* bp = static_cast<const F*>(b);
    if (scalar) {
      const F s = *ap;
      each<F>(n, [=]<class P>(P, std::size_t i) { Op::apply(P::load(dp + i), P::all(s), P::load(bp + i)).store(dp + i); });
    } else {
      each<F>(n, [=]<class P>(P, std::size_t i) { Op::apply(P::load(dp + i), P::load(ap + i), P::load(bp + i)).store(dp + i); });
    }
  }

  static void square_root(void* d, const void* a, std::size_t n) {
    auto* dp = static_cast<F*>(d);
    const auto* ap = static_cast<const F*>(a);
    each<F>(n, [=]<class P>(P, std::size_t i) { canonical(root(P::load(ap + i))).store(dp + i); });
  }

  static void canonical_nans(void* values, std::size_t n) {
    auto* p = static_cast<F*>(values);
    each<F>(n, [=]<class P>(P, std::size_t i) { canonical(P::load(p + i)).store(p + i); });
  }

  static void fill(KernelTable& table) {
    auto set = [&](Bin op, BinaryKernel kernel) { table.binary[static_cast<std::size_t>(op)][log] = kernel; };
    set(Bin::fadd, loop<Add>), set(Bin::fsub, loop<Sub>), set(Bin::frsub, loop<Rsub>), set(Bin::fmul, loop<Mul>);
    set(Bin::fdiv, loop<Div>), set(Bin::frdiv, loop<Rdiv>);
    set(Bin::fmin, loop<Extreme<false>>), set(Bin::fmax, loop<Extreme<true>>);
    set(Bin::feq, loop<Eq>), set(Bin::fne, loop<Ne>), set(Bin::flt, loop<Lt>);
    set(Bin::fle, loop<Le>), set(Bin::fgt, loop<Gt>), set(Bin::fge, loop<Ge>);
    auto set3 = [&](Tern op, TernaryKernel kernel) { table.ternary[static_cast<std::size_t>(op)][log] = kernel; };
    set3(Tern::fmacc, loop3<Macc>), set3(Tern::fnmacc, loop3<Nmacc>), set3(Tern::fmsac, loop3<Msac>), set3(Tern::fnmsac, loop3<Nmsac>);
    set3(Tern::fmadd, loop3<Madd>), set3(Tern::fnmadd, loop3<Nmadd>), set3(Tern::fmsub, loop3<Msub>), set3(Tern::fnmsub, loop3<Nmsub>);
    table.fsqrt[log] = square_root;
    table.canonical_nan[log] = canonical_nans;
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
