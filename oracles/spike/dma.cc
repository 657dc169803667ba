#include "dma.h"

#include <limits>
#include <utility>

namespace npu {
namespace {

constexpr uint8_t kPoison = 0xA5;
constexpr uint64_t kTagSlots = 1024;

// Element type codes of CONFIG_FILL.
enum Type : unsigned { kNone, kI8, kI16, kI32, kI64, kF16, kF32, kF64, kBF16, kU8 };
constexpr unsigned kTypeBytes[] = {0, 1, 2, 4, 8, 2, 4, 8, 2, 1};

Four four_halves(uint64_t bits) {
  Four fields;
  for (int axis = 0; axis < 4; ++axis) fields[axis] = bits >> (48 - 16 * axis) & 0xffff;
  return fields;
}

Four four_strides(uint64_t outer, uint64_t inner) {
  const auto word = [](uint64_t bits) { return static_cast<int64_t>(static_cast<int32_t>(bits)); };
  return {word(outer >> 32), word(outer), word(inner >> 32), word(inner)};
}

template <class T>
void add_float(uint8_t* target, const uint8_t* value) {
  T a, b;
  std::memcpy(&a, target, sizeof a);
  std::memcpy(&b, value, sizeof b);
  T sum = a + b;
  if (sum != sum) sum = std::numeric_limits<T>::quiet_NaN();  // canonical: x86's own default NaN has the sign set
  std::memcpy(target, &sum, sizeof sum);
}

void accumulate(unsigned type, unsigned bytes, uint8_t* target, const uint8_t* value) {
  if (type == kF32) return add_float<float>(target, value);
  if (type == kF64) return add_float<double>(target, value);
  unsigned carry = 0;  // integers wrap, signed or not
  for (unsigned byte = 0; byte < bytes; ++byte) {
    carry += target[byte] + value[byte];
    target[byte] = static_cast<uint8_t>(carry);
    carry >>= 8;
  }
}

}  // namespace

// A position of a tile: where its elements are, relative to the bases and counted in elements.
struct Dma::Position {
  unsigned lane;
  int64_t spad, dram;
  uint64_t linear;  // row-major number of the position in the tile
  bool active;
};

// Visits the positions in row-major order, round-up positions too if asked for.
template <class Visit>
void Dma::walk(const Slot& slot, bool round_up, Visit visit) const {
  const int64_t lanes = memory_.spad.lanes(), v = slot.vlane_stride;
  Four end = slot.extent;
  if (round_up) end[slot.split] = (end[slot.split] + v * lanes - 1) / (v * lanes) * (v * lanes);
  std::vector<std::pair<unsigned, int64_t>> homes;  // of each split-axis position: lane and in-lane position
  for (int64_t p = 0; p < end[slot.split]; ++p) homes.emplace_back(p / v % lanes, p / (v * lanes) * v + p % v);
  Four i;
  for (i[0] = 0; i[0] < end[0]; ++i[0])
    for (i[1] = 0; i[1] < end[1]; ++i[1])
      for (i[2] = 0; i[2] < end[2]; ++i[2])
        for (i[3] = 0; i[3] < end[3]; ++i[3]) {
          const auto [lane, in_lane] = homes[i[slot.split]];
          Position position{lane, 0, 0, 0, i[slot.split] < slot.extent[slot.split]};
          for (unsigned axis = 0; axis < 4; ++axis) {
            position.spad += (axis == slot.split ? in_lane : i[axis]) * slot.spad_stride[axis];
            position.dram += i[axis] * slot.dram_stride[axis];
            position.linear = position.linear * slot.extent[axis] + i[axis];
            position.active &= slot.low[axis] <= i[axis] && i[axis] < slot.high[axis];
          }
          visit(position);
        }
}

uint64_t Dma::spad_address(uint64_t base, const Position& position, unsigned bytes) const {
  const uint64_t address = base + position.spad * bytes;
  if (!memory_.spad.contains(address, bytes)) throw Fault{"scratchpad_out_of_range", address};
  return address;
}

void Dma::reset(bool late) {
  late_ = late, in_block_ = false, selected_ = tag_ = -1;
  slots_ = {};
  queues_.clear();
}

Slot& Dma::selected() {
  if (selected_ < 0) throw Fault{"dma_configuration"};
  return slots_[selected_];
}

void Dma::config(uint64_t extents, uint64_t layout) {
  Slot slot;
  slot.configured = true;
  slot.extent = slot.high = four_halves(extents);
  slot.vlane_stride = layout >> 32;
  slot.indirect = layout >> 16 & 1;
  slot.split = layout >> 14 & 3;
  slot.element_bytes = layout & 0x3fff;
  const unsigned bytes = slot.element_bytes;
  for (int64_t extent : slot.extent)
    if (extent == 0) throw Fault{"dma_configuration", extents};
  if (slot.vlane_stride < 1 || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) throw Fault{"dma_configuration", layout};
  selected_ = layout >> 17 & 3;
  slots_[selected_] = slot;
}

void Dma::config_dram_strides(uint64_t outer, uint64_t inner) { selected().dram_stride = four_strides(outer, inner); }

void Dma::config_spad_strides(uint64_t outer, uint64_t inner) { selected().spad_stride = four_strides(outer, inner); }

void Dma::config_index(uint64_t base, uint64_t layout) {
  Slot& slot = selected();
  slot.index_base = base;
  slot.index_stride = layout & 0xffff;
  slot.index_bytes = layout >> 16 & 0xff;
  if (slot.index_bytes != 4 && slot.index_bytes != 8) throw Fault{"dma_configuration", layout};
}

void Dma::config_mask(uint64_t low, uint64_t high) {
  Slot& slot = selected();
  slot.low = four_halves(low);
  slot.high = four_halves(high);
}

void Dma::config_fill(uint64_t value, uint64_t layout) {
  Slot& slot = selected();
  slot.fill = value;
  slot.type = layout & 0xff;
  slot.accumulate = layout >> 8 & 1;
  const bool sums = slot.type != kNone && slot.type != kF16 && slot.type != kBF16;
  if (slot.type > kU8 || (slot.accumulate && !sums)) throw Fault{"dma_configuration", layout};
}

void Dma::outside_block() const {
  if (in_block_) throw Fault{"transfer_inside_block", block_id_};
}

void Dma::transfer(Which which, uint64_t dram, uint64_t spad) {
  outside_block();
  Transfer transfer{slots_[which], which == kMvout, dram, spad, {}, false};
  const Slot& slot = transfer.slot;
  if (!slot.configured || (slot.indirect && slot.index_bytes == 0)) throw Fault{"dma_configuration", static_cast<uint64_t>(which)};
  if (slot.accumulate && kTypeBytes[slot.type] != slot.element_bytes) throw Fault{"dma_configuration", slot.type};
  if (slot.indirect) read_indices(transfer);
  const bool tagged = tag_ >= 0;
  if (!late_ || !tagged)
    complete(transfer);
  else if (!transfer.store)
    poison(transfer);
  if (tagged) queues_[tag_].push_back(std::move(transfer));
  tag_ = -1;
}

void Dma::read_indices(Transfer& transfer) {
  const Slot& slot = transfer.slot;
  walk(slot, false, [&](const Position& position) {
    transfer.shift.push_back(0);
    if (!position.active) return;
    const uint8_t* source = memory_.spad.at(position.lane, spad_address(slot.index_base, position, slot.index_bytes));
    int64_t index = 0;
    std::memcpy(&index, source, slot.index_bytes);
    if (slot.index_bytes == 4) index = static_cast<int32_t>(index);
    transfer.shift.back() = static_cast<int64_t>(static_cast<uint64_t>(index) * slot.index_stride);
  });
}

void Dma::poison(const Transfer& transfer) {
  const unsigned bytes = transfer.slot.element_bytes;
  walk(transfer.slot, true, [&](const Position& position) {
    const uint64_t address = spad_address(transfer.spad, position, bytes);
    memory_.spad.touch(address, bytes);
    std::memset(memory_.spad.at(position.lane, address), kPoison, bytes);
  });
}

void Dma::complete(Transfer& transfer) {
  const Slot& slot = transfer.slot;
  const unsigned bytes = slot.element_bytes;
  walk(slot, !transfer.store, [&](const Position& position) {
    if (transfer.store && !position.active) return;
    const uint64_t address = spad_address(transfer.spad, position, bytes);
    uint8_t* cell = memory_.spad.at(position.lane, address);
    uint8_t* element = nullptr;
    if (position.active) {
      uint64_t offset = position.dram;
      if (slot.indirect) offset += transfer.shift[position.linear];
      const uint64_t target = transfer.dram + offset * bytes;
      element = memory_.tensor(target, bytes, transfer.store);
      if (!element) throw Fault{"dram_out_of_range", target};
    }
    if (!transfer.store) {
      memory_.spad.touch(address, bytes);
      if (element)
        std::memcpy(cell, element, bytes);
      else
        std::memcpy(cell, &slot.fill, bytes);  // little endian host
    } else if (slot.accumulate) {
      accumulate(slot.type, bytes, element, cell);
    } else {
      std::memcpy(element, cell, bytes);
    }
  });
  transfer.complete = true;
}

void Dma::tag(uint64_t slot) {
  outside_block();
  if (slot >= kTagSlots) throw Fault{"dma_configuration", slot};
  tag_ = static_cast<int>(slot);
}

void Dma::wait(uint64_t slot, uint64_t count) {
  outside_block();
  if (slot >= kTagSlots) throw Fault{"dma_configuration", slot};
  auto& queue = queues_[slot];
  if (count == 0) count = queue.size();
  if (count > queue.size()) throw Fault{"wait_without_transfer", slot};
  for (; count > 0; --count) {
    if (!queue.front().complete) complete(queue.front());
    queue.pop_front();
  }
}

void Dma::block(uint64_t id, uint64_t end) {
  if (end > 1 || (end == 1) != in_block_ || (end == 1 && id != block_id_)) throw Fault{"block_nesting", id};
  in_block_ = end == 0;
  block_id_ = id;
}

void Dma::finish() const {
  for (const auto& [slot, queue] : queues_)
    if (!queue.empty()) throw Fault{"transfer_not_waited_for", slot};
}

}  // namespace npu
