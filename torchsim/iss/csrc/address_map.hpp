// Address map and sizes of docs/isa.md section 1.
#pragma once
#include <cstddef>
#include <cstdint>

namespace torchsim::iss {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr u64 kImageBase = 0x8000'0000;
constexpr u64 kImageWindow = 256ull << 20;
constexpr u64 kSpadBase = 0xD000'0000;
constexpr u64 kStackBase = 0xE000'0000;
constexpr u64 kStackBytes = 16 << 10;
constexpr u64 kStackGuard = 64 << 10;  // accesses this near to the stack are reported as overflows of it
constexpr u64 kTensorBase = 0x10'0000'0000;

constexpr unsigned kVlenBytes = 32;                      // VLEN 256
constexpr unsigned kPlanesPerRegister = kVlenBytes / 8;  // 64-bit planes, see lane_memory.hpp
constexpr unsigned kTagSlots = 1024;
constexpr unsigned kDmaSlots = 4;

}  // namespace torchsim::iss
