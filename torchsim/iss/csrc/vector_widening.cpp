// Widening and narrowing integer arithmetic, extensions (RVV 1.0 sections 11.2, 11.3, 11.7, 11.12, 11.14, 12.5).
// Operands are brought to the wide format first; then the single-width kernels do the work.
#include "handlers.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

/// How to widen the sources; bits of Insn::sub above the operation.
enum : u8 { kSigned2 = 0x40, kSigned1 = 0x80, kOperation = 0x3f };

void require_wide_dest(Core& c, const Insn& i, bool wide_vs2) {
  VectorUnit& v = c.vector;
  v.require_widenable();
  v.require_dest(i.rd, v.lmul + 1, i.unmasked);
  if (wide_vs2) {
    v.require_group(i.rs2, v.lmul + 1);
  } else {
    v.require_group(i.rs2, v.lmul);
    v.require_widening(i.rd, v.lmul + 1, i.rs2, v.lmul);
  }
  if (i.form == Form::vector) {
    v.require_group(i.rs1, v.lmul);
    v.require_widening(i.rd, v.lmul + 1, i.rs1, v.lmul);
  }
}

template <bool WideVs2>
void widening(Core& c, const Insn& i) {
  require_wide_dest(c, i, WideVs2);
  VectorUnit& v = c.vector;
  if (v.vl == 0) return;
  const unsigned wide = v.sew + 1;
  const void* a = v.reg(i.rs2);
  if constexpr (!WideVs2) {
    v.kernels.widen(v.temp(0), v.reg(i.rs2), VectorUnit::planes_of(v.vl, v.sew), v.sew, v.lanes, i.sub & kSigned2);
    a = v.temp(0);
  }
  u64 storage;
  const Operand b = widened_operand(c, i, i.sub & kSigned1, v.temp(1), storage);
  v.kernels.binary[i.sub & kOperation][wide](v.temp(2), a, b.data, flat_elements(v, wide), b.scalar, 0);
  v.commit(i.rd, v.temp(2), wide, i.unmasked);
}

void widening_macc(Core& c, const Insn& i) {
  require_wide_dest(c, i, false);
  VectorUnit& v = c.vector;
  if (v.vl == 0) return;
  const unsigned wide = v.sew + 1;
  v.kernels.widen(v.temp(0), v.reg(i.rs2), VectorUnit::planes_of(v.vl, v.sew), v.sew, v.lanes, i.sub & kSigned2);
  u64 storage;
  const Operand a = widened_operand(c, i, i.sub & kSigned1, v.temp(1), storage);
  std::memcpy(v.temp(2), v.reg(i.rd), VectorUnit::planes_of(v.vl, wide) * v.lanes * 8);
  v.kernels.ternary[static_cast<unsigned>(Tern::macc)][wide](v.temp(2), a.data, v.temp(0), flat_elements(v, wide), a.scalar);
  v.commit(i.rd, v.temp(2), wide, i.unmasked);
}

/// Narrowing shift; Clip: 0 none, 1 unsigned, 2 signed saturation.
template <int Clip>
void narrowing(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require_widenable();
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, v.lmul + 1);
  v.require_narrowing(i.rd, v.lmul, i.rs2, v.lmul + 1);
  if (i.form == Form::vector) v.require_group(i.rs1, v.lmul);
  if (v.vl == 0) return;
  const unsigned wide = v.sew + 1;
  const unsigned width = 8u << v.sew;
  const std::size_t elements = flat_elements(v, wide);
  u64 storage;
  const Operand shift = widened_operand(c, i, false, v.temp(1), storage);
  auto apply = [&](Bin op, const void* a, const void* b, bool scalar) {
    v.kernels.binary[static_cast<unsigned>(op)][wide](v.temp(0), a, b, elements, scalar, v.vxrm);
  };
  apply(static_cast<Bin>(i.sub), v.reg(i.rs2), shift.data, shift.scalar);
  if constexpr (Clip == 1) {
    const u64 most = (u64{1} << width) - 1;
    apply(Bin::minu, v.temp(0), &most, true);
  } else if constexpr (Clip == 2) {
    const u64 most = (u64{1} << (width - 1)) - 1, least = ~most;
    apply(Bin::min, v.temp(0), &most, true);
    apply(Bin::max, v.temp(0), &least, true);
  }
  const std::size_t planes = VectorUnit::planes_of(v.vl, v.sew);
  v.kernels.narrow(v.temp(2), v.temp(0), planes, v.sew, v.lanes);
  v.commit(i.rd, v.temp(2), v.sew, i.unmasked);
}

/// sub: log2 of the factor, bit 7 signed.
void extension(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const unsigned steps = i.sub & 0x7f;
  const int source_emul = v.lmul - static_cast<int>(steps);
  if (v.sew < steps) raise(Cause::illegal_instruction, "no elements of %u bits to extend", 8u << v.sew >> steps);
  v.require_dest(i.rd, v.lmul, i.unmasked);
  v.require_group(i.rs2, source_emul);
  v.require_widening(i.rd, v.lmul, i.rs2, source_emul);
  if (v.vl == 0) return;
  const u64* from = v.reg(i.rs2);
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned log = v.sew - steps + step;
    u64* to = v.temp(step);
    v.kernels.widen(to, from, VectorUnit::planes_of(v.vl, log), log, v.lanes, i.sub & 0x80);
    from = to;
  }
  v.commit(i.rd, from, v.sew, i.unmasked);
}

}  // namespace

void add_vector_widening(HandlerTable& t) {
  auto sub = [](Bin op, u8 flags) { return static_cast<u8>(static_cast<u8>(op) | flags); };
  const u8 both = kSigned1 | kSigned2;
#define W(NAME, BIN, FLAGS) t.set(Op::NAME##_VV, widening<false>, sub(BIN, FLAGS)), t.set(Op::NAME##_VX, widening<false>, sub(BIN, FLAGS))
  W(VWADDU, Bin::add, 0), W(VWADD, Bin::add, both), W(VWSUBU, Bin::sub, 0), W(VWSUB, Bin::sub, both);
  W(VWMULU, Bin::mul, 0), W(VWMUL, Bin::mul, both), W(VWMULSU, Bin::mul, kSigned2);
#undef W
#define W(NAME, BIN, FLAGS) t.set(Op::NAME##_WV, widening<true>, sub(BIN, FLAGS)), t.set(Op::NAME##_WX, widening<true>, sub(BIN, FLAGS))
  W(VWADDU, Bin::add, 0), W(VWADD, Bin::add, both), W(VWSUBU, Bin::sub, 0), W(VWSUB, Bin::sub, both);
#undef W
  t.set(Op::VWMACCU_VV, widening_macc, u8{0}), t.set(Op::VWMACCU_VX, widening_macc, u8{0});
  t.set(Op::VWMACC_VV, widening_macc, both), t.set(Op::VWMACC_VX, widening_macc, both);
  t.set(Op::VWMACCSU_VV, widening_macc, u8{kSigned1}), t.set(Op::VWMACCSU_VX, widening_macc, u8{kSigned1});
  t.set(Op::VWMACCUS_VX, widening_macc, u8{kSigned2});
#define N(NAME, CLIP, BIN) \
  t.set(Op::NAME##_WV, narrowing<CLIP>, BIN), t.set(Op::NAME##_WX, narrowing<CLIP>, BIN), t.set(Op::NAME##_WI, narrowing<CLIP>, BIN)
  N(VNSRL, 0, Bin::srl), N(VNSRA, 0, Bin::sra), N(VNCLIPU, 1, Bin::ssrl), N(VNCLIP, 2, Bin::ssra);
#undef N
  t.set(Op::VZEXT_VF2, extension, u8{1}), t.set(Op::VZEXT_VF4, extension, u8{2}), t.set(Op::VZEXT_VF8, extension, u8{3});
  t.set(Op::VSEXT_VF2, extension, u8{0x81}), t.set(Op::VSEXT_VF4, extension, u8{0x82}), t.set(Op::VSEXT_VF8, extension, u8{0x83});
}

}  // namespace torchsim::iss
