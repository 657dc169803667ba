// Conversions (RVV 1.0 sections 13.17 to 13.19). Sources are brought to the wider of the two formats' containers first.
#include <limits>

#include "handlers.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

/// Insn::sub: one of the kinds, with a fixed rounding mode or frm.
enum Kind : u8 { f_to_x, f_to_xu, x_to_f, xu_to_f, f_to_f, kind_mask = 7, truncate = 8, to_odd = 16 };

bool float_source(unsigned kind) { return kind == f_to_x || kind == f_to_xu || kind == f_to_f; }
bool float_result(unsigned kind) { return kind >= x_to_f; }

u64 convert_one(unsigned kind, unsigned from_log, unsigned to_log, Rounding mode, u64 bits) {
  switch (kind) {
    case f_to_x:
    case f_to_xu:
      return to_integer(to_double(from_log, bits), 8u << to_log, kind == f_to_x, mode);
    case x_to_f:
    case xu_to_f:
      return from_integer(Format::of(to_log), extend_scalar(bits, from_log, kind == x_to_f), kind == x_to_f, mode);
    default:
      return round_double(Format::of(to_log), to_double(from_log, bits), mode);
  }
}

template <class Container>
void loop(unsigned kind, unsigned from_log, unsigned to_log, Rounding mode, void* to, const void* from, std::size_t n) {
  auto* d = static_cast<Container*>(to);
  const auto* s = static_cast<const Container*>(from);
  const u64 keep = from_log == 3 ? ~u64{0} : (u64{1} << (8u << from_log)) - 1;
  for (std::size_t k = 0; k < n; ++k) d[k] = static_cast<Container>(convert_one(kind, from_log, to_log, mode, s[k] & keep));
}

/// The common cases with the host's instructions; false when there is none.
bool host_loop(const KernelTable& kernels, unsigned kind, unsigned from_log, unsigned to_log, Rounding mode, void* to, const void* from,
               std::size_t n) {
  if (mode == Rounding::rmm || mode == Rounding::odd) return false;
  HostRounding guard(mode);
  if (kind == x_to_f && from_log == 2 && to_log == 2) {
    auto* d = static_cast<float*>(to);
    const auto* s = static_cast<const i32*>(from);
#pragma GCC ivdep
    for (std::size_t k = 0; k < n; ++k) d[k] = static_cast<float>(s[k]);
    return true;
  }
  if (kind == f_to_x && from_log == 2 && to_log == 2 && mode == Rounding::rtz) {
    auto* d = static_cast<i32*>(to);
    const auto* s = static_cast<const float*>(from);
#pragma GCC ivdep
    for (std::size_t k = 0; k < n; ++k) {
      const float x = s[k];
      const bool fits = x >= -0x1p31f && x < 0x1p31f;
      const i32 inside = static_cast<i32>(fits ? x : 0.0f);
      d[k] = fits ? inside : x < 0 ? std::numeric_limits<i32>::min() : std::numeric_limits<i32>::max();
    }
    return true;
  }
  if (kind == f_to_f && from_log == 1) {  // exact
    std::memcpy(to, from, n * 4);
    kernels.f16_to_f32_in_place(static_cast<u32*>(to), n);
    return kernels.canonical_nan[2](to, n), true;
  }
  if (kind == f_to_f && from_log == 2 && to_log == 3) {
    kernels.f32_to_f64(static_cast<double*>(to), static_cast<const u64*>(from), n);
    return kernels.canonical_nan[3](to, n), true;
  }
  if (kind == f_to_f && from_log == 2 && to_log == 1) {  // container of 32 bits, result in the low half
    kernels.f32_to_f16_words(static_cast<u32*>(to), static_cast<const float*>(from), n);
    return true;
  }
  if (kind == f_to_f && from_log == 3 && to_log == 2) {  // container of 64 bits, result in the low half
    auto* d = static_cast<u64*>(to);
    const auto* s = static_cast<const double*>(from);
#pragma GCC ivdep
    for (std::size_t k = 0; k < n; ++k) {
      const float x = static_cast<float>(s[k]);
      d[k] = x == x ? std::bit_cast<u32>(x) : 0x7fc0'0000u;
    }
    return true;
  }
  return false;
}

void convert_flat(const KernelTable& kernels, unsigned kind, unsigned from_log, unsigned to_log, Rounding mode, void* to, const void* from,
                  std::size_t n) {
  if (host_loop(kernels, kind, from_log, to_log, mode, to, from, n)) return;
  switch (std::max(from_log, to_log)) {
    case 0:
      return loop<u8>(kind, from_log, to_log, mode, to, from, n);
    case 1:
      return loop<u16>(kind, from_log, to_log, mode, to, from, n);
    case 2:
      return loop<u32>(kind, from_log, to_log, mode, to, from, n);
    default:
      return loop<u64>(kind, from_log, to_log, mode, to, from, n);
  }
}

Rounding mode_of(const Core& c, const Insn& i) {
  if (i.sub & truncate) return c.rounding(7), Rounding::rtz;  // a reserved frm traps even here
  if (i.sub & to_odd) return c.rounding(7), Rounding::odd;
  return c.rounding(7);
}

void require_formats(unsigned kind, unsigned from_log, unsigned to_log) {
  if ((float_source(kind) && from_log == 0) || (float_result(kind) && to_log == 0))
    raise(Cause::illegal_instruction, "floating point with 8 bits");
}

void same_width(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const unsigned kind = i.sub & kind_mask;
  require_formats(kind, v.sew, v.sew);
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, v.lmul);
  const Rounding mode = mode_of(c, i);
  if (v.vl == 0) return;
  convert_flat(v.kernels, kind, v.sew, v.sew, mode, v.temp(0), v.reg(i.rs2), flat_elements(v, v.sew));
  v.commit(i.rd, v.temp(0), v.sew, i.unmasked);
}

void widening(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require_widenable();
  const unsigned kind = i.sub & kind_mask, wide = v.sew + 1;
  require_formats(kind, v.sew, wide);
  v.require_dest(i.rd, v.lmul + 1, i.unmasked);
  v.require_group(i.rs2, v.lmul);
  v.require_widening(i.rd, v.lmul + 1, i.rs2, v.lmul);
  const Rounding mode = mode_of(c, i);
  if (v.vl == 0) return;
  v.kernels.widen(v.temp(0), v.reg(i.rs2), VectorUnit::planes_of(v.vl, v.sew), v.sew, v.lanes, false);
  convert_flat(v.kernels, kind, v.sew, wide, mode, v.temp(1), v.temp(0), flat_elements(v, wide));
  v.commit(i.rd, v.temp(1), wide, i.unmasked);
}

void narrowing(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require_widenable();
  const unsigned kind = i.sub & kind_mask, wide = v.sew + 1;
  require_formats(kind, wide, v.sew);
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, v.lmul + 1);
  v.require_narrowing(i.rd, v.lmul, i.rs2, v.lmul + 1);
  const Rounding mode = mode_of(c, i);
  if (v.vl == 0) return;
  const std::size_t planes = VectorUnit::planes_of(v.vl, v.sew);
  convert_flat(v.kernels, kind, wide, v.sew, mode, v.temp(0), v.reg(i.rs2), flat_elements(v, wide));
  v.kernels.narrow(v.temp(1), v.temp(0), planes, v.sew, v.lanes);
  v.commit(i.rd, v.temp(1), v.sew, i.unmasked);
}

}  // namespace

void add_vector_convert(HandlerTable& t) {
  auto sub = [](unsigned kind) { return static_cast<u8>(kind); };
  t.set(Op::VFCVT_XU_F_V, same_width, sub(f_to_xu)), t.set(Op::VFCVT_X_F_V, same_width, sub(f_to_x));
  t.set(Op::VFCVT_F_XU_V, same_width, sub(xu_to_f)), t.set(Op::VFCVT_F_X_V, same_width, sub(x_to_f));
  t.set(Op::VFCVT_RTZ_XU_F_V, same_width, sub(f_to_xu | truncate)), t.set(Op::VFCVT_RTZ_X_F_V, same_width, sub(f_to_x | truncate));
  t.set(Op::VFWCVT_XU_F_V, widening, sub(f_to_xu)), t.set(Op::VFWCVT_X_F_V, widening, sub(f_to_x));
  t.set(Op::VFWCVT_F_XU_V, widening, sub(xu_to_f)), t.set(Op::VFWCVT_F_X_V, widening, sub(x_to_f)),
      t.set(Op::VFWCVT_F_F_V, widening, sub(f_to_f));
  t.set(Op::VFWCVT_RTZ_XU_F_V, widening, sub(f_to_xu | truncate)), t.set(Op::VFWCVT_RTZ_X_F_V, widening, sub(f_to_x | truncate));
  t.set(Op::VFNCVT_XU_F_W, narrowing, sub(f_to_xu)), t.set(Op::VFNCVT_X_F_W, narrowing, sub(f_to_x));
  t.set(Op::VFNCVT_F_XU_W, narrowing, sub(xu_to_f)), t.set(Op::VFNCVT_F_X_W, narrowing, sub(x_to_f)),
      t.set(Op::VFNCVT_F_F_W, narrowing, sub(f_to_f));
  t.set(Op::VFNCVT_ROD_F_F_W, narrowing, sub(f_to_f | to_odd));
  t.set(Op::VFNCVT_RTZ_XU_F_W, narrowing, sub(f_to_xu | truncate)), t.set(Op::VFNCVT_RTZ_X_F_W, narrowing, sub(f_to_x | truncate));
}

}  // namespace torchsim::iss
