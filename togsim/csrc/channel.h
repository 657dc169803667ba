// What the memory system needs of a DRAM channel, whatever its model.
#ifndef TOGSIM_CHANNEL_H
#define TOGSIM_CHANNEL_H

#include <cstdint>
#include <memory>
#include <vector>

#include "clock.h"
#include "config.h"

namespace togsim {

struct DramRequest {
  Cycle arrival;     // DRAM cycle
  uint64_t granule;  // number inside the channel
  uint32_t transfer;
  bool write;
};

struct DramCompletion {
  Cycle cycle;  // DRAM cycle: last data beat of a read, issue of a write
  uint32_t transfer;
};

struct ChannelStats {
  int64_t reads = 0;
  int64_t writes = 0;
  int64_t row_hits = 0;
  int64_t row_misses = 0;     // the bank was closed
  int64_t row_conflicts = 0;  // another row was open
  int64_t forwarded = 0;      // reads answered from the write queue
  int64_t refreshes = 0;
  int64_t busy = 0;  // DRAM cycles of data transfer, over all pseudo-channels
  int64_t activates = 0;
  int64_t precharges = 0;  // PRE commands; one that closes all banks before a refresh counts once
  int64_t steps = 0;       // cycles that the model looked at; not a figure of the machine
};

class Channel {
 public:
  virtual ~Channel() = default;
  // Arrivals come in non-decreasing order.
  virtual void push(const DramRequest& request) = 0;
  // Simulate up to, not including, `end`; every arrival before `end` has been pushed. Completions are appended to `done` and
  // may lie beyond `end`. `every_cycle`: use the reference model that scans everything in each cycle, with the same results
  // but `steps`; the choice of the first call holds for the channel's life.
  virtual void run_until(Cycle end, bool every_cycle, std::vector<DramCompletion>& done) = 0;
  virtual bool idle() const = 0;
  virtual const ChannelStats& stats() const = 0;
};

// Throws ConfigError.
std::unique_ptr<Channel> make_channel(const Config& config);

}  // namespace togsim
#endif
