// Storage with one private copy per lane: scratchpad, stack, vector registers.
//
// Layout: 64-bit *planes* with the lane innermost. Plane d of lane l is word [d * lanes + l] and holds the bytes
// 8d..8d+7 of that lane's memory. So n bytes from an 8-byte aligned place are one contiguous host range for all lanes
// together, elements of every width keep their byte order inside the plane (little-endian host), and one host SIMD loop over
// (elements x lanes) does what the hardware does in all lanes at once.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "address_map.hpp"

namespace torchsim::iss {

/// 64-byte aligned array of words; contents are zero at construction.
class PlaneBuffer {
 public:
  explicit PlaneBuffer(std::size_t words = 0) : words_(words) {
    if (words == 0) return;
    const std::size_t bytes = (words * 8 + 63) / 64 * 64;
    data_.reset(static_cast<u64*>(std::aligned_alloc(64, bytes)));
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes);
  }
  u64* data() { return data_.get(); }
  const u64* data() const { return data_.get(); }
  std::size_t size() const { return words_; }

 private:
  struct Free {
    void operator()(u64* p) const { std::free(p); }
  };
  std::unique_ptr<u64[], Free> data_;
  std::size_t words_;
};

/// One bank per lane at a common address range. Offsets are bytes within a lane and must be in range.
class LaneMemory {
 public:
  LaneMemory(std::size_t bytes_per_lane, unsigned lanes)
      : bytes_((bytes_per_lane + 7) / 8 * 8), lanes_(lanes), words_((bytes_ / 8 + 1) * lanes), dirty_low_(bytes_), dirty_high_(0) {}

  std::size_t bytes() const { return bytes_; }
  u64* plane(std::size_t dword) { return words_.data() + dword * lanes_; }
  const u64* plane(std::size_t dword) const { return words_.data() + dword * lanes_; }

  /// Host pointer to a byte; an element of at most 8 bytes at an aligned offset is contiguous from here.
  u8* at(unsigned lane, std::size_t offset) { return reinterpret_cast<u8*>(words_.data() + (offset >> 3) * lanes_ + lane) + (offset & 7); }
  const u8* at(unsigned lane, std::size_t offset) const {
    return reinterpret_cast<const u8*>(words_.data() + (offset >> 3) * lanes_ + lane) + (offset & 7);
  }

  /// Every write announces its range first, so that reset() touches no more than was used.
  void mark_dirty(std::size_t offset, std::size_t bytes) {
    dirty_low_ = std::min(dirty_low_, offset);
    dirty_high_ = std::max(dirty_high_, offset + bytes);
  }

  /// Set every byte to fill, given that reset or the constructor's caller did so before with the same fill.
  void reset(u8 fill) {
    if (fill != fill_) mark_dirty(0, bytes_);
    fill_ = fill;
    if (dirty_low_ < dirty_high_) {
      const std::size_t first = dirty_low_ / 8, last = (std::min(dirty_high_, bytes_) + 7) / 8;
      std::memset(plane(first), fill, (last - first) * lanes_ * 8);
    }
    dirty_low_ = bytes_;
    dirty_high_ = 0;
  }

 private:
  std::size_t bytes_;
  unsigned lanes_;
  PlaneBuffer words_;
  std::size_t dirty_low_, dirty_high_;
  u8 fill_ = 0;
};

}  // namespace torchsim::iss
