// Issue, checks and completion order of transfers.
#include "dma.hpp"

#include <array>
#include <cinttypes>

namespace torchsim::iss {
namespace {

// A tile of more positions than this cannot be a sensible program (the largest scratchpad has 2^24 bytes); bounding it keeps
// the host's time bounded for arbitrary images.
constexpr u64 kMostPositions = u64{1} << 26;

/// Smallest and largest value of a sum of strides over a box [low, high] of positions.
struct Range {
  __int128 low = 0, high = 0;
  void axis(i64 stride, u64 first, u64 last) {
    const __int128 a = static_cast<__int128>(stride) * first, b = static_cast<__int128>(stride) * last;
    low += std::min(a, b);
    high += std::max(a, b);
  }
};

}  // namespace

Tile::Tile(const DmaConfig& c, unsigned lanes) {
  const u64 group = static_cast<u64>(c.vlane_stride) * lanes;
  rows = (c.extent[c.split] + group - 1) / group;
  any_active = true;
  unsigned __int128 product = 1;
  for (unsigned a = 0; a < 4; ++a) {
    reach[a] = a == c.split ? rows * group : c.extent[a];
    high[a] = std::min(c.high[a], c.extent[a]);
    low[a] = std::min(c.low[a], high[a]);
    any_active = any_active && low[a] < high[a];
    product = std::min<unsigned __int128>(product * reach[a], ~u64{0});
  }
  positions = static_cast<u64>(product);
}

void DmaEngine::reset(std::vector<Window> windows, bool late, bool fill) {
  windows_.assign(std::move(windows));
  slots_.reset();
  late_ = late;
  fill_ = fill;
  pending_tag_ = -1;
  if (outstanding_) {  // left behind by a run that trapped
    for (auto& queue : queues_) queue.clear();
  }
  outstanding_ = 0;
}

void DmaEngine::tag(u64 slot) {
  if (slot >= kTagSlots) raise(Cause::dma_configuration, "TAG slot %" PRIu64 "; 0..%u are legal", slot, kTagSlots - 1);
  pending_tag_ = static_cast<int>(slot);
}

u64 DmaEngine::issue(Transfer& transfer) {
  transfer.config = slots_[transfer.slot];
  if (transfer.config.element_bytes == 0) raise(Cause::dma_configuration, "slot %u has not been configured", transfer.slot);
  static constexpr u8 kTypeBytes[] = {0, 1, 2, 4, 8, 2, 4, 8, 2, 1};
  const DmaConfig& c = transfer.config;
  if (c.accumulate && kTypeBytes[c.type] != c.element_bytes)
    raise(Cause::dma_configuration, "accumulate with element type code %u (%u bytes) in a slot of %u-byte elements", c.type,
          kTypeBytes[c.type], c.element_bytes);
  transfer.tag = pending_tag_;
  pending_tag_ = -1;
  const Tile tile(transfer.config, lanes_);
  check(transfer, tile);
  if (!fill_) {
    if (transfer.config.indirect) read_indices(transfer, tile);
    check_dram(transfer, tile);
  }
  if (transfer.tag < 0 || !late_)
    complete(transfer);
  else if (!transfer.store)
    poison(transfer);
  if (transfer.tag >= 0) {
    queues_[static_cast<unsigned>(transfer.tag)].push_back(transfer);
    ++outstanding_;
  }
  return tile.positions;
}

void DmaEngine::wait(u64 slot, u64 count) {
  if (slot >= kTagSlots) raise(Cause::dma_configuration, "WAIT slot %" PRIu64 "; 0..%u are legal", slot, kTagSlots - 1);
  auto& queue = queues_[slot];
  if (count > queue.size())
    raise(Cause::wait_without_transfer, "WAIT for %" PRIu64 " transfers of tag slot %" PRIu64 ", which has %zu", count, slot, queue.size());
  for (u64 left = count ? count : queue.size(); left; --left) {
    if (late_) complete(queue.front());
    queue.pop_front();
    --outstanding_;
  }
}

void DmaEngine::finish() const {
  if (outstanding_ == 0) return;
  for (std::size_t slot = 0; slot < queues_.size(); ++slot) {
    if (queues_[slot].empty()) continue;
    const Transfer& t = queues_[slot].front();
    raise(Cause::transfer_not_waited_for, "%" PRIu64 " transfers are left; the oldest of tag slot %zu is the %s issued at pc 0x%" PRIx64,
          outstanding_, slot, t.store ? "MVOUT" : "MVIN", t.pc);
  }
}

// Size and scratchpad range.
void DmaEngine::check(const Transfer& t, const Tile& tile) {
  const DmaConfig& c = t.config;
  if (tile.positions > kMostPositions) raise(Cause::dma_configuration, "tile of more than 2^26 positions");
  if (t.store && !tile.any_active) return;
  // Smallest and largest in-lane position of the split positions [first, last]; both are attained.
  auto in_lane_range = [&](u64 first, u64 last) {
    const u64 v = c.vlane_stride, group = v * lanes_;
    const u64 first_row = first / group, last_row = last / group;
    const u64 end_of_first = std::min(last, first_row * group + group - 1), start_of_last = std::max(first, last_row * group);
    return std::pair{first_row * v + (first / v == end_of_first / v ? first % v : 0),
                     last_row * v + (start_of_last / v == last / v ? last % v : v - 1)};
  };
  Range range;
  for (unsigned a = 0; a < 4; ++a) {
    u64 first = t.store ? tile.low[a] : 0, last = (t.store ? u64{tile.high[a]} : tile.reach[a]) - 1;
    if (a == c.split) {
      if (t.store)
        std::tie(first, last) = in_lane_range(first, last);
      else
        first = 0, last = tile.rows * c.vlane_stride - 1;
    }
    range.axis(static_cast<i64>(c.spad_stride[a]) * c.element_bytes, first, last);
  }
  const __int128 base = static_cast<__int128>(t.spad) - static_cast<__int128>(kSpadBase);
  if (base + range.low < 0 || base + range.high + c.element_bytes > static_cast<__int128>(memory_.spad().bytes()))
    raise(Cause::scratchpad_out_of_range, "transfer touches scratchpad bytes [%" PRId64 ", %" PRId64 "); a lane has %zu",
          static_cast<i64>(base + range.low), static_cast<i64>(base + range.high + c.element_bytes), memory_.spad().bytes());
}

void DmaEngine::check_dram(const Transfer& t, const Tile& tile) {
  if (!tile.any_active) return;
  const DmaConfig& c = t.config;
  if (!c.indirect) {  // usual case: the bounding interval lies in one window
    Range range;
    for (unsigned a = 0; a < 4; ++a) range.axis(static_cast<i64>(c.dram_stride[a]) * c.element_bytes, tile.low[a], u64{tile.high[a]} - 1);
    const __int128 first = static_cast<__int128>(t.dram) + range.low, last = static_cast<__int128>(t.dram) + range.high + c.element_bytes;
    if (first >= 0 && last <= static_cast<__int128>(~u64{0}) &&
        windows_.find(static_cast<u64>(first), static_cast<u64>(last - first), t.store))
      return;
  }
  walk(
      c, tile, lanes_, 0, t.dram, false,
      [&](const Run& run) {
        for (u64 j = 0; j < run.count; ++j) {
          const u64 address = run.dram + j * run.dram_step + (t.offsets.empty() ? 0 : t.offsets[run.q + j]);
          if (!windows_.find(address, c.element_bytes, t.store))
            raise(Cause::dram_out_of_range,
                  "%s of %u bytes at 0x%" PRIx64 " (linear position %" PRIu64 " of the tile) lies in no %s window",
                  t.store ? "MVOUT" : "MVIN", c.element_bytes, address, run.q + j, t.store ? "writable" : "readable");
        }
      },
      [](const Run&) {});
}

void DmaEngine::read_indices(Transfer& t, const Tile& tile) {
  DmaConfig layout = t.config;
  if (layout.index_bytes == 0) raise(Cause::dma_configuration, "indirect transfer of slot %u without CONFIG4", t.slot);
  layout.element_bytes = layout.index_bytes;
  Transfer range;  // reuse the range check: read exactly the active positions
  range.config = layout;
  range.store = true;
  range.spad = layout.index_address;
  check(range, tile);
  t.offsets.assign(static_cast<u64>(layout.extent[0]) * layout.extent[1] * layout.extent[2] * layout.extent[3], 0);
  const u64 scale = static_cast<u64>(layout.index_stride) * t.config.element_bytes;
  LaneMemory* known = memory_.initialised();
  walk(
      layout, tile, lanes_, static_cast<i64>(layout.index_address - kSpadBase), 0, false,
      [&](const Run& run) {
        for (u64 j = 0; j < run.count; ++j) {
          const unsigned lane = run.lane + static_cast<unsigned>(j) * run.lane_step;
          const auto offset = static_cast<std::size_t>(run.spad + static_cast<i64>(j) * run.spad_step);
          std::array<u8, 8> bytes{};
          for (unsigned k = 0; k < layout.index_bytes; ++k) {
            bytes[k] = *memory_.spad().at(lane, offset + k);
            if (known && *known->at(lane, offset + k) == 0)
              raise(Cause::uninitialised_scratchpad_read, "index at scratchpad offset 0x%zx of lane %u", offset, lane);
          }
          i64 index;
          std::memcpy(&index, bytes.data(), 8);
          if (layout.index_bytes == 4) index = static_cast<i32>(index);
          t.offsets[run.q + j] = static_cast<u64>(index) * scale;
        }
      },
      [](const Run&) {});
}

Intervals DmaEngine::footprint(const Transfer& t) const {
  Intervals result;
  const Tile tile(t.config, lanes_);
  auto note = [&](const Run& run) {
    if (run.count == 0) return;
    if (run.spad_step == 0 || run.lane_step)
      return result.add(static_cast<u64>(run.spad), static_cast<u64>(run.spad) + t.config.element_bytes);
    for (u64 j = 0; j < run.count; ++j) {
      const u64 at = static_cast<u64>(run.spad + static_cast<i64>(j) * run.spad_step);
      result.add(at, at + t.config.element_bytes);
    }
  };
  walk(t.config, tile, lanes_, static_cast<i64>(t.spad - kSpadBase), t.dram, !t.store, note, note);
  return result;
}

}  // namespace torchsim::iss
