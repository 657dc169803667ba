// Memories of one lane NPU: address map, image, scratchpad and stack banks, tensor windows (docs/isa.md section 1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace npu {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kImageBase = 0x8000'0000, kImageSpan = 256 << 20;
constexpr uint64_t kSpadBase = 0xD000'0000;
constexpr uint64_t kStackBase = 0xE000'0000, kStackBytes = 16 << 10, kStackGuard = 64 << 10;
constexpr uint64_t kTensorBase = 0x10'0000'0000;

// Equal banks, one per lane, at one address. Remembers which offsets may have been written, so that clearing
// and copying out cost what the kernel used and not what the machine has.
class Banks {
 public:
  Banks(unsigned lanes, uint64_t base, uint64_t bytes) : base_(base), bytes_(bytes), lanes_(lanes), cells_(lanes * bytes), low_(bytes) {}

  bool contains(uint64_t address, uint64_t length = 1) const { return address - base_ < bytes_ && length <= bytes_ - (address - base_); }
  uint8_t* at(unsigned lane, uint64_t address) { return cells_.data() + lane * bytes_ + (address - base_); }
  void touch(uint64_t address, uint64_t length) {
    low_ = std::min(low_, address - base_);
    high_ = std::max(high_, address - base_ + length);
  }
  void store_all(uint64_t address, const uint8_t* source, uint64_t length) {
    touch(address, length);
    for (unsigned lane = 0; lane < lanes_; ++lane) std::memcpy(at(lane, address), source, length);
  }
  void clear(uint8_t fill = 0) {
    if (fill != fill_) low_ = 0, high_ = bytes_;
    if (low_ < high_)
      for (unsigned lane = 0; lane < lanes_; ++lane) std::memset(at(lane, base_ + low_), fill, high_ - low_);
    fill_ = fill, low_ = bytes_, high_ = 0;
  }
  uint64_t used() const { return high_; }  // one past the last offset that may differ from the fill
  uint64_t bytes() const { return bytes_; }
  uint64_t base() const { return base_; }
  unsigned lanes() const { return lanes_; }

 private:
  uint64_t base_, bytes_;
  unsigned lanes_;
  std::vector<uint8_t> cells_;
  uint64_t low_, high_ = 0;
  uint8_t fill_ = 0;
};

// A tensor as DMA sees it.
struct Window {
  uint64_t base = 0;
  bool writable = false;
  std::vector<uint8_t> bytes;

  bool contains(uint64_t address, uint64_t length) const {
    return address >= base && address - base <= bytes.size() && length <= bytes.size() - (address - base);
  }
};

struct Memory {
  Memory(unsigned lanes, uint64_t spad_bytes) : spad(lanes, kSpadBase, spad_bytes), stack(lanes, kStackBase, kStackBytes) {}

  bool in_image(uint64_t address) const { return address - kImageBase < image.size(); }
  uint8_t* tensor(uint64_t address, uint64_t length, bool write) {
    for (auto& window : windows)
      if (window.contains(address, length) && (window.writable || !write)) return window.bytes.data() + (address - window.base);
    return nullptr;
  }

  std::vector<uint8_t> image;  // whole pages from kImageBase
  uint64_t image_bytes = 0;    // of them, what was loaded
  Banks spad, stack;
  std::vector<Window> windows;
};

}  // namespace npu
