// Arithmetic with exact results rounded once in software: fused multiply-add of e16, and the mode that the host lacks
// (round to nearest, ties away). One element at a time.
#pragma once
#include "float_format.hpp"
#include "kernels/table.hpp"

namespace torchsim::iss {

/// Bits of op(a, b) for arithmetic Bin values (fadd .. frdiv).
u64 exact_binary(Bin op, unsigned sew_log, u64 a, u64 b, Rounding mode);
/// Bits of a * b + c with one rounding.
u64 exact_fma(unsigned sew_log, u64 a, u64 b, u64 c, Rounding mode);

}  // namespace torchsim::iss
