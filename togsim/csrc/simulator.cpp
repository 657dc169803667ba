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

std::vector<std::unique_ptr<Core>> make_cores(RunContext& context) {
  std::vector<std::unique_ptr<Core>> cores;
  for (int32_t c = 0; c < context.config.num_cores; ++c) cores.push_back(std::make_unique<Core>(static_cast<uint32_t>(c), context));
  return cores;
}

// Cycles without an answer of a memory that owes some, after which it is taken to be frozen.
Cycle patience(const Config& config, const Clocks& clocks) {
  constexpr Cycle kQuiet = 1'000'000;
  const Tick longest = clocks.dram.tick(config.dram_latency) + 2 * clocks.icnt.tick(config.icnt_latency);
  return kQuiet + clocks.core.at_or_after(longest);
}

}  // namespace

Run::Run(const Config& config, std::vector<Launch> launches, RunOptions options)
    : config_(prepared(config, options.faults)),
      clocks_(make_clocks(config_)),
      options_(options),
      memory_(config_, clocks_, options.mode == Mode::CycleByCycle),
      context_{config_, clocks_.core, memory_, log_, options_.faults, options_.mode != Mode::Fast},
      cores_(make_cores(context_)),
      partitions_(config_, std::move(launches), options_.faults, cores_),
      patience_(patience(config_, clocks_)) {
  if (options_.trace) log_.trace.emplace();
  if (options_.issue_order) log_.issues.emplace();
  if (options_.issue_order) log_.held.emplace();
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

bool Run::stuck() const {
  return memory_.idle() && !finished() && std::all_of(cores_.begin(), cores_.end(), [](const auto& core) { return core->stuck(); });
}

Cycle Run::next_cycle() const {
  Cycle next = kNever;
  for (const auto& core : cores_) next = std::min(next, core->next_cycle());
  return next;
}

// Cores and memory in turn: the memory settles what its own past and that of the cores decide, the cores run through that.
void Run::run_windows() {
  for (Tick now = 0; !finished();) {
    const Cycle next = next_cycle();
    if (memory_.idle()) {
      if (next == kNever) deadlock(clocks_.core.at_or_after(now));
      now = std::max(now, clocks_.core.tick(next));
    } else {
      guard(clocks_.core.at_or_after(now));
    }
    const Tick end = advance_memory(now);
    for (Cycle c = next_cycle(); c != kNever && clocks_.core.tick(c) < end; c = next_cycle()) {
      for (const auto& core : cores_) {
        if (core->next_cycle() == c) core->step(c);
      }
      partitions_.advance(c);
      if (stuck()) deadlock(c);
    }
    now = end;
  }
}

void Run::run_cycle_by_cycle() {
  for (Cycle c = 0; !finished(); ++c) {
    advance_memory(clocks_.core.tick(c));
    for (const auto& core : cores_) {
      if (core->next_cycle() <= c) core->step(c);
    }
    partitions_.advance(c);
    if (stuck()) deadlock(c);
    guard(c);
  }
}

// Returns the end of the window that is settled.
Tick Run::advance_memory(Tick now) {
  if (options_.faults.bent(Rule::MemoryFrozen)) return now + 1;
  const Tick end = memory_.advance(now, arrivals_);
  for (const Arrival& arrival : arrivals_) cores_[arrival.core]->arrive(arrival);
  arrivals_.clear();
  return end;
}

// A memory that owes answers and gives none for very long will never give them.
void Run::guard(Cycle now) {
  if (memory_.idle() || memory_.progress() != seen_progress_) {
    seen_progress_ = memory_.progress();
    seen_at_ = now;
  } else if (now - seen_at_ > patience_) {
    deadlock(now);
  }
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
