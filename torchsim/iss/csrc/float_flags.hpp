// Exception flags that one floating-point operation raises (IEEE 754 as RISC-V F 2.2 and RVV 1.0 section 13 use it), from operand bits.
#pragma once
#include "float_format.hpp"
#include "kernels/table.hpp"

namespace torchsim::iss {

/// Bits are a signaling NaN of the format of 1 << sew_log bytes.
bool is_signaling(unsigned sew_log, u64 bits);
/// Arithmetic, minimum, maximum and comparisons of two operands.
u8 flags_of_binary(Bin op, unsigned sew_log, u64 a, u64 b, Rounding mode);
u8 flags_of_ternary(Tern op, unsigned sew_log, u64 d, u64 a, u64 b, Rounding mode);
u8 flags_of_square_root(unsigned sew_log, u64 a);
/// The 7-bit estimates.
u8 flags_of_rsqrt7(unsigned sew_log, u64 a);
u8 flags_of_rec7(unsigned sew_log, u64 a);
/// Conversions. `bits`: width of the integer.
u8 flags_of_to_integer(unsigned sew_log, u64 a, unsigned bits, bool is_signed, Rounding mode);
u8 flags_of_from_integer(unsigned sew_log, u64 value, bool is_signed, Rounding mode);
u8 flags_of_convert(unsigned from_log, unsigned to_log, u64 a, Rounding mode);

}  // namespace torchsim::iss
