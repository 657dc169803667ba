// Who runs what: the partitions of the machine, the launches queued on each, and their work-items' way to the cores.
#ifndef TOGSIM_PARTITIONS_H
#define TOGSIM_PARTITIONS_H

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "config.h"
#include "core.h"
#include "launch.h"

namespace togsim {

class Partitions {
 public:
  // Core cycles from the first to after the last one in which a launch was on its cores.
  struct Span {
    Cycle begin;
    Cycle end;
  };

  // Throws ConfigError: a launch on a partition that does not exist. TraceError: an impossible cycle table or index table.
  Partitions(const Config& config, std::vector<Launch> launches, const Faults& faults, std::span<const std::unique_ptr<Core>> cores);
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;

  // After cycle `now` was simulated: where a launch has finished, hand the next one to the cores, from the cycle after it.
  void advance(Cycle now);
  bool finished() const { return running_ == 0; }
  const std::vector<Launch>& launches() const { return launches_; }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  struct Queue {
    std::vector<Core*> cores;
    std::vector<size_t> launches;
    size_t next = 0;  // launches handed over
    bool busy = false;
  };
  void start(Queue& queue, Cycle now);
  static bool idle(const Queue& queue);

  const Faults& faults_;
  std::vector<Launch> launches_;
  std::vector<Kernel> kernels_;  // of each launch
  std::vector<Span> spans_;
  std::vector<Queue> queues_;
  size_t running_ = 0;  // queues with work
};

}  // namespace togsim
#endif
