#include "core.h"

#include <algorithm>
#include <utility>

namespace togsim {

Core::Core(uint32_t id, RunContext& run)
    : id_(id),
      run_(run),
      arrays_(run.config.systolic_arrays, run.config.weight_slots),
      dma_(id, run.config.icnt_ports, run.config.dma_queue_depth, run.memory) {}

void Core::step(Cycle now) {
  if (const Cycle gap = now - last_step_ - 1; gap > 0) {
    if (stall_) stats_.stalls[static_cast<size_t>(*stall_)] += gap;
    if (last_idle_) stats_.idle_cycles += gap;
  }
  last_step_ = now;
  ++stats_.steps;
  process_due(now);
  step_dma(now);
  if (running_.empty()) admit(now);
  const bool was_dirty = dirty_;
  bool issued = false;
  if (dirty_ || run_.forced_scan) {
    dirty_ = false;
    const int64_t inline_before = stats_.skipped_computes;
    issued = scan(now);
    if (!was_dirty && (issued || stats_.skipped_computes != inline_before)) ++stats_.missed_wakes;
    if (issued) mark(Wake::Issued);
  }
  if (!issued && retire(now)) admit(now);
  account(now, issued);
}

bool Core::busy() const {
  const auto done = [](const std::unique_ptr<WorkItem>& item) { return item->unfinished == 0; };
  return dirty_ || dma_.active() || running_.empty() || std::any_of(running_.begin(), running_.end(), done);
}

Cycle Core::next_cycle() const {
  if (finished()) return kNever;
  return std::max(wake_at_, busy() || run_.forced_scan ? last_step_ + 1 : due_.next());
}

bool Core::stuck() const { return finished() || (!busy() && due_.next() == kNever); }

void Core::process_due(Cycle now) {
  while (due_.next() <= now) {
    const DueEvent event = due_.pop();
    switch (event.kind) {
      case DueEvent::Kind::WeightSlot:
        arrays_.release(event.array);
        mark(Wake::WeightSlotFreed);
        break;
      case DueEvent::Kind::ComputeDone:
        finish(*event.item, event.instruction, now, Wake::Ready);
        break;
      case DueEvent::Kind::DataArrived:
        finish_transfer(*event.item, event.instruction, now);
        break;
    }
  }
}

void Core::step_dma(Cycle now) {
  if (!dma_.active()) return;
  const auto handle = [this](const DmaJob& job) {
    if (free_jobs_.empty()) {
      jobs_.push_back(job);
      return static_cast<uint32_t>(jobs_.size() - 1);
    }
    const uint32_t h = free_jobs_.back();
    free_jobs_.pop_back();
    jobs_[h] = job;
    return h;
  };
  const DmaEngine::Step did = dma_.step(run_.clock.tick(now), handle);
  ++stats_.dma_busy;
  (did.store ? stats_.write_requests : stats_.read_requests) += did.sent;
  if (did.freed_queue) mark(Wake::QueueFreed);
  if (run_.log.trace) {
    const auto log = [&](const DmaJob& job, Tag tag, int64_t requests) {
      const Op op = job.item->code[job.instruction].op;
      run_.log.trace->add(
          {now, id_, tag, job.item->first_id + job.instruction, opcode(op), {{"item", job.item->index}, {"requests", requests}}});
    };
    if (did.started) log(*did.started, Tag::DmaStart, 0);
    if (did.injected) log(*did.injected, Tag::DmaInjected, static_cast<int64_t>(did.requests));
  }
  if (did.injected && did.requests == 0) finish_transfer(*did.injected->item, did.injected->instruction, now);
}

void Core::arrive(const Arrival& arrival) {
  const DmaJob job = jobs_[arrival.handle];
  free_jobs_.push_back(arrival.handle);
  const Cycle at = run_.clock.at_or_after(arrival.last) + run_.faults.shift(Figure::DataArrival);
  due_.push({at, DueEvent::Kind::DataArrived, job.item->index, job.instruction, job.item, -1});
  if (!run_.log.trace) return;
  const int64_t inst = job.item->first_id + job.instruction;
  const char* name = opcode(job.item->code[job.instruction].op);
  run_.log.trace->add({run_.clock.at_or_after(arrival.first), id_, Tag::DramFirstResp, inst, name, {{"item", job.item->index}}});
  run_.log.trace->add({at, id_, Tag::DramRespDone, inst, name, {{"item", job.item->index}}});
}

// Two work-items run together only if each fits half of the scratchpad. Order of dispatch is kept.
void Core::admit(Cycle now) {
  const int64_t half = run_.config.spad_bytes_per_lane / 2;
  while (static_cast<int64_t>(running_.size()) < 2 + run_.faults.shift(Figure::WorkItems)) {
    if (!candidate_) {
      if (waiting_.empty()) return;
      const Dispatch next = waiting_.front();
      waiting_.pop_front();
      candidate_ = std::make_unique<WorkItem>(build_work_item(next.kernel->bridge, *next.kernel->producer, next.item));
      candidate_->first_id = run_.log.next_inst_id;
      run_.log.next_inst_id += static_cast<int64_t>(candidate_->code.size());
      stats_.indirect_transfers += candidate_->indirect;
      stats_.unindexed_transfers += candidate_->unindexed;
    }
    const bool alone = candidate_->footprint > half && !run_.faults.bent(Rule::LargeItemsTogether);
    const bool front_alone = !running_.empty() && running_.front()->footprint > half && !run_.faults.bent(Rule::LargeItemsTogether);
    if (!running_.empty() && (alone || front_alone)) return;
    if (run_.log.trace) {
      TraceEvent event{
          now, id_, Tag::TileScheduled, candidate_->first_id, "TILE", {{"item", candidate_->index}, {"footprint", candidate_->footprint}}};
      event.details.emplace_back("max_dispatch", alone ? 1 : 2);
      event.details.emplace_back("instructions", static_cast<int64_t>(candidate_->code.size()));
      for (const int64_t iv : candidate_->iv) event.details.emplace_back("iv", iv);
      run_.log.trace->add(std::move(event));
    }
    running_.push_back(std::move(candidate_));
    mark(Wake::Dispatched);
  }
}

bool Core::retire(Cycle now) {
  const auto done =
      std::find_if(running_.begin(), running_.end(), [](const std::unique_ptr<WorkItem>& item) { return item->unfinished == 0; });
  if (done == running_.end()) return false;
  if (run_.log.trace) run_.log.trace->add({now, id_, Tag::TileFinished, (*done)->first_id, "TILE", {{"item", (*done)->index}}});
  running_.erase(done);
  ++stats_.work_items;
  end_ = now + 1;
  return true;
}

void Core::finish(WorkItem& item, uint32_t i, Cycle now, Wake wake) {
  Instruction& code = item.code[i];
  code.done = true;
  --item.unfinished;
  if (run_.log.trace) run_.log.trace->add({now, id_, Tag::InstFinished, item.first_id + i, opcode(code.op), {{"item", item.index}}});
  if (item.versions.release_unread(i)) mark(Wake::SpadFreed);
  run_.log.holds({now, id_, item.index, code.record, Event::Done, item.versions.occupied()});
  fire(item, i, Event::Done, wake);
}

void Core::finish_transfer(WorkItem& item, uint32_t i, Cycle now) {
  --in_flight_;
  finish(item, i, now, Wake::DramResponse);
  const int32_t barrier = item.code[i].barrier;
  if (barrier < 0) return;
  Instruction& bar = item.code[static_cast<size_t>(barrier)];
  if (--bar.outstanding == 0 && bar.issued) finish(item, static_cast<uint32_t>(barrier), now, Wake::DramResponse);
}

void Core::fire(WorkItem& item, uint32_t i, Event event, Wake wake) {
  item.deps.fire(i, event, [&](uint32_t consumer) {
    item.ready.insert(consumer, item.code[consumer].group);
    mark(wake);
  });
}

// Why this cycle, and the quiet ones after it, issue nothing.
void Core::account(Cycle now, bool issued) {
  stall_.reset();
  last_idle_ = running_.empty();
  if (!last_idle_) {
    const auto busy = [&](const Pipe& pipe) { return !pipe.empty(now); };
    if (blocked_) {
      stall_ = blocked_;
    } else if (busy(vector_) || std::any_of(arrays_.pipes().begin(), arrays_.pipes().end(), busy)) {
      stall_ = Stall::Dependency;
    } else if (dma_.active()) {
      stall_ = Stall::Noc;
    } else {
      stall_ = in_flight_ > 0 ? Stall::Dram : Stall::Dependency;
    }
  }
  int64_t held = 0;
  for (const auto& item : running_) held += item->versions.occupied();
  stats_.peak_spad_bytes = std::max(stats_.peak_spad_bytes, held);
  if (issued) {
    ++stats_.issue_cycles;
  } else if (stall_) {
    ++stats_.stalls[static_cast<size_t>(*stall_)];
  } else {
    ++stats_.idle_cycles;
  }
}

}  // namespace togsim
