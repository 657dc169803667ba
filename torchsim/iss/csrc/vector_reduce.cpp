// Reductions (RVV 1.0 section 14), in element order within each lane. The accumulator is an array over lanes.
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

/// The unordered float sums: in lanes without an active element a NaN in the accumulator becomes canonical (RVV 1.0, 14.3 lets
/// them; the ordered sums copy it).
void canonical_where_inactive(const VectorUnit& v, const u64* mask, void* acc, unsigned acc_log) {
  const Format f = Format::of(acc_log);
  const u64 nan = f.canonical_nan();
  const std::size_t bytes = std::size_t{1} << acc_log;
  for (unsigned l = 0; l < v.lanes; ++l) {
    bool any = false;
    for (u64 e = 0; e < v.vl && !any; ++e) any = mask_bit(v, mask, e, l);
    u8* at = static_cast<u8*>(acc) + l * bytes;
    u64 bits = 0;
    std::memcpy(&bits, at, bytes);
    if (!any && (bits & (f.sign_bit() - 1)) > f.infinity()) std::memcpy(at, &nan, bytes);
  }
}

/// Common frame: acc = element 0 of vs1 at `acc_log`; for each active element of vs2, fold(acc, element array at SEW).
template <class Fold>
void reduce(Core& c, const Insn& i, unsigned acc_log, Fold fold) {
  VectorUnit& v = c.vector;
  if (v.vl == 0) return;
  u64* acc = v.temp(0);
  u64* element = v.temp(1);
  u64* before = v.temp(2);
  u64* active = v.temp(3);
  const std::size_t bytes = (std::size_t{v.lanes} << acc_log);
  get_element(v, acc, v.reg(i.rs1), 0, acc_log);
  if (!i.unmasked && (i.op == Op::VFREDUSUM_VS || i.op == Op::VFWREDUSUM_VS)) canonical_where_inactive(v, v.mask(), acc, acc_log);
  for (u64 e = 0; e < v.vl; ++e) {
    get_element(v, element, v.reg(i.rs2), e, v.sew);
    if (!i.unmasked) std::memcpy(before, acc, bytes);
    fold(acc, element);
    if (!i.unmasked) {
      lane_mask(v, active, v.mask(), e);
      auto* now = reinterpret_cast<u8*>(acc);
      const auto* old = reinterpret_cast<const u8*>(before);
      for (unsigned l = 0; l < v.lanes; ++l) {
        if (!active[l]) std::memcpy(now + (std::size_t{l} << acc_log), old + (std::size_t{l} << acc_log), std::size_t{1} << acc_log);
      }
    }
  }
  put_element(v, v.reg(i.rd), acc, 0, acc_log);
}

template <class Narrow, class Wide, class F>
void convert_array(void* to, const void* from, unsigned lanes, F f) {
  for (unsigned l = 0; l < lanes; ++l) static_cast<Wide*>(to)[l] = static_cast<Wide>(f(static_cast<const Narrow*>(from)[l]));
}

/// to[l] = f(from[l]) with elements of 1 << sew_log bytes (1, 2 or 4) becoming twice as wide.
template <class F>
void widen_array(void* to, const void* from, unsigned sew_log, unsigned lanes, F f) {
  if (sew_log == 0) return convert_array<u8, u16>(to, from, lanes, f);
  if (sew_log == 1) return convert_array<u16, u32>(to, from, lanes, f);
  convert_array<u32, u64>(to, from, lanes, f);
}

void require_reduction(Core& c, const Insn& i) {
  c.vector.require();
  c.vector.require_group(i.rs2, c.vector.lmul);
}

void integer(Core& c, const Insn& i) {
  require_reduction(c, i);
  VectorUnit& v = c.vector;
  const BinaryKernel kernel = v.kernels.binary[i.sub][v.sew];
  reduce(c, i, v.sew, [&](u64* acc, const u64* element) { kernel(acc, acc, element, v.lanes, false, 0); });
}

template <bool Signed>
void widening_integer(Core& c, const Insn& i) {
  require_reduction(c, i);
  VectorUnit& v = c.vector;
  v.require_widenable();
  const BinaryKernel kernel = v.kernels.binary[static_cast<unsigned>(Bin::add)][v.sew + 1];
  u64* wide = v.temp(5);
  reduce(c, i, v.sew + 1, [&](u64* acc, const u64* element) {
    widen_array(wide, element, v.sew, v.lanes, [&](u64 bits) { return extend_scalar(bits, v.sew, Signed); });
    kernel(acc, acc, wide, v.lanes, false, 0);
  });
}

void floating(Core& c, const Insn& i) {
  require_reduction(c, i);
  VectorUnit& v = c.vector;
  const Rounding mode = require_float(c);
  reduce(c, i, v.sew,
         [&](u64* acc, const u64* element) { c.floats.binary(static_cast<Bin>(i.sub), v.sew, acc, acc, element, v.lanes, false, mode); });
}

void widening_floating(Core& c, const Insn& i) {
  require_reduction(c, i);
  VectorUnit& v = c.vector;
  v.require_widenable();
  const Rounding mode = require_float(c);
  u64* wide = v.temp(5);
  reduce(c, i, v.sew + 1, [&](u64* acc, const u64* element) {
    widen_array(wide, element, v.sew, v.lanes,
                [&](u64 bits) { return round_double(Format::of(v.sew + 1), to_double(v.sew, bits), Rounding::rne); });
    c.floats.binary(Bin::fadd, v.sew + 1, acc, acc, wide, v.lanes, false, mode);
  });
}

}  // namespace

void add_vector_reduce(HandlerTable& t) {
  t.set(Op::VREDSUM_VS, integer, Bin::add), t.set(Op::VREDAND_VS, integer, Bin::and_), t.set(Op::VREDOR_VS, integer, Bin::or_),
      t.set(Op::VREDXOR_VS, integer, Bin::xor_);
  t.set(Op::VREDMINU_VS, integer, Bin::minu), t.set(Op::VREDMIN_VS, integer, Bin::min), t.set(Op::VREDMAXU_VS, integer, Bin::maxu),
      t.set(Op::VREDMAX_VS, integer, Bin::max);
  t.set(Op::VWREDSUMU_VS, widening_integer<false>), t.set(Op::VWREDSUM_VS, widening_integer<true>);
  t.set(Op::VFREDUSUM_VS, floating, Bin::fadd), t.set(Op::VFREDOSUM_VS, floating, Bin::fadd);  // both in element order
  t.set(Op::VFREDMIN_VS, floating, Bin::fmin), t.set(Op::VFREDMAX_VS, floating, Bin::fmax);
  t.set(Op::VFWREDUSUM_VS, widening_floating), t.set(Op::VFWREDOSUM_VS, widening_floating);
}

}  // namespace torchsim::iss
