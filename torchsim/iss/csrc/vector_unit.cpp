#include "vector_unit.hpp"

namespace torchsim::iss {

VectorUnit::VectorUnit(unsigned lane_count, const KernelTable& table)
    : lanes(lane_count), kernels(table), registers_((std::size_t{32} * kPlanesPerRegister + 1) * lane_count) {
  for (PlaneBuffer& temp : temps_) temp = PlaneBuffer((std::size_t{16} * kPlanesPerRegister + 2) * lane_count);
}

void VectorUnit::reset() {
  std::memset(registers_.data(), 0, std::size_t{32} * kPlanesPerRegister * lanes * 8);
  vl = 0;
  vtype = u64{1} << 63;
  vill = true;
  sew = 0;
  lmul = 0;
  vxrm = 0;
}

void VectorUnit::configure(u64 new_vtype, u64 avl, bool keep_vl) {
  const unsigned vsew = static_cast<unsigned>(new_vtype >> 3) & 7, vlmul = static_cast<unsigned>(new_vtype) & 7;
  const int new_lmul = vlmul < 4 ? static_cast<int>(vlmul) : static_cast<int>(vlmul) - 8;
  const u64 old_max = vill ? 0 : vlmax(sew, lmul);
  // SEW <= LMUL * ELEN, ELEN 64
  const bool legal = (new_vtype >> 8) == 0 && vsew <= 3 && vlmul != 4 && static_cast<int>(vsew) <= 3 + std::min(new_lmul, 0);
  if (!legal || (keep_vl && vlmax(vsew, new_lmul) != old_max)) {
    vill = true;
    vtype = u64{1} << 63;
    vl = 0;
    return;
  }
  vill = false;
  vtype = new_vtype;
  sew = vsew;
  lmul = new_lmul;
  if (!keep_vl) vl = std::min(avl, vlmax(sew, lmul));
}

const u64* VectorUnit::expanded_mask(std::size_t planes, unsigned sew_log) {
  kernels.expand_mask(temp(7), mask(), planes, sew_log, lanes);
  return temp(7);
}

void VectorUnit::commit_planes(u64* dest, const u64* value, u64 n, unsigned sew_log, bool unmasked) {
  const std::size_t planes = planes_of(n, sew_log);
  if (planes == 0) return;
  const u64 tail = tail_bits(n, sew_log);
  const std::size_t full = tail == ~u64{0} ? planes : planes - 1;
  if (unmasked) {
    std::memcpy(dest, value, full * lanes * 8);
    if (full < planes) kernels.blend_uniform(dest + full * lanes, value + full * lanes, tail, lanes);
    return;
  }
  expanded_mask(planes, sew_log);
  if (full < planes) {
    u64* last = temp(7) + full * lanes;
    for (unsigned l = 0; l < lanes; ++l) last[l] &= tail;
  }
  kernels.blend(dest, value, temp(7), planes * lanes);
}

void VectorUnit::commit(unsigned vd, const u64* value, unsigned sew_log, bool unmasked) {
  commit_planes(reg(vd), value, vl, sew_log, unmasked);
}

void VectorUnit::commit_mask(unsigned vd, const u64* bits, bool unmasked) {
  u64* dest = reg(vd);
  const u64* v0 = mask();
  for (u64 first = 0; first < vl; first += 64) {
    const u64 within = vl - first >= 64 ? ~u64{0} : (u64{1} << (vl - first)) - 1;
    const std::size_t at = static_cast<std::size_t>(first / 64) * lanes;
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 m = unmasked ? within : within & v0[at + l];
      dest[at + l] = (dest[at + l] & ~m) | (bits[at + l] & m);
    }
  }
}

}  // namespace torchsim::iss
