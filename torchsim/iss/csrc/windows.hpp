// Tensor windows: device address intervals that alias host memory.
#pragma once
#include <algorithm>
#include <vector>

#include "address_map.hpp"

namespace torchsim::iss {

struct Window {
  u64 address;  // device
  u64 bytes;
  u8* host;
  bool readable, writable;
};

class Windows {
 public:
  void assign(std::vector<Window> windows) {
    windows_ = std::move(windows);
    last_ = 0;
  }
  /// Host pointer for [address, address + bytes), or null when no single window holds all of it with that permission.
  u8* find(u64 address, u64 bytes, bool write) {
    for (std::size_t tries = 0; tries < windows_.size(); ++tries) {
      const Window& w = windows_[last_];
      const u64 offset = address - w.address;
      if (offset < w.bytes && bytes <= w.bytes - offset && (write ? w.writable : w.readable)) return w.host + offset;
      last_ = last_ + 1 < windows_.size() ? last_ + 1 : 0;
    }
    return nullptr;
  }
  const std::vector<Window>& all() const { return windows_; }

 private:
  std::vector<Window> windows_;
  std::size_t last_ = 0;  // most recent hit: neighbours in a transfer share a window
};

}  // namespace torchsim::iss
