#include "address_map.h"

#include <bit>

#include "error.h"

namespace togsim {
namespace {

constexpr uint32_t kMopColumns = 2;  // column bits below the bank bits

uint32_t log2_of(int value) { return static_cast<uint32_t>(std::bit_width(static_cast<unsigned>(value)) - 1); }

}  // namespace

ChannelInterleave::ChannelInterleave(int32_t channels)
    : channels_(static_cast<uint64_t>(channels)),
      bits_(static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(channels) - 1))),
      power_of_two_(std::has_single_bit(static_cast<uint64_t>(channels))) {}

DramMap::DramMap(const DramSpec& spec, const std::string& name) {
  const auto width = [this](Field f) -> uint32_t& { return bits_[static_cast<size_t>(f)]; };
  width(Field::PseudoChannel) = log2_of(spec.pseudo_channels);
  width(Field::Group) = log2_of(spec.bank_groups);
  width(Field::Bank) = log2_of(spec.banks);
  width(Field::Row) = static_cast<uint32_t>(spec.row_bits);
  width(Field::Column) = static_cast<uint32_t>(spec.column_bits);
  if (name == "RoBaRaCoCh") {
    order_ = {Field::Column, Field::PseudoChannel, Field::Group, Field::Bank, Field::Row};
  } else if (name == "ChRaBaRoCo") {
    order_ = {Field::Column, Field::Row, Field::Bank, Field::Group, Field::PseudoChannel};
  } else if (name == "MOP4CLXOR") {
    width(Field::ColumnLow) = kMopColumns;
    width(Field::Column) -= kMopColumns;
    order_ = {Field::ColumnLow, Field::PseudoChannel, Field::Group, Field::Bank, Field::Column, Field::Row};
    xor_banks_ = true;
  } else {
    throw ConfigError("unknown DRAM address mapping",
                      {"RoBaRaCoCh, MOP4CLXOR or ChRaBaRoCo", name, "dram_mapper", "correct the machine file"});
  }
}

DramPlace DramMap::place(uint64_t transaction) const {
  std::array<uint32_t, 6> value{};
  for (const Field f : order_) {
    const uint32_t bits = bits_[static_cast<size_t>(f)];
    value[static_cast<size_t>(f)] = static_cast<uint32_t>(transaction & ((uint64_t{1} << bits) - 1));
    transaction >>= bits;
  }
  const auto at = [&](Field f) -> uint32_t& { return value[static_cast<size_t>(f)]; };
  const auto width = [&](Field f) { return bits_[static_cast<size_t>(f)]; };
  const uint32_t column = (at(Field::Column) << width(Field::ColumnLow)) | at(Field::ColumnLow);
  if (xor_banks_) {
    uint32_t key = column;
    for (const Field f : {Field::PseudoChannel, Field::Group, Field::Bank}) {
      at(f) ^= key & ((1u << width(f)) - 1);
      key >>= width(f);
    }
  }
  const uint32_t bank = (((at(Field::PseudoChannel) << width(Field::Group)) | at(Field::Group)) << width(Field::Bank)) | at(Field::Bank);
  return {at(Field::Row), static_cast<uint16_t>(column), static_cast<uint8_t>(bank)};
}

}  // namespace togsim
