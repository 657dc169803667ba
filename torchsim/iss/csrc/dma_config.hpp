// The four DMA configuration slots (docs/isa.md section 3).
#pragma once
#include <array>

#include "address_map.hpp"

namespace torchsim::iss {

/// State of one slot. Axis 0 is outermost; strides count elements.
struct DmaConfig {
  std::array<u32, 4> extent{}, low{}, high{};
  std::array<i32, 4> dram_stride{}, spad_stride{};
  u32 vlane_stride = 1;
  u8 split = 0;
  u8 element_bytes = 0;  // 0: the slot was never configured
  bool indirect = false;
  u64 index_address = 0;
  u16 index_stride = 0;
  u8 index_bytes = 0;
  u64 fill = 0;
  u8 type = 0;
  bool accumulate = false;
};

class DmaSlots {
 public:
  void reset() { *this = DmaSlots(); }
  /// One CONFIG* instruction by its funct7. Traps on values that docs/isa.md forbids.
  void configure(unsigned funct7, u64 rs1, u64 rs2);
  const DmaConfig& operator[](unsigned slot) const { return slots_[slot]; }

 private:
  DmaConfig& selected();
  std::array<DmaConfig, kDmaSlots> slots_{};
  int selected_ = -1;
};

}  // namespace torchsim::iss
