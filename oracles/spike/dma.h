// The DMA engine: configuration slots, transfers and their completion (docs/isa.md sections 2 to 4).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "memory.h"

namespace npu {

// Thrown by NPU instructions; the machine turns it into a trap.
struct Fault {
  const char* cause;   // a name of docs/isa.md section 6
  uint64_t value = 0;  // address, slot or operand at fault
};

using Four = std::array<int64_t, 4>;

struct Slot {
  bool configured = false;
  Four extent{}, dram_stride{}, spad_stride{}, low{}, high{};
  int64_t vlane_stride = 1;
  unsigned split = 0, element_bytes = 0, type = 0;
  bool indirect = false, accumulate = false;
  uint64_t fill = 0;
  uint64_t index_base = 0;
  int64_t index_stride = 0;
  unsigned index_bytes = 0;  // 0: no CONFIG4 since CONFIG
};

struct Transfer {
  Slot slot;
  bool store = false;
  uint64_t dram = 0, spad = 0;
  std::vector<int64_t> shift;  // indirect: elements added to the DRAM address, by linear position
  bool complete = false;
};

class Dma {
 public:
  enum Which { kMvin = 0, kMvin2 = 1, kMvin3 = 2, kMvout = 3 };
  explicit Dma(Memory& memory) : memory_(memory) {}

  void reset(bool late);
  void config(uint64_t extents, uint64_t layout);
  void config_dram_strides(uint64_t outer, uint64_t inner);
  void config_spad_strides(uint64_t outer, uint64_t inner);
  void config_index(uint64_t base, uint64_t layout);
  void config_mask(uint64_t low, uint64_t high);
  void config_fill(uint64_t value, uint64_t layout);
  void transfer(Which which, uint64_t dram, uint64_t spad);
  void tag(uint64_t slot);
  void wait(uint64_t slot, uint64_t count);
  void block(uint64_t id, uint64_t end);
  void finish() const;  // faults if a transfer was never waited for

 private:
  struct Position;
  template <class Visit>
  void walk(const Slot& slot, bool round_up, Visit visit) const;
  uint64_t spad_address(uint64_t base, const Position& position, unsigned bytes) const;
  void read_indices(Transfer& transfer);
  void poison(const Transfer& transfer);
  void complete(Transfer& transfer);
  Slot& selected();
  void outside_block() const;

  Memory& memory_;
  bool late_ = false, in_block_ = false;
  uint64_t block_id_ = 0;
  int selected_ = -1, tag_ = -1;
  std::array<Slot, 4> slots_{};
  std::map<uint64_t, std::deque<Transfer>> queues_;
};

}  // namespace npu
