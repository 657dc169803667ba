// Host loops over (elements x lanes). Each kernel works on flat arrays and knows nothing of registers, masks or traps.
//
// The files kernels/*.cpp are compiled once per host instruction set; kernels() picks the best at start. All variants give
// the same bits (no contraction, fused multiply-add only where the instruction asks for it).
#pragma once
#include <array>

#include "../address_map.hpp"

namespace torchsim::iss {

/// Element-wise operations of two operands; index into KernelTable::binary.
enum class Bin : u8 {
  add,
  sub,
  rsub,
  and_,
  or_,
  xor_,
  sll,
  srl,
  sra,
  minu,
  min,
  maxu,
  max,
  mul,
  mulh,
  mulhu,
  mulhsu,
  divu,
  div,
  remu,
  rem,
  saddu,
  sadd,
  ssubu,
  ssub,
  aaddu,
  aadd,
  asubu,
  asub,
  smul,
  ssrl,
  ssra,
  seq,
  sne,
  sltu,
  slt,
  sleu,
  sle,
  sgtu,
  sgt,  // results are all-ones or all-zero elements
  fsgnj,
  fsgnjn,
  fsgnjx,
  fadd,
  fsub,
  frsub,
  fmul,
  fdiv,
  frdiv,
  fmin,
  fmax,  // e32 and e64 only: e16 goes through e32
  feq,
  fne,
  flt,
  fle,
  fgt,
  fge,
  count
};

/// d = f(d, a, b) with a = vs1 or rs1, b = vs2; names as the instructions.
enum class Tern : u8 { macc, nmsac, madd, nmsub, fmacc, fnmacc, fmsac, fnmsac, fmadd, fnmadd, fmsub, fnmsub, count };

/// Operands: destination, first (vs2), second (vs1, or one scalar element), elements, is-scalar, vxrm where it matters.
using BinaryKernel = void (*)(void* d, const void* a, const void* b, std::size_t n, bool scalar_b, unsigned vxrm);
using TernaryKernel = void (*)(void* d, const void* a, const void* b, std::size_t n, bool scalar_a);

struct KernelTable {
  const char* name;
  std::array<std::array<BinaryKernel, 4>, static_cast<std::size_t>(Bin::count)> binary;  // [op][log2 bytes], null = no such width
  std::array<std::array<TernaryKernel, 4>, static_cast<std::size_t>(Tern::count)> ternary;
  std::array<void (*)(void* d, const void* a, std::size_t n), 4> fsqrt;  // [2], [3]

  /// d = (d & ~m) | (a & m), words.
  void (*blend)(u64* d, const u64* a, const u64* m, std::size_t words);
  /// One mask for all words.
  void (*blend_uniform)(u64* d, const u64* a, u64 m, std::size_t words);
  /// All-ones elements where the mask register has a one: planes of elements of 1 << sew bytes.
  void (*expand_mask)(u64* out, const u64* mask, std::size_t planes, unsigned sew, unsigned lanes);
  /// Inverse: one bit per element, elements [0, n) of planes whose elements are zero or all ones; higher bits of the last word are zero.
  void (*pack_mask)(u64* out, const u64* planes, std::size_t n, unsigned sew, unsigned lanes);
  /// Double every element's width: `planes` source planes of elements of 1 << sew bytes become twice as many.
  void (*widen)(u64* d, const u64* s, std::size_t planes, unsigned sew, unsigned lanes, bool is_signed);
  /// Halve (truncate): `planes` destination planes; elements of the destination have 1 << sew bytes.
  void (*narrow)(u64* d, const u64* s, std::size_t planes, unsigned sew, unsigned lanes);
  /// d plane p = bytes shift.. of s planes p, p+1 (0 < shift < 8).
  void (*funnel)(u64* d, const u64* s, std::size_t planes, unsigned shift, unsigned lanes);
  /// The inverse: d plane p = the upper `shift` bytes of s plane p - 1, below the others of s plane p.
  void (*unfunnel)(u64* d, const u64* s, std::size_t planes, unsigned shift, unsigned lanes);
  /// out[l] = element of one plane; element width 1 << sew bytes at byte `at`, zero extended into words of that width.
  void (*get_element)(void* out, const u64* plane, unsigned at, unsigned sew, unsigned lanes);
  void (*put_element)(u64* plane, const void* in, unsigned at, unsigned sew, unsigned lanes);
  /// The low bytes `keep` of each source word, shifted right by from_shift bits, go to d shifted left by to_shift; where `active`
  /// (null: everywhere) is all ones.
  void (*move_element)(u64* d, unsigned to_shift, const u64* s, unsigned from_shift, u64 keep, const u64* active, unsigned lanes);

  void (*f16_to_f32)(float* d, const u16* s, std::size_t n);
  void (*f16_to_f32_in_place)(u32* words, std::size_t n);  // of the low half of each word
  /// Rounding to odd from the two neighbours that enclose a result, rounded down and up: the odd one where they differ. In d = down.
  void (*odd_f32)(float* down, const float* up, std::size_t n);
  void (*f32_to_f64)(double* d, const u64* s, std::size_t n);  // of the low half of each word
  void (*f32_to_f16)(u16* d, const float* s, std::size_t n);   // current rounding direction, canonical NaN

  void (*f32_to_f16_words)(u32* d, const float* s, std::size_t n);     // the same, into the low half of each word
  std::array<void (*)(void* values, std::size_t n), 4> canonical_nan;  // [2], [3]: NaNs become the canonical one

  /// out[r][lane] = fused sum over k ascending of x[r][k] * w[k][lane], from +0; canonical NaN.
  void (*systolic)(float* out, const float* x, const float* w, std::size_t rows, unsigned lanes);
};

/// The table for this host.
const KernelTable& kernels();
/// Name of each variant that this host can run, best first ("avx2", "baseline"); for tests.
const KernelTable* kernels_named(const char* name);

}  // namespace torchsim::iss
