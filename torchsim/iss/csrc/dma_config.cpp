#include "dma_config.hpp"

#include "trap.hpp"

namespace torchsim::iss {
namespace {

std::array<u32, 4> quarters(u64 value) {
  return {static_cast<u32>(value >> 48), static_cast<u32>(value >> 32) & 0xffff, static_cast<u32>(value >> 16) & 0xffff,
          static_cast<u32>(value) & 0xffff};
}

std::array<i32, 4> strides(u64 rs1, u64 rs2) {
  return {static_cast<i32>(rs1 >> 32), static_cast<i32>(rs1), static_cast<i32>(rs2 >> 32), static_cast<i32>(rs2)};
}

bool is_element_size(u64 bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

DmaConfig from_config(u64 rs1, u64 rs2) {
  DmaConfig c;
  c.extent = quarters(rs1);
  c.high = c.extent;
  c.vlane_stride = static_cast<u32>(rs2 >> 32);
  c.indirect = (rs2 >> 16) & 1;
  c.split = (rs2 >> 14) & 3;
  const u64 bytes = rs2 & 0x3fff;
  for (unsigned a = 0; a < 4; ++a) {
    if (c.extent[a] == 0) raise(Cause::dma_configuration, "CONFIG: extent of dimension %u is 0", a);
  }
  if (c.vlane_stride == 0) raise(Cause::dma_configuration, "CONFIG: vlane_stride is 0");
  if (!is_element_size(bytes))
    raise(Cause::dma_configuration, "CONFIG: %llu bytes of an element; 1, 2, 4 or 8 are legal", static_cast<unsigned long long>(bytes));
  c.element_bytes = static_cast<u8>(bytes);
  return c;
}

}  // namespace

DmaConfig& DmaSlots::selected() {
  if (selected_ < 0) raise(Cause::dma_configuration, "no CONFIG has selected a slot yet");
  return slots_[static_cast<unsigned>(selected_)];
}

void DmaSlots::configure(unsigned funct7, u64 rs1, u64 rs2) {
  switch (funct7) {
    case 0: {
      const DmaConfig config = from_config(rs1, rs2);
      selected_ = (rs2 >> 17) & 3;
      slots_[static_cast<unsigned>(selected_)] = config;
      return;
    }
    case 4:
      selected().dram_stride = strides(rs1, rs2);
      return;
    case 5:
      selected().spad_stride = strides(rs1, rs2);
      return;
    case 6: {
      DmaConfig& c = selected();
      const unsigned bytes = (rs2 >> 16) & 0xff;
      if (bytes != 4 && bytes != 8) raise(Cause::dma_configuration, "CONFIG4: %u bytes of an index; 4 or 8 are legal", bytes);
      c.index_address = rs1;
      c.index_stride = static_cast<u16>(rs2);
      c.index_bytes = static_cast<u8>(bytes);
      return;
    }
    case 8: {
      DmaConfig& c = selected();
      c.low = quarters(rs1);
      c.high = quarters(rs2);
      return;
    }
    default: {  // 9, CONFIG_FILL
      DmaConfig& c = selected();
      const unsigned type = rs2 & 0xff;
      const bool accumulate = (rs2 >> 8) & 1;
      if (type > 9) raise(Cause::dma_configuration, "CONFIG_FILL: element type code %u; 0..9 are legal", type);
      if (accumulate && (type == 0 || type == 5 || type == 8))
        raise(Cause::dma_configuration, "CONFIG_FILL: accumulate is not defined for element type code %u", type);
      c.fill = rs1;
      c.type = static_cast<u8>(type);
      c.accumulate = accumulate;
      return;
    }
  }
}

}  // namespace torchsim::iss
