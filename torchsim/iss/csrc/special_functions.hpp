// Special-function unit: erf, tanh, sin, cos, log, atan, exp.
#pragma once
#include "address_map.hpp"

namespace torchsim::iss {

enum class Special : u8 { erf, tanh, sin, cos, log, atan, exp };

/// d = f(a) on n elements of 1 << sew_log bytes (2, 4 or 8). e32: the C library's double function rounded once; e16: through e32;
/// e64: the double function. NaNs become canonical.
void evaluate_special(Special function, unsigned sew_log, void* d, const void* a, std::size_t n);

}  // namespace torchsim::iss
