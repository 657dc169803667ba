// Floating-point arithmetic of every width and rounding mode over flat arrays; scalar instructions use arrays of one.
#pragma once
#include <vector>

#include "float_format.hpp"
#include "kernels/table.hpp"

namespace torchsim::iss {

/// Sets the host's rounding direction for its lifetime. Modes that the host lacks (rmm, odd) leave it at nearest-even.
class HostRounding {
 public:
  explicit HostRounding(Rounding mode);
  ~HostRounding();
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  bool changed_;
};

/// Work space for e16 arithmetic, which runs in e32.
class FloatOps {
 public:
  explicit FloatOps(const KernelTable& kernels) : kernels_(kernels) {}

  /// d = op(a, b). Arithmetic results have the operands' width; comparisons give all-ones or zero elements.
  void binary(Bin op, unsigned sew_log, void* d, const void* a, const void* b, std::size_t n, bool scalar_b, Rounding mode);
  /// d = op(d, a, b), fused.
  void ternary(Tern op, unsigned sew_log, void* d, const void* a, const void* b, std::size_t n, bool scalar_a, Rounding mode);
  void square_root(unsigned sew_log, void* d, const void* a, std::size_t n, Rounding mode);

 private:
  const float* widen(std::vector<float>& space, const void* a, std::size_t n);
  void half_binary(Bin op, u16* d, const void* a, const void* b, std::size_t n, bool scalar_b, Rounding mode);

  void half_ternary(Tern op, u16* d, const void* a, const void* b, std::size_t n, bool scalar_a, Rounding mode);

  const KernelTable& kernels_;
  std::vector<float> left_, right_, result_, other_;
};

/// Bits of the RISC-V class mask (F 2.9) of a value.
u64 classify(unsigned sew_log, u64 bits);
/// 7-bit estimates (RVV 1.0 sections 13.9, 13.10).
u64 estimate_rsqrt7(unsigned sew_log, u64 bits);
u64 estimate_rec7(unsigned sew_log, u64 bits, Rounding mode);

/// Round to an integer and saturate to `bits` bits; NaN gives the largest value. RISC-V F 2.7.
u64 to_integer(double value, unsigned bits, bool is_signed, Rounding mode);
/// Nearest representable of an integer.
u64 from_integer(Format format, u64 value, bool is_signed, Rounding mode);

}  // namespace torchsim::iss
