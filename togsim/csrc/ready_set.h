// Instructions of a work-item that wait for no other instruction, visited in program order.
//
// They are kept by what may keep them from issuing: a full load queue blocks every load, a lack of scratchpad every instruction
// that opens a version. A scan leaves out the groups that are blocked and does not walk them.
#ifndef TOGSIM_READY_SET_H
#define TOGSIM_READY_SET_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "op.h"

namespace togsim {

// Instruction numbers as a bit set of two levels.
class InstructionSet {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit InstructionSet(uint32_t instructions = 0) : words_((instructions + 63) / 64, 0), filled_((words_.size() + 63) / 64, 0) {}

  void insert(uint32_t i) {
    const size_t w = i / 64;
    words_[w] |= bit(i);
    filled_[w / 64] |= bit(w);
    first_ = std::min(first_, w / 64);
  }
  void erase(uint32_t i) {
    const size_t w = i / 64;
    words_[w] &= ~bit(i);
    if (words_[w] == 0) filled_[w / 64] &= ~bit(w);
  }

  // Smallest member >= `from`, or kNone. Members may come and go between calls.
  uint32_t next(uint32_t from) {
    size_t w = from / 64;
    if (w >= words_.size()) return kNone;
    if (const uint64_t bits = words_[w] & (~uint64_t{0} << (from % 64)); bits != 0) return at(w, bits);
    // The next word that is not empty. All before first_ are: a long work-item is not walked from its start every time.
    while (first_ < filled_.size() && filled_[first_] == 0) ++first_;
    ++w;
    size_t f = std::max(w / 64, first_);
    if (f >= filled_.size()) return kNone;
    uint64_t bits = filled_[f];
    if (f == w / 64) bits &= ~uint64_t{0} << (w % 64);
    while (bits == 0) {
      if (++f == filled_.size()) return kNone;
      bits = filled_[f];
    }
    w = at(f, bits);
    return at(w, words_[w]);
  }

 private:
  static uint64_t bit(size_t i) { return uint64_t{1} << (i % 64); }
  static uint32_t at(size_t word, uint64_t bits) { return static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits))); }

  std::vector<uint64_t> words_;
  std::vector<uint64_t> filled_;  // words that are not empty
  size_t first_ = 0;              // all of filled_ before it is zero
};

class ReadySet {
 public:
  static constexpr uint32_t kNone = InstructionSet::kNone;
  using Groups = uint32_t;  // a bit for each group
  static constexpr Groups kAll = 0xff;
  static constexpr Groups kLoads = 0x03, kStores = 0x0c, kPreloads = 0x30, kOpeners = 0xaa;  // kOpeners: of all four kinds

  explicit ReadySet(uint32_t instructions = 0) : all_(instructions) { sets_.fill(all_); }

  // The group of an instruction; `opens`: it opens versions.
  static uint8_t group(Op op, bool opens) {
    const uint8_t kind = op == Op::Load ? 0 : op == Op::Store ? 1 : op == Op::Preload ? 2 : 3;
    return static_cast<uint8_t>(2 * kind + (opens ? 1 : 0));
  }
  void insert(uint32_t i, uint8_t group) {
    all_.insert(i);
    sets_[group].insert(i);
    ++members_[group];
    filled_ |= Groups{1} << group;
  }
  void erase(uint32_t i, uint8_t group) {
    all_.erase(i);
    sets_[group].erase(i);
    if (--members_[group] == 0) filled_ &= ~(Groups{1} << group);
  }

  // Smallest member >= `from` of the groups, or kNone.
  uint32_t next(uint32_t from, Groups groups) {
    if (groups == kAll) return all_.next(from);
    uint32_t found = kNone;
    for (Groups left = groups & filled_; left != 0; left &= left - 1) {
      found = std::min(found, sets_[static_cast<size_t>(std::countr_zero(left))].next(from));
    }
    return found;
  }

 private:
  InstructionSet all_;  // regardless of group
  std::array<InstructionSet, 8> sets_;
  std::array<uint32_t, 8> members_{};
  Groups filled_ = 0;  // groups that have members
};

}  // namespace togsim
#endif
