// Scalar loads and stores: image, lane 0 of a bank for loads, all lanes for stores.
#pragma once
#include "core.hpp"

namespace torchsim::iss {

template <class T>
T scalar_load(Core& c, u64 address) {
  const Place place = c.memory.locate(address, sizeof(T), sizeof(T), Access::scalar_load);
  T value;
  if (!place.bank) {
    std::memcpy(&value, c.memory.image() + place.offset, sizeof(T));
    return value;
  }
  std::memcpy(&value, place.bank->at(0, place.offset), sizeof(T));
  if (c.noting()) c.note_read_lane(place, sizeof(T), 0);
  if (c.options.check_divergence) {
    for (unsigned l = 1; l < c.lanes; ++l) {
      if (std::memcmp(&value, place.bank->at(l, place.offset), sizeof(T)) != 0)
        raise(Cause::lane_divergence, "scalar load of %zu bytes at 0x%llx: lane %u differs from lane 0", sizeof(T),
              static_cast<unsigned long long>(address), l);
    }
  }
  return value;
}

template <class T>
void scalar_store(Core& c, u64 address, T value) {
  const Place place = c.memory.locate(address, sizeof(T), sizeof(T), Access::scalar_store);
  if (!place.bank) {
    std::memcpy(c.memory.image() + place.offset, &value, sizeof(T));
    return;
  }
  place.bank->mark_dirty(place.offset, sizeof(T));
  u8* at = place.bank->at(0, place.offset);
  for (unsigned l = 0; l < c.lanes; ++l, at += 8) std::memcpy(at, &value, sizeof(T));
  if (c.noting()) c.note_write(place, sizeof(T));
}

}  // namespace torchsim::iss
