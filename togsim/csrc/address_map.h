// From device address to channel, and from the address inside a channel to bank, row and column.
#ifndef TOGSIM_ADDRESS_MAP_H
#define TOGSIM_ADDRESS_MAP_H

#include <array>
#include <cstdint>
#include <string>

#include "config.h"
#include "dram_spec.h"

namespace togsim {

// Consecutive blocks of granules go to consecutive channels. Hashed: the block's low part picks the channel, xor-ed (power of two)
// or added to (else) a fold of its upper part, so that power-of-two strides spread over all channels. One to one.
class ChannelInterleave {
 public:
  explicit ChannelInterleave(int32_t channels, bool hashed = true, uint64_t granules_per_block = 1);
  explicit ChannelInterleave(const Config& config);
  struct Place {
    uint32_t channel;
    uint64_t granule;  // number inside the channel
  };
  Place place(uint64_t granule) const {
    if (block_ > 1) {
      const Place block = place_of_block(granule / block_);
      return {block.channel, block.granule * block_ + granule % block_};
    }
    return place_of_block(granule);
  }

  // The places of consecutive granules.
  class Walk {
   public:
    Walk(const ChannelInterleave& interleave, uint64_t granule)
        : interleave_(interleave), granule_(granule), place_(interleave.place(granule)) {}
    const Place& place() const { return place_; }
    void next() {
      const uint64_t before = granule_++;
      if (interleave_.power_of_two_ && interleave_.block_ == 1 && (granule_ & (interleave_.channels_ - 1)) != 0) {
        // The upper part is the same, and so is its fold.
        place_.channel ^= static_cast<uint32_t>((before ^ granule_) & (interleave_.channels_ - 1));
      } else {
        place_ = interleave_.place(granule_);
      }
    }

   private:
    const ChannelInterleave& interleave_;
    uint64_t granule_;
    Place place_;
  };

 private:
  Place place_of_block(uint64_t block) const {
    if (power_of_two_) {
      const uint64_t high = block >> shift_;
      const uint64_t channel = (hashed_ ? block ^ hash(high) : block) & (channels_ - 1);
      return {static_cast<uint32_t>(channel), high};
    }
    const uint64_t high = block / channels_;
    const uint64_t low = block % channels_;
    return {static_cast<uint32_t>(hashed_ ? (low + hash(high)) % channels_ : low), high};
  }
  uint64_t hash(uint64_t high) const {
    if (bits_ == 0) return 0;
    if (fold_by_halves_) {
      for (uint32_t half = 32; half >= bits_; half /= 2) high ^= high >> half;
      return high & ((uint64_t{1} << bits_) - 1);
    }
    uint64_t h = 0;
    for (; high != 0; high >>= bits_) h ^= high;
    return h & ((uint64_t{1} << bits_) - 1);
  }
  uint64_t channels_;
  uint64_t block_;
  uint32_t bits_ = 0;
  uint32_t shift_ = 0;
  bool power_of_two_;
  bool hashed_;
  bool fold_by_halves_ = false;  // 64 is a power-of-two multiple of bits_
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
  DramMap(const DramOrganization& organization, const std::string& name);  // throws ConfigError for an unknown name

  DramPlace place(uint64_t transaction) const {
    const auto column = static_cast<uint32_t>(column_.of(transaction) | (transaction & column_low_));
    const uint64_t bank = banks_.of(transaction) ^ (column & xor_);
    return {static_cast<uint32_t>(row_.of(transaction)), static_cast<uint16_t>(column), bank_of_[bank]};
  }

 private:
  class Field {
   public:
    // `bits` bits from `from` on, as bits `to` and up of the result.
    void set(uint32_t from, uint32_t bits, uint32_t to = 0) { shift_ = from - to, mask_ = ((uint64_t{1} << bits) - 1) << to; }
    uint64_t of(uint64_t transaction) const { return (transaction >> shift_) & mask_; }

   private:
    uint32_t shift_ = 0;
    uint64_t mask_ = 0;
  };

  Field column_, row_;
  Field banks_;              // pseudo-channel, group and bank; side by side in every mapping
  uint64_t column_low_ = 0;  // mask of column bits that are the lowest of the transaction number
  uint32_t xor_ = 0;         // bits of the column that are xor-ed with those of banks_
  std::array<uint8_t, kMaxBanks> bank_of_{};
};

}  // namespace togsim
#endif
