// From device address to channel, and from the address inside a channel to bank, row and column.
#ifndef TOGSIM_ADDRESS_MAP_H
#define TOGSIM_ADDRESS_MAP_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dram_spec.h"

namespace togsim {

// Consecutive granules go to consecutive channels, hashed: the granule's low part picks the channel, xor-ed (power of two) or
// added to (else) a fold of its upper part, so that power-of-two strides spread over all channels. One to one.
class ChannelInterleave {
 public:
  explicit ChannelInterleave(int32_t channels);
  struct Place {
    uint32_t channel;
    uint64_t granule;  // number inside the channel
  };
  Place place(uint64_t granule) const {
    const uint64_t low = granule % channels_;
    const uint64_t high = granule / channels_;
    const uint64_t fold = hash(high);
    const uint64_t channel = power_of_two_ ? (low ^ (fold & (channels_ - 1))) : (low + fold) % channels_;
    return {static_cast<uint32_t>(channel), high};
  }

 private:
  uint64_t hash(uint64_t high) const {
    uint64_t h = 0;
    if (bits_ == 0) return 0;
    for (; high != 0; high >>= bits_) h ^= high;
    return h & ((uint64_t{1} << bits_) - 1);
  }
  uint64_t channels_;
  uint32_t bits_ = 0;
  bool power_of_two_;
};

struct DramPlace {
  uint32_t row;
  uint16_t column;
  uint8_t bank;  // over all pseudo-channels and groups
};

// Bit fields of the in-channel transaction number, named from the most to the least significant (Ro row, Ba bank, Ra
// pseudo-channel, Co column, Ch channel: already taken off). MOP4CLXOR: two column bits, pseudo-channel, group, bank, rest of
// the column, row; pseudo-channel, group and bank xor-ed with the low column bits (minimalist open page, Kaseridis et al.,
// MICRO 2011, in the form that Ramulator 2.1 gives it).
class DramMap {
 public:
  DramMap(const DramSpec& spec, const std::string& name);  // throws ConfigError for an unknown name
  DramPlace place(uint64_t transaction) const;

 private:
  enum class Field : uint8_t { ColumnLow, Column, PseudoChannel, Group, Bank, Row };
  std::vector<Field> order_;  // from the least significant
  std::array<uint32_t, 6> bits_{};
  bool xor_banks_ = false;
};

}  // namespace togsim
#endif
