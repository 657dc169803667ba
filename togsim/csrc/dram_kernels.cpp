#include "dram_kernels.h"

#include <algorithm>

// Function multiversioning needs indirect functions of the loader; sanitizers do not get along with those.
#if defined(__x86_64__) && defined(__ELF__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define TOGSIM_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TOGSIM_VECTOR_CLONES
#endif

namespace togsim {
namespace {

constexpr size_t kBanks = kMaxBanks;

DramChoice unpack(int32_t key, DramTime from) {
  if (key == kNoRank) return {};
  return {from + (key >> kRankBits), key & ((1 << kRankBits) - 1)};
}

}  // namespace

// Time and rank share a word, so one minimum finds both: (cycles from `from`) << 7 | rank. A rank of all ones makes the word the
// largest of all. dram_check.cpp keeps distances below 2^24.
TOGSIM_VECTOR_CLONES DramChoice first_column(const ColumnInputs& in, DramTime from) {
  const int32_t* read = in.read_ready.data();
  const int32_t* write = in.write_ready.data();
  const int32_t* ready = in.queue_ready.data();
  const int32_t* rank = in.queue_rank.data();
  const int32_t* active = in.active_rank.data();
  const int32_t* writes = in.active_writes.data();
  const int32_t* blocked = in.blocked.data();
  int32_t best = kNoRank;
  for (size_t b = 0; b < kBanks; ++b) {
    const int32_t queued = (std::max(ready[b] - from, 0) << kRankBits) | rank[b] | blocked[b];
    const int32_t active_ready = (write[b] & writes[b]) | (read[b] & ~writes[b]);
    const int32_t first = (std::max(active_ready - from, 0) << kRankBits) | active[b] | blocked[b];
    best = std::min(best, std::min(queued, first));
  }
  return unpack(best, from);
}

TOGSIM_VECTOR_CLONES DramChoice first_row(const RowInputs& in, DramTime from) {
  const int32_t* activate = in.activate_ready.data();
  const int32_t* precharge = in.precharge_ready.data();
  const int32_t* open = in.open.data();
  const int32_t* rank = in.rank.data();
  const int32_t* blocked = in.blocked.data();
  int32_t best = kNoRank;
  for (size_t b = 0; b < kBanks; ++b) {
    const int32_t ready = (precharge[b] & open[b]) | (activate[b] & ~open[b]);
    best = std::min(best, (std::max(ready - from, 0) << kRankBits) | rank[b] | blocked[b]);
  }
  return unpack(best, from);
}

TOGSIM_VECTOR_CLONES void raise_columns(DramTime* read_ready, DramTime* write_ready, size_t count, DramTime read_to, DramTime write_to) {
  if (count == 16) {  // both presets; a loop of known length becomes one or two vector operations
    for (size_t b = 0; b < 16; ++b) read_ready[b] = std::max(read_ready[b], read_to);
    for (size_t b = 0; b < 16; ++b) write_ready[b] = std::max(write_ready[b], write_to);
    return;
  }
  for (size_t b = 0; b < count; ++b) {
    read_ready[b] = std::max(read_ready[b], read_to);
    write_ready[b] = std::max(write_ready[b], write_to);
  }
}

}  // namespace togsim
