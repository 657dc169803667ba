#include "partitions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

void check(const Launch& launch, size_t number, int32_t partitions) {
  if (launch.partition < 0 || launch.partition >= partitions) {
    throw ConfigError("launch on a partition that does not exist",
                      {join("a partition below ", partitions, " (num_partition)"), std::to_string(launch.partition),
                       join("launch ", number), "choose a partition of the machine"});
  }
  if (launch.earliest < 0) {
    throw ConfigError("launch before the first cycle", {"a cycle >= 0", std::to_string(launch.earliest), join("launch ", number), ""});
  }
  check_blocks(launch.blocks);
  if (!launch.indices.empty() && launch.indices.rbegin()->first.first >= launch.producer->work_items()) {
    throw TraceError("index values for a work-item that does not exist",
                     {join("a work-item below ", launch.producer->work_items()), join(launch.indices.rbegin()->first.first),
                      join("launch ", number), "correct the index values"});
  }
}

}  // namespace

Partitions::Partitions(const Config& config, std::vector<Launch> launches, const Faults& faults,
                       std::span<const std::unique_ptr<Core>> cores)
    : faults_(faults), launches_(std::move(launches)), spans_(launches_.size()), queues_(static_cast<size_t>(config.num_partition)) {
  for (size_t c = 0; c < cores.size(); ++c) {
    const int32_t p = faults.bent(Rule::PartitionsIgnored) ? 0 : partition_of(config, static_cast<int32_t>(c));
    queues_[static_cast<size_t>(p)].cores.push_back(cores[c].get());
  }
  kernels_.reserve(launches_.size());
  for (size_t l = 0; l < launches_.size(); ++l) {
    const Launch& launch = launches_[l];
    check(launch, l, config.num_partition);
    kernels_.push_back({launch.producer, {launch.bases, launch.blocks, config.spad_bytes_per_lane, faults, &launch.indices}});
    // Every work-item once, so that a degenerate trace is refused before anything is simulated.
    for (size_t item = 0; item < launch.producer->work_items(); ++item) build_work_item(kernels_[l].bridge, *launch.producer, item);
    queues_[faults.bent(Rule::PartitionsIgnored) ? 0 : static_cast<size_t>(launch.partition)].launches.push_back(l);
  }
  for (Queue& queue : queues_) {
    if (queue.launches.empty()) continue;
    ++running_;
    start(queue, 0);
  }
}

bool Partitions::idle(const Queue& queue) {
  return std::all_of(queue.cores.begin(), queue.cores.end(), [](const Core* core) { return core->finished(); });
}

// Round robin over the cores, from the first: work-item i goes to core i mod n. A launch without work-items takes no time.
void Partitions::start(Queue& queue, Cycle now) {
  queue.busy = true;
  while (idle(queue) || faults_.bent(Rule::LaunchesTogether)) {
    if (queue.next > 0) {
      Span& last = spans_[queue.launches[queue.next - 1]];
      last.end = std::max(last.begin, now);
    }
    if (queue.next == queue.launches.size()) {
      queue.busy = !idle(queue);
      if (!queue.busy) --running_;
      return;
    }
    const size_t l = queue.launches[queue.next++];
    const Cycle at = std::max(now, launches_[l].earliest);
    spans_[l] = {at, at};
    for (size_t item = 0; item < launches_[l].producer->work_items(); ++item) {
      queue.cores[item % queue.cores.size()]->dispatch(kernels_[l], item, at);
    }
  }
}

void Partitions::advance(Cycle now) {
  for (Queue& queue : queues_) {
    if (queue.busy && idle(queue)) start(queue, now + 1);
  }
}

}  // namespace togsim
