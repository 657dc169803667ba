// Arithmetic with exact results rounded once in software: fused multiply-add of e16, the mode that the host lacks (round to
// nearest, ties away), and exception flags. One element at a time.
#pragma once
#include "float_format.hpp"
#include "kernels/table.hpp"

namespace torchsim::iss {

/// Bits of op(a, b) for arithmetic Bin values (fadd .. frdiv). Exceptions are or-ed into *flags when it is given.
u64 exact_binary(Bin op, unsigned sew_log, u64 a, u64 b, Rounding mode, u8* flags = nullptr);
/// Bits of a * b + c with one rounding.
u64 exact_fma(unsigned sew_log, u64 a, u64 b, u64 c, Rounding mode, u8* flags = nullptr);
/// Bits of the fused operation on d, a = vs1 or rs1, b = vs2.
u64 exact_ternary(Tern op, unsigned sew_log, u64 d, u64 a, u64 b, Rounding mode, u8* flags = nullptr);

}  // namespace torchsim::iss
