#include "simulator.h"

#include <algorithm>
#include <utility>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

Config prepared(Config config, const Faults& faults) {
  faults.apply(config);
  check(config);
  return config;
}

}  // namespace

Run::Run(const Config& config, const Producer& producer, std::vector<uint64_t> bases, std::vector<BlockCost> blocks, RunOptions options)
    : config_(prepared(config, options.faults)),
      clocks_(make_clocks(config_)),
      producer_(producer),
      bases_(std::move(bases)),
      blocks_(std::move(blocks)),
      options_(options),
      memory_(config_, clocks_),
      context_{config_, clocks_.core, producer_,       {bases_, blocks_, config_.spad_bytes_per_lane, options_.faults},
               memory_, log_,         options_.faults, options_.mode != Mode::Fast} {
  check_blocks(blocks_);
  if (options_.trace) log_.trace.emplace();
  if (options_.issue_order) log_.issues.emplace();
  if (options_.issue_order) log_.held.emplace();
  for (int32_t c = 0; c < config_.num_cores; ++c) cores_.push_back(std::make_unique<Core>(static_cast<uint32_t>(c), context_));
  for (size_t item = 0; item < producer_.work_items(); ++item) cores_[item % cores_.size()]->dispatch(item);
}

void Run::execute() {
  ChannelActivity activity(memory_.channels().size());
  if (log_.trace) memory_.watch(&activity);
  options_.mode == Mode::CycleByCycle ? run_cycle_by_cycle() : run_windows();
  memory_.watch(nullptr);
  if (!log_.trace) return;
  activity.log(clocks_, *log_.trace);
  log_.trace->sort();
}

bool Run::finished() const {
  return std::all_of(cores_.begin(), cores_.end(), [](const auto& core) { return core->finished(); });
}

bool Run::stuck() const {
  return memory_.idle() && !finished() && std::all_of(cores_.begin(), cores_.end(), [](const auto& core) { return core->stuck(); });
}

Cycle Run::next_cycle() const {
  Cycle next = kNever;
  for (const auto& core : cores_) next = std::min(next, core->next_cycle());
  return next;
}

// Windows no longer than the interconnect's latency: what the cores send inside a window reaches no channel inside it, and
// what the channels answer reaches no core, so each side runs through the window alone.
void Run::run_windows() {
  std::vector<Arrival> arrivals;
  for (Tick now = 0; !finished();) {
    const Cycle next = next_cycle();
    if (memory_.idle()) {
      if (next == kNever) deadlock(clocks_.core.at_or_after(now));
      now = std::max(now, clocks_.core.tick(next));
    }
    const Tick end = now + memory_.lookahead();
    memory_.run_until(end, false, arrivals);
    deliver(arrivals);
    for (Cycle c = next_cycle(); c != kNever && clocks_.core.tick(c) < end; c = next_cycle()) {
      for (const auto& core : cores_) {
        if (core->next_cycle() == c) core->step(c);
      }
      if (stuck()) deadlock(c);
    }
    now = end;
  }
}

void Run::run_cycle_by_cycle() {
  std::vector<Arrival> arrivals;
  for (Cycle c = 0; !finished(); ++c) {
    for (const auto& core : cores_) {
      if (!core->finished()) core->step(c);
    }
    if (stuck()) deadlock(c);
    memory_.run_until(clocks_.core.tick(c + 1), true, arrivals);
    deliver(arrivals);
  }
}

void Run::deliver(std::vector<Arrival>& arrivals) {
  for (const Arrival& arrival : arrivals) cores_[arrival.core]->arrive(arrival);
  arrivals.clear();
}

Cycle Run::cycles() const {
  Cycle last = 0;
  for (const auto& core : cores_) last = std::max(last, core->cycles());
  return last;
}

void Run::deadlock(Cycle at) const {
  std::string blocked;
  for (const auto& core : cores_) core->describe_blocked(blocked);
  throw DeadlockError("no event can make progress", {"an instruction that can issue or finish", "\n" + blocked, join("core cycle ", at),
                                                     "check the trace; report it if the trace is right"});
}

}  // namespace togsim
