#include "address_map.h"

#include <algorithm>
#include <bit>

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
  const uint32_t pseudo_channel = log2_of(organization.pseudo_channels);
  const uint32_t group = log2_of(organization.bank_groups);
  const uint32_t bank = log2_of(organization.banks);
  const uint32_t banks = pseudo_channel + group + bank;
  const auto row = static_cast<uint32_t>(organization.row_bits);
  const auto column = static_cast<uint32_t>(organization.column_bits);
  bool pseudo_channel_lowest = true;  // then group, then bank; else the other way round
  if (name == "RoBaRaCoCh") {
    column_.set(0, column);
    banks_.set(column, banks);
    row_.set(column + banks, row);
  } else if (name == "ChRaBaRoCo") {
    column_.set(0, column);
    row_.set(column, row);
    banks_.set(column + row, banks);
    pseudo_channel_lowest = false;
  } else if (name == "MOP4CLXOR") {
    column_low_ = (uint64_t{1} << kMopColumns) - 1;
    banks_.set(kMopColumns, banks);
    column_.set(kMopColumns + banks, column - kMopColumns, kMopColumns);
    row_.set(column + banks, row);
    xor_ = (1u << banks) - 1;
  } else {
    throw ConfigError("unknown DRAM address mapping",
                      {"RoBaRaCoCh, MOP4CLXOR or ChRaBaRoCo", name, "dram_mapper", "correct the machine file"});
  }
  for (uint32_t bits = 0; bits < 1u << banks; ++bits) {
    const uint32_t p = bits & ((1u << pseudo_channel) - 1);
    const uint32_t g = (bits >> pseudo_channel) & ((1u << group) - 1);
    const uint32_t b = bits >> (pseudo_channel + group);
    bank_of_[bits] = static_cast<uint8_t>(pseudo_channel_lowest ? ((p << group | g) << bank) | b : bits);
  }
}

}  // namespace togsim
