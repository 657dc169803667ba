// What a single record must satisfy, whatever stands around it.
#include <string>

#include "error.h"
#include "producer.h"
#include "text.h"

namespace togsim {
namespace {

using Where = std::function<std::string()>;

constexpr int64_t kMaxRank = 8;
constexpr int64_t kMaxExtent = int64_t{1} << 31;

[[noreturn]] void reject(const std::string& what, const std::string& expected, const std::string& found, const Where& where) {
  throw TraceError(what, {expected, found, where(), "fix the trace producer"});
}

void check_ranges(const std::vector<Range>& ranges, const Where& where) {
  for (const Range& r : ranges) {
    if (is_weights(r)) continue;
    if (r.buffer < 0) reject("unknown virtual buffer", "a buffer >= 0, or -1 for the weights", std::to_string(r.buffer), where);
    if (r.arena_offset < 0 || r.begin < 0 || r.length < 0 || r.arena_offset > kMaxExtent || r.begin > kMaxExtent || r.length > kMaxExtent) {
      reject("scratchpad range out of bounds", "offsets and length in 0..2^31",
             join("arena ", r.arena_offset, " begin ", r.begin, " length ", r.length), where);
    }
  }
}

void check(const DmaRecord& dma, const Where& where) {
  if (dma.direction != Direction::Load && dma.direction != Direction::Store) {
    reject("unknown transfer direction", "0 (load) or 1 (store)", std::to_string(static_cast<int32_t>(dma.direction)), where);
  }
  if (dma.arg_id < 0) reject("negative tensor argument", ">= 0", std::to_string(dma.arg_id), where);
  check_rank(static_cast<int64_t>(dma.axes.size()), where);
  const int32_t bits = dma.element_bits;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    reject("element width", "8, 16, 32 or 64 bits", std::to_string(bits), where);
  }
  if (dma.is_async && dma.tag < 0) reject("tag slot of an asynchronous transfer", ">= 0", std::to_string(dma.tag), where);
  for (const Axis& axis : dma.axes) {
    if (axis.dim < 1 || axis.dim > kMaxExtent) reject("transfer extent", "1..2^31", std::to_string(axis.dim), where);
    if (axis.low < 0 || axis.high < 0 || axis.low > axis.dim || axis.high > axis.dim) {
      reject("transfer bounds", join("low and high in 0..", axis.dim), join("[", axis.low, ", ", axis.high, ")"), where);
    }
    if (axis.stride > kMaxExtent || axis.stride < -kMaxExtent) {
      reject("transfer stride", "a signed 32-bit count of elements", std::to_string(axis.stride), where);
    }
  }
  check_ranges(dma.reads, where);
  check_ranges(dma.writes, where);
}

void check(const ComputeRecord& compute, const Where& where) {
  const auto type = static_cast<int32_t>(compute.type);
  if (type < TOGSIM_VECTOR || type > TOGSIM_PRELOAD) {
    reject("unknown compute type", "0 (vector), 1 (matmul) or 2 (preload)", std::to_string(type), where);
  }
  check_ranges(compute.reads, where);
  check_ranges(compute.writes, where);
}

void check(const BarrierRecord& bar, const Where& where) {
  if (bar.tag < 0) reject("tag slot of a barrier", ">= 0", std::to_string(bar.tag), where);
  if (bar.count < 0) reject("count of a barrier", ">= 0 (0 = all)", std::to_string(bar.count), where);
}

}  // namespace

void check_rank(int64_t rank, const Where& where) {
  if (rank < 1 || rank > kMaxRank) reject("transfer rank", join("1..", kMaxRank), std::to_string(rank), where);
}

void check_record(const Record& record, const Where& where) {
  std::visit([&](const auto& r) { check(r, where); }, record);
}

}  // namespace togsim
