// Single elements of all lanes: element e of a group as an array of `lanes` values.
#pragma once
#include "vector_unit.hpp"

namespace torchsim::iss {

inline void get_element(const VectorUnit& v, void* out, const u64* group, u64 e, unsigned sew_log) {
  const u64 byte = e << sew_log;
  v.kernels.get_element(out, group + byte / 8 * v.lanes, byte & 7, sew_log, v.lanes);
}

inline void put_element(const VectorUnit& v, u64* group, const void* in, u64 e, unsigned sew_log) {
  const u64 byte = e << sew_log;
  v.kernels.put_element(group + byte / 8 * v.lanes, in, byte & 7, sew_log, v.lanes);
}

/// The same element in one lane.
inline u64 lane_element(const VectorUnit& v, const u64* group, u64 e, unsigned sew_log, unsigned lane) {
  const u64 byte = e << sew_log;
  const u64 word = group[byte / 8 * v.lanes + lane] >> (8 * (byte & 7));
  return sew_log == 3 ? word : word & ((u64{1} << (8u << sew_log)) - 1);
}

inline void set_lane_element(const VectorUnit& v, u64* group, u64 e, unsigned sew_log, unsigned lane, u64 value) {
  const u64 byte = e << sew_log;
  u64& word = group[byte / 8 * v.lanes + lane];
  const u64 keep = sew_log == 3 ? ~u64{0} : (u64{1} << (8u << sew_log)) - 1;
  const unsigned shift = 8 * (byte & 7);
  word = (word & ~(keep << shift)) | ((value & keep) << shift);
}

/// Mask bit of element e of one lane in a mask register.
inline bool mask_bit(const VectorUnit& v, const u64* mask, u64 e, unsigned lane) { return mask[e / 64 * v.lanes + lane] >> (e % 64) & 1; }

/// All-ones or zero word for each lane: is element e active under the mask?
inline void lane_mask(const VectorUnit& v, u64* out, const u64* mask, u64 e) {
  const u64* words = mask + e / 64 * v.lanes;
  const unsigned shift = e % 64;
  for (unsigned l = 0; l < v.lanes; ++l) out[l] = u64{0} - (words[l] >> shift & 1);
}

}  // namespace torchsim::iss
