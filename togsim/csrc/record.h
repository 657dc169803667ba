// The records of one work-item, as the trace ABI delivers them (docs/trace-abi.md).
#ifndef TOGSIM_RECORD_H
#define TOGSIM_RECORD_H

#include <cstdint>
#include <variant>
#include <vector>

#include "togsim_runtime.h"

namespace togsim {

using Range = togsim_range;

// First byte of a range in the scratchpad of every lane, and the byte after its last.
inline int64_t arena_begin(const Range& r) { return r.arena_offset + r.begin; }
inline int64_t arena_end(const Range& r) { return r.arena_offset + r.begin + r.length; }
inline bool is_weights(const Range& r) { return r.buffer == TOGSIM_SA_WEIGHTS; }

// One axis of a transfer: extent, DRAM stride in elements, active positions [low, high).
struct Axis {
  int64_t dim = 1;
  int64_t stride = 0;
  int64_t low = 0;
  int64_t high = 1;
};

enum class Direction : int32_t { Load = TOGSIM_LOAD, Store = TOGSIM_STORE };
enum class ComputeType : int32_t { Vector = TOGSIM_VECTOR, Matmul = TOGSIM_MATMUL, Preload = TOGSIM_PRELOAD };

struct DmaRecord {
  Direction direction = Direction::Load;
  int32_t arg_id = 0;
  int64_t element_offset = 0;
  std::vector<Axis> axes;
  int32_t element_bits = 32;
  bool is_async = false;
  int64_t tag = 0;
  std::vector<Range> reads;
  std::vector<Range> writes;
};

struct ComputeRecord {
  int64_t block_id = 0;
  ComputeType type = ComputeType::Vector;
  std::vector<Range> reads;
  std::vector<Range> writes;
};

struct BarrierRecord {
  int64_t tag = 0;
  int64_t count = 0;
};

using Record = std::variant<DmaRecord, ComputeRecord, BarrierRecord>;
using Records = std::vector<Record>;

}  // namespace togsim
#endif
