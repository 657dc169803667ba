// Vector registers of all lanes, vector configuration state, and what every vector handler needs around its kernel.
#pragma once
#include <array>

#include "insn.hpp"
#include "kernels/table.hpp"
#include "lane_memory.hpp"
#include "trap.hpp"

namespace torchsim::iss {

class VectorUnit {
 public:
  VectorUnit(unsigned lanes, const KernelTable& table);

  void reset();

  u64* reg(unsigned r) { return registers_.data() + std::size_t{r} * kPlanesPerRegister * lanes; }
  const u64* mask() { return reg(0); }
  /// Scratch area `index`, large enough for sixteen registers of all lanes.
  u64* temp(unsigned index) { return temps_[index].data(); }

  /// vsetvli and relatives: new vtype, vl = min(avl, vlmax); unsupported vtype sets vill and vl = 0.
  void configure(u64 new_vtype, u64 avl, bool keep_vl);
  u64 vlmax(unsigned sew_log, int lmul_log) const {
    return lmul_log >= 0 ? (u64{kVlenBytes} << lmul_log) >> sew_log : (u64{kVlenBytes} >> -lmul_log) >> sew_log;
  }

  /// Traps when no legal vtype is set.
  void require() const {
    if (vill) [[unlikely]]
      raise(Cause::illegal_instruction, "vector instruction with an illegal vtype");
  }
  /// Traps unless a register group of 2^emul registers may start at r.
  void require_group(unsigned r, int emul) const {
    if (emul > 3 || emul < -3 || (emul > 0 && (r & ((1u << emul) - 1)))) [[unlikely]]
      raise(Cause::illegal_instruction, "v%u cannot start a register group of 2^%d registers", r, emul);
  }
  /// require_group, and a masked instruction must not overwrite its mask.
  void require_dest(unsigned r, int emul, bool unmasked) const {
    require_group(r, emul);
    if (!unmasked && r == 0) [[unlikely]]
      raise(Cause::illegal_instruction, "a masked instruction overwrites v0");
  }
  /// Traps when two groups share a register.
  void require_disjoint(unsigned a, int a_emul, unsigned b, int b_emul) const {
    const unsigned na = a_emul > 0 ? 1u << a_emul : 1, nb = b_emul > 0 ? 1u << b_emul : 1;
    if (a < b + nb && b < a + na) [[unlikely]]
      raise(Cause::illegal_instruction, "v%u and v%u overlap", a, b);
  }
  /// A destination of wider elements may overlap a source only in the destination's highest part, of at least one whole register.
  void require_widening(unsigned dest, int dest_emul, unsigned source, int source_emul) const {
    const unsigned nd = dest_emul > 0 ? 1u << dest_emul : 1, ns = source_emul > 0 ? 1u << source_emul : 1;
    if (source_emul >= 0 && source + ns == dest + nd) return;
    require_disjoint(dest, dest_emul, source, source_emul);
  }
  /// A destination of narrower elements may overlap a source only in the source's lowest part.
  void require_narrowing(unsigned dest, int dest_emul, unsigned source, int source_emul) const {
    if (dest != source) require_disjoint(dest, dest_emul, source, source_emul);
  }
  /// Traps when the current SEW has no double.
  void require_widenable() const {
    require();
    if (sew >= 3) [[unlikely]]
      raise(Cause::illegal_instruction, "SEW %u cannot be widened", 8u << sew);
  }

  /// Planes that hold n elements.
  static std::size_t planes_of(u64 n, unsigned sew_log) { return static_cast<std::size_t>(((n << sew_log) + 7) / 8); }
  /// Bits of the last of these planes that belong to elements below n; all ones when it is full.
  static u64 tail_bits(u64 n, unsigned sew_log) {
    const unsigned rest = static_cast<unsigned>(n << sew_log) & 7;
    return rest ? (u64{1} << (8 * rest)) - 1 : ~u64{0};
  }

  /// Write elements [0, vl) of `value` to the group at vd; masked-off and tail elements stay.
  void commit(unsigned vd, const u64* value, unsigned sew_log, bool unmasked);
  void commit_planes(u64* dest, const u64* value, u64 n, unsigned sew_log, bool unmasked);
  /// Whether results can be written in place: no mask and no partial plane.
  bool whole(unsigned sew_log, bool unmasked) const { return unmasked && ((vl << sew_log) & 7) == 0; }
  /// Write bits [0, vl) of packed mask words to vd; masked-off bits stay.
  void commit_mask(unsigned vd, const u64* bits, bool unmasked);
  /// v0 expanded to all-ones elements, `planes` planes, in temp(7).
  const u64* expanded_mask(std::size_t planes, unsigned sew_log);

  const unsigned lanes;
  const KernelTable& kernels;
  u64 vl = 0, vtype = 0;
  bool vill = true;
  unsigned sew = 0;  // log2 of bytes
  int lmul = 0;      // log2
  u8 vxrm = 0;

  static constexpr unsigned kTemps = 8;

 private:
  PlaneBuffer registers_;
  std::array<PlaneBuffer, kTemps> temps_;
};

}  // namespace torchsim::iss
