#include "address_map.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "error.h"

namespace togsim {
namespace {

constexpr uint32_t kMopColumns = 2;  // column bits below the bank bits

uint32_t log2_of(int value) { return static_cast<uint32_t>(std::bit_width(static_cast<unsigned>(value)) - 1); }

}  // namespace

ChannelInterleave::ChannelInterleave(int32_t channels, bool hashed, uint64_t granules_per_block)
    : channels_(static_cast<uint64_t>(channels)),
      block_(granules_per_block),
      bits_(static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(channels) - 1))),
      shift_(bits_),
      power_of_two_(std::has_single_bit(static_cast<uint64_t>(channels))),
      hashed_(hashed),
      fold_by_halves_(std::has_single_bit(bits_)) {}

ChannelInterleave::ChannelInterleave(const Config& config)
    : ChannelInterleave(config.dram_channels, config.dram_interleave_hashed,
                        static_cast<uint64_t>(std::max(1, config.dram_interleave_bytes / config.request_bytes))) {}

DramMap::DramMap(const DramOrganization& organization, const std::string& name) {
  pseudo_channel_.bits = log2_of(organization.pseudo_channels);
  group_.bits = log2_of(organization.bank_groups);
  bank_.bits = log2_of(organization.banks);
  row_.bits = static_cast<uint32_t>(organization.row_bits);
  column_.bits = static_cast<uint32_t>(organization.column_bits);
  // Fields from the least significant.
  const auto lay_out = [](std::initializer_list<Field*> order) {
    uint32_t shift = 0;
    for (Field* field : order) {
      field->shift = shift;
      shift += field->bits;
    }
  };
  if (name == "RoBaRaCoCh") {
    lay_out({&column_, &pseudo_channel_, &group_, &bank_, &row_});
  } else if (name == "ChRaBaRoCo") {
    lay_out({&column_, &row_, &bank_, &group_, &pseudo_channel_});
  } else if (name == "MOP4CLXOR") {
    column_low_.bits = kMopColumns;
    column_.bits -= kMopColumns;
    lay_out({&column_low_, &pseudo_channel_, &group_, &bank_, &column_, &row_});
    xor_banks_ = true;
  } else {
    throw ConfigError("unknown DRAM address mapping",
                      {"RoBaRaCoCh, MOP4CLXOR or ChRaBaRoCo", name, "dram_mapper", "correct the machine file"});
  }
}

}  // namespace togsim
