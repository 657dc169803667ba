// The address map as the scalar and vector pipelines see it (docs/isa.md section 1).
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "lane_memory.hpp"
#include "trap.hpp"

namespace torchsim::iss {

enum class Access : u8 { scalar_load, scalar_store, vector_load, vector_store };

/// Where an address leads: a lane-private bank, or the image when `bank` is null.
struct Place {
  LaneMemory* bank;
  u64 offset;
};

class Memory {
 public:
  Memory(std::size_t spad_bytes_per_lane, unsigned lanes);

  /// Load an image and restore poison; `track` switches on the record of initialised scratchpad bytes.
  void reset(std::span<const u8> image, u64 base, u8 spad_fill, bool track);

  /// Traps unless the access is legal. `align` is a power of two; bytes >= 1.
  Place locate(u64 address, u64 bytes, u64 align, Access access) {
    if (address & (align - 1)) [[unlikely]]
      misaligned(address, align);
    if (const std::optional<Place> place = probe(address, bytes, access)) [[likely]]
      return *place;
    refuse(address, bytes, access);
  }

  /// As locate, without a trap; ignores alignment.
  std::optional<Place> probe(u64 address, u64 bytes, Access access) {
    const u64 in_spad = address - kSpadBase;
    if (in_spad < spad_.bytes() && bytes <= spad_.bytes() - in_spad) [[likely]]
      return Place{&spad_, in_spad};
    const u64 in_stack = address - kStackBase;
    if (in_stack < kStackBytes && bytes <= kStackBytes - in_stack) return Place{&stack_, in_stack};
    const u64 in_image = address - base_;
    if (in_image < size_ && bytes <= size_ - in_image && access != Access::vector_store) return Place{nullptr, in_image};
    return std::nullopt;
  }

  u8* image() { return image_.data(); }  // followed by at least 8 zero bytes
  u64 base() const { return base_; }
  u64 size() const { return size_; }
  LaneMemory& spad() { return spad_; }
  LaneMemory& stack() { return stack_; }

  /// Bytes that hold 0xff where the scratchpad byte has been written since reset; null when not tracked.
  LaneMemory* initialised() { return tracking_ ? &*initialised_ : nullptr; }
  bool is_spad(const LaneMemory* bank) const { return bank == &spad_; }

 private:
  [[noreturn, gnu::cold]] static void misaligned(u64 address, u64 align);
  [[noreturn, gnu::cold]] void refuse(u64 address, u64 bytes, Access access) const;

  unsigned lanes_;
  LaneMemory spad_, stack_;
  std::optional<LaneMemory> initialised_;
  bool tracking_ = false;
  std::vector<u8> image_;
  u64 base_ = kImageBase, size_ = 0;
};

}  // namespace torchsim::iss
