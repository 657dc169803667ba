// Enumeration of a tile's positions over the lanes (docs/isa.md sections 2 and 4).
#pragma once
#include "dma_config.hpp"

namespace torchsim::iss {

/// Consecutive positions along dimension 3: position j lies in lane + j * lane_step at spad + j * spad_step, and reads or
/// writes dram + j * dram_step; its linear index is q + j. Addresses are bytes; spad is an offset within a lane and may be
/// out of range (the caller checks the whole tile first).
struct Run {
  unsigned lane;
  unsigned lane_step;  // 0 or 1
  i64 spad, spad_step;
  u64 dram, dram_step;  // two's complement
  u64 q;
  u64 count;
};

/// Geometry of a tile; computed once per transfer.
struct Tile {
  Tile(const DmaConfig& config, unsigned lanes);

  u64 rows;                      // of the split axis
  u64 positions;                 // round-up positions included; saturates
  std::array<u64, 4> reach;      // extents, with the split axis rounded up
  std::array<u32, 4> low, high;  // active range of each axis, high <= extent, low <= high
  bool any_active;
};

/// Calls active(run) and fill(run) in row-major tile order; fill only if `with_fill`. lanes as in the Tile.
template <class Active, class Fill>
void walk(const DmaConfig& c, const Tile& t, unsigned lanes, i64 spad, u64 dram, bool with_fill, Active active, Fill fill) {
  const i64 bytes = c.element_bytes;
  const u64 v = c.vlane_stride;
  if (!with_fill && !t.any_active) return;
  auto from = [&](unsigned a) -> u64 { return with_fill ? 0 : t.low[a]; };
  auto to = [&](unsigned a) -> u64 { return with_fill ? t.reach[a] : t.high[a]; };
  auto inside = [&](unsigned a, u64 i) { return i >= t.low[a] && i < t.high[a]; };
  auto in_lane = [&](u64 p) { return p / (v * lanes) * v + p % v; };
  const i64 inner_spad = static_cast<i64>(c.spad_stride[3]) * bytes;
  const u64 inner_dram = static_cast<u64>(static_cast<i64>(c.dram_stride[3]) * bytes);

  std::array<u64, 3> i{};
  for (i[0] = from(0); i[0] < to(0); ++i[0]) {
    for (i[1] = from(1); i[1] < to(1); ++i[1]) {
      for (i[2] = from(2); i[2] < to(2); ++i[2]) {
        i64 s = spad;
        u64 d = dram, q = 0;
        unsigned lane = 0;
        bool live = true;
        for (unsigned a = 0; a < 3; ++a) {
          live = live && inside(a, i[a]);
          d += i[a] * static_cast<u64>(static_cast<i64>(c.dram_stride[a]) * bytes);
          q = q * c.extent[a] + i[a];
          const bool split = a == c.split;
          if (split) lane = static_cast<unsigned>(i[a] / v % lanes);
          s += static_cast<i64>(split ? in_lane(i[a]) : i[a]) * c.spad_stride[a] * bytes;
        }
        q *= c.extent[3];
        // one piece of positions [begin, end) that share their lane, or step through the lanes
        auto piece = [&](u64 begin, u64 end, unsigned first_lane, unsigned lane_step, i64 at, i64 step) {
          auto run = [&](u64 b, u64 e) {
            const u64 skip = b - begin;
            return Run{first_lane + static_cast<unsigned>(skip) * lane_step,
                       lane_step,
                       at + static_cast<i64>(skip) * step,
                       step,
                       d + b * inner_dram,
                       inner_dram,
                       q + b,
                       e - b};
          };
          u64 b = end, e = end;
          if (live) {
            b = std::min(std::max<u64>(begin, t.low[3]), end);
            e = std::max(b, std::min<u64>(end, t.high[3]));
          }
          if (with_fill && b > begin) fill(run(begin, b));
          if (e > b) active(run(b, e));
          if (with_fill && end > e) fill(run(e, end));
        };
        if (c.split != 3) {
          piece(from(3), to(3), lane, 0, s + static_cast<i64>(from(3)) * inner_spad, inner_spad);
        } else if (v == 1) {
          const u64 first = from(3) / lanes, last = (to(3) + lanes - 1) / lanes;
          for (u64 row = first; row < last; ++row) piece(row * lanes, (row + 1) * lanes, 0, 1, s + static_cast<i64>(row) * inner_spad, 0);
        } else {
          const u64 first = from(3) / v, last = (to(3) + v - 1) / v;
          for (u64 group = first; group < last; ++group)
            piece(group * v, (group + 1) * v, static_cast<unsigned>(group % lanes), 0, s + static_cast<i64>(group / lanes * v) * inner_spad,
                  inner_spad);
        }
      }
    }
  }
}

}  // namespace torchsim::iss
