// Data movement of a transfer that has been checked.
#include <array>
#include <bit>

#include "dma.hpp"

namespace torchsim::iss {
namespace {

template <class T>
void put(u8* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}
template <class T>
T get(const u8* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Applies f(pointer to the element in the scratchpad, j) to each position of a run of elements T.
template <class T, class F>
void each(LaneMemory& spad, const Run& run, F f) {
  if (run.spad % static_cast<i64>(sizeof(T)) != 0) [[unlikely]] {  // the element may lie in two planes: go through a copy
    for (u64 j = 0; j < run.count; ++j) {
      const unsigned lane = run.lane + static_cast<unsigned>(j) * run.lane_step;
      const auto offset = static_cast<std::size_t>(run.spad + static_cast<i64>(j) * run.spad_step);
      std::array<u8, sizeof(T)> copy;
      for (std::size_t k = 0; k < sizeof(T); ++k) copy[k] = *spad.at(lane, offset + k);
      f(copy.data(), j);
      for (std::size_t k = 0; k < sizeof(T); ++k) *spad.at(lane, offset + k) = copy[k];
    }
  } else if (run.lane_step) {
    u8* at = spad.at(run.lane, static_cast<std::size_t>(run.spad));
    for (u64 j = 0; j < run.count; ++j, at += 8) f(at, j);
  } else {
    i64 offset = run.spad;
    for (u64 j = 0; j < run.count; ++j, offset += run.spad_step) f(spad.at(run.lane, static_cast<std::size_t>(offset)), j);
  }
}

template <class T>
void fill_run(LaneMemory& spad, const Run& run, T value) {
  each<T>(spad, run, [value](u8* at, u64) { put(at, value); });
}

/// Announce the bytes that a load writes; the tile's range has been checked, so the bounding interval is enough.
void mark(Memory& memory, const Transfer& t, const Tile& tile) {
  i64 low = static_cast<i64>(t.spad - kSpadBase), high = low;
  for (unsigned a = 0; a < 4; ++a) {
    const u64 last = (a == t.config.split ? tile.rows * t.config.vlane_stride : t.config.extent[a]) - 1;
    const i64 span = static_cast<i64>(t.config.spad_stride[a]) * t.config.element_bytes * static_cast<i64>(last);
    (span < 0 ? low : high) += span;
  }
  memory.spad().mark_dirty(static_cast<std::size_t>(low), static_cast<std::size_t>(high - low) + t.config.element_bytes);
  if (LaneMemory* known = memory.initialised())
    known->mark_dirty(static_cast<std::size_t>(low), static_cast<std::size_t>(high - low) + t.config.element_bytes);
}

/// Calls f with a value whose type is the unsigned integer of the element size.
template <class F>
void with_element(unsigned bytes, F f) {
  switch (bytes) {
    case 1:
      return f(u8{});
    case 2:
      return f(u16{});
    case 4:
      return f(u32{});
    default:
      return f(u64{});
  }
}

}  // namespace

template <class T>
void DmaEngine::load(const Transfer& t, const Tile& tile) {
  LaneMemory& spad = memory_.spad();
  LaneMemory* known = memory_.initialised();
  auto initialise = [&](const Run& run) {
    if (known) fill_run(*known, run, static_cast<T>(~T{0}));
  };
  walk(
      t.config, tile, lanes_, static_cast<i64>(t.spad - kSpadBase), t.dram, true,
      [&](const Run& run) {
        initialise(run);
        if (fill_) return fill_run(spad, run, T{0});
        const u64 span = (run.count - 1) * run.dram_step;
        const u64 first = static_cast<i64>(span) < 0 ? run.dram + span : run.dram;
        const u64 length = (static_cast<i64>(span) < 0 ? u64{0} - span : span) + sizeof(T);
        const u8* host = t.offsets.empty() ? windows_.find(first, length, false) : nullptr;
        if (host) {
          const u8* from = host + (run.dram - first);
          const auto step = static_cast<std::ptrdiff_t>(run.dram_step);
          each<T>(spad, run, [from, step](u8* at, u64 j) { put(at, get<T>(from + static_cast<std::ptrdiff_t>(j) * step)); });
        } else {  // gathered, or a run over several windows
          each<T>(spad, run, [&](u8* at, u64 j) {
            put(at, get<T>(windows_.find(run.dram + j * run.dram_step + (t.offsets.empty() ? 0 : t.offsets[run.q + j]), sizeof(T), false)));
          });
        }
      },
      [&](const Run& run) {
        initialise(run);
        fill_run(spad, run, static_cast<T>(t.config.fill));
      });
}

template <class T, class Combine>
void DmaEngine::store(const Transfer& t, const Tile& tile, Combine combine) {
  LaneMemory* known = memory_.initialised();
  walk(
      t.config, tile, lanes_, static_cast<i64>(t.spad - kSpadBase), t.dram, false,
      [&](const Run& run) {
        if (known) {
          each<T>(*known, run, [&](const u8* at, u64 j) {
            if (!std::all_of(at, at + sizeof(T), [](u8 byte) { return byte == 0xff; }))
              raise(Cause::uninitialised_scratchpad_read,
                    "MVOUT issued at pc 0x%llx reads scratchpad offset 0x%llx of lane %u, which nothing wrote",
                    static_cast<unsigned long long>(t.pc), static_cast<unsigned long long>(run.spad + static_cast<i64>(j) * run.spad_step),
                    run.lane + static_cast<unsigned>(j) * run.lane_step);
          });
        }
        const u64 span = (run.count - 1) * run.dram_step;
        const u64 first = static_cast<i64>(span) < 0 ? run.dram + span : run.dram;
        const u64 length = (static_cast<i64>(span) < 0 ? u64{0} - span : span) + sizeof(T);
        u8* host = t.offsets.empty() ? windows_.find(first, length, true) : nullptr;
        if (host) {
          u8* to = host + (run.dram - first);
          const auto step = static_cast<std::ptrdiff_t>(run.dram_step);
          each<T>(memory_.spad(), run, [&](const u8* at, u64 j) {
            u8* element = to + static_cast<std::ptrdiff_t>(j) * step;
            put(element, combine(get<T>(element), get<T>(at)));
          });
        } else {
          each<T>(memory_.spad(), run, [&](const u8* at, u64 j) {
            u8* element = windows_.find(run.dram + j * run.dram_step + (t.offsets.empty() ? 0 : t.offsets[run.q + j]), sizeof(T), true);
            put(element, combine(get<T>(element), get<T>(at)));
          });
        }
      },
      [](const Run&) {});
}

void DmaEngine::accumulate(const Transfer& t, const Tile& tile) {
  if (t.config.type == 6) {
    return store<float>(t, tile, [](float a, float b) {
      const float sum = a + b;
      return sum == sum ? sum : std::bit_cast<float>(u32{0x7fc0'0000});
    });
  }
  if (t.config.type == 7) {
    return store<double>(t, tile, [](double a, double b) {
      const double sum = a + b;
      return sum == sum ? sum : std::bit_cast<double>(u64{0x7ff8'0000'0000'0000});
    });
  }
  with_element(t.config.element_bytes, [&](auto zero) {
    using T = decltype(zero);
    store<T>(t, tile, [](T a, T b) { return static_cast<T>(a + b); });
  });
}

void DmaEngine::complete(const Transfer& t) {
  if (t.store && fill_) return;
  const Tile tile(t.config, lanes_);
  if (t.store && t.config.accumulate) return accumulate(t, tile);
  with_element(t.config.element_bytes, [&](auto zero) {
    using T = decltype(zero);
    if (t.store)
      store<T>(t, tile, [](T, T value) { return value; });
    else {
      mark(memory_, t, tile);
      load<T>(t, tile);
    }
  });
}

void DmaEngine::poison(const Transfer& t) {
  const Tile tile(t.config, lanes_);
  mark(memory_, t, tile);
  LaneMemory* known = memory_.initialised();
  with_element(t.config.element_bytes, [&](auto zero) {
    using T = decltype(zero);
    auto damage = [&](const Run& run) {
      fill_run(memory_.spad(), run, static_cast<T>(0xa5a5'a5a5'a5a5'a5a5));
      if (known) fill_run(*known, run, T{0});
    };
    walk(t.config, tile, lanes_, static_cast<i64>(t.spad - kSpadBase), t.dram, true, damage, damage);
  });
}

}  // namespace torchsim::iss
