// DMA engine: transfers and the queues of tag slots (docs/isa.md section 4).
#pragma once
#include <deque>
#include <vector>

#include "dma_walk.hpp"
#include "intervals.hpp"
#include "memory.hpp"
#include "windows.hpp"

namespace torchsim::iss {

/// One issued MVIN* or MVOUT with everything it read at issue.
struct Transfer {
  DmaConfig config;
  bool store = false;
  u8 slot = 0;
  int tag = -1;  // -1: synchronous
  u64 dram = 0, spad = 0, pc = 0;
  std::vector<u64> offsets;  // indirect: byte offset of each position, by linear index; empty otherwise
};

class DmaEngine {
 public:
  DmaEngine(Memory& memory, unsigned lanes) : memory_(memory), lanes_(lanes), queues_(kTagSlots) {}

  /// `fill`: loads write zeros to active positions, stores do nothing, DRAM and index arrays are not looked at.
  void reset(std::vector<Window> windows, bool late, bool fill);
  const Windows& windows() const { return windows_; }
  DmaSlots& slots() { return slots_; }
  void tag(u64 slot);
  /// Issue a transfer. Returns the number of tile positions it visits, round-up positions included.
  u64 issue(Transfer& transfer);
  /// Complete the `count` oldest transfers of a tag slot (0: all).
  void wait(u64 slot, u64 count);
  /// Traps when transfers are left over.
  void finish() const;
  /// In-lane scratchpad bytes that a transfer touches.
  Intervals footprint(const Transfer& transfer) const;

 private:
  void check(const Transfer& transfer, const Tile& tile);
  void check_dram(const Transfer& transfer, const Tile& tile);
  void read_indices(Transfer& transfer, const Tile& tile);
  void complete(const Transfer& transfer);
  void poison(const Transfer& transfer);
  template <class T>
  void load(const Transfer& transfer, const Tile& tile);
  template <class T, class Combine>
  void store(const Transfer& transfer, const Tile& tile, Combine combine);
  void accumulate(const Transfer& transfer, const Tile& tile);

  Memory& memory_;
  unsigned lanes_;
  Windows windows_;
  DmaSlots slots_;
  bool late_ = false, fill_ = false;
  int pending_tag_ = -1;
  u64 outstanding_ = 0;
  std::vector<std::deque<Transfer>> queues_;
};

}  // namespace torchsim::iss
