// Opt-in records of scratchpad accesses: initialisation and the footprint of blocks.
#include <cinttypes>

#include "core.hpp"

namespace torchsim::iss {
namespace {

constexpr u64 byte_mask(u64 from, u64 bytes) { return (bytes >= 8 ? ~u64{0} : (u64{1} << (8 * bytes)) - 1) << (8 * from); }

/// Calls f(plane, mask of the touched bytes) for each plane of a byte range.
template <class F>
void planes_of_range(u64 offset, u64 bytes, F f) {
  for (u64 at = offset; at < offset + bytes;) {
    const u64 within = at & 7, count = std::min<u64>(8 - within, offset + bytes - at);
    f(static_cast<std::size_t>(at / 8), byte_mask(within, count));
    at += count;
  }
}

[[noreturn]] void uninitialised(u64 offset, u64 bytes, unsigned lane) {
  raise(Cause::uninitialised_scratchpad_read,
        "read of scratchpad bytes [0x%" PRIx64 ", 0x%" PRIx64 ") of lane %u, of which some were never written", offset, offset + bytes,
        lane);
}

}  // namespace

void Core::note_read(const Place& place, u64 bytes, const u64* active) {
  if (!notes_ || !memory.is_spad(place.bank) || bytes == 0) return;
  if (options.footprint && in_block_) log.reads.add(place.offset, place.offset + bytes);
  LaneMemory* known = memory.initialised();
  if (!known) return;
  planes_of_range(place.offset, bytes, [&](std::size_t plane, u64 mask) {
    const u64* words = known->plane(plane);
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 wanted = active ? mask & active[l] : mask;
      if ((words[l] & wanted) != wanted) uninitialised(place.offset, bytes, l);
    }
  });
}

void Core::note_write(const Place& place, u64 bytes, const u64* active) {
  if (!notes_ || !memory.is_spad(place.bank) || bytes == 0) return;
  if (options.footprint && in_block_) log.writes.add(place.offset, place.offset + bytes);
  LaneMemory* known = memory.initialised();
  if (!known) return;
  known->mark_dirty(place.offset, bytes);
  planes_of_range(place.offset, bytes, [&](std::size_t plane, u64 mask) {
    u64* words = known->plane(plane);
    for (unsigned l = 0; l < lanes; ++l) words[l] |= active ? mask & active[l] : mask;
  });
}

void Core::note_read_lane(const Place& place, u64 bytes, unsigned lane) {
  if (!notes_ || !memory.is_spad(place.bank)) return;
  if (options.footprint && in_block_) log.reads.add(place.offset, place.offset + bytes);
  LaneMemory* known = memory.initialised();
  if (!known) return;
  planes_of_range(place.offset, bytes, [&](std::size_t plane, u64 mask) {
    if ((known->plane(plane)[lane] & mask) != mask) uninitialised(place.offset, bytes, lane);
  });
}

void Core::note_write_lane(const Place& place, u64 bytes, unsigned lane) {
  if (!notes_ || !memory.is_spad(place.bank)) return;
  if (options.footprint && in_block_) log.writes.add(place.offset, place.offset + bytes);
  LaneMemory* known = memory.initialised();
  if (!known) return;
  known->mark_dirty(place.offset, bytes);
  planes_of_range(place.offset, bytes, [&](std::size_t plane, u64 mask) { known->plane(plane)[lane] |= mask; });
}

}  // namespace torchsim::iss
