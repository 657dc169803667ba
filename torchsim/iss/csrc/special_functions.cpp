#include "special_functions.hpp"

#include <cmath>

#include "float_format.hpp"

namespace torchsim::iss {
namespace {

template <double (*F)(double)>
void apply(unsigned sew_log, void* d, const void* a, std::size_t n) {
  if (sew_log == 3) {
    auto* to = static_cast<u64*>(d);
    const auto* from = static_cast<const double*>(a);
    for (std::size_t i = 0; i < n; ++i) {
      const double y = F(from[i]);
      to[i] = y == y ? std::bit_cast<u64>(y) : Format::wide().canonical_nan();
    }
  } else if (sew_log == 2) {
    auto* to = static_cast<u32*>(d);
    const auto* from = static_cast<const float*>(a);
    for (std::size_t i = 0; i < n; ++i) {
      const float y = static_cast<float>(F(static_cast<double>(from[i])));
      to[i] = y == y ? std::bit_cast<u32>(y) : static_cast<u32>(Format::single().canonical_nan());
    }
  } else {
    auto* to = static_cast<u16*>(d);
    const auto* from = static_cast<const u16*>(a);
    for (std::size_t i = 0; i < n; ++i) {
      const float y = static_cast<float>(F(half_to_double(from[i])));
      to[i] = static_cast<u16>(round_double(Format::half(), static_cast<double>(y), Rounding::rne));
    }
  }
}

double erf(double x) { return std::erf(x); }
double tanh(double x) { return std::tanh(x); }
double sin(double x) { return std::sin(x); }
double cos(double x) { return std::cos(x); }
double log(double x) { return std::log(x); }
double atan(double x) { return std::atan(x); }
double exp(double x) { return std::exp(x); }

}  // namespace

void evaluate_special(Special function, unsigned sew_log, void* d, const void* a, std::size_t n) {
  switch (function) {
    case Special::erf:
      return apply<erf>(sew_log, d, a, n);
    case Special::tanh:
      return apply<tanh>(sew_log, d, a, n);
    case Special::sin:
      return apply<sin>(sew_log, d, a, n);
    case Special::cos:
      return apply<cos>(sew_log, d, a, n);
    case Special::log:
      return apply<log>(sew_log, d, a, n);
    case Special::atan:
      return apply<atan>(sew_log, d, a, n);
    case Special::exp:
      return apply<exp>(sew_log, d, a, n);
  }
}

}  // namespace torchsim::iss
