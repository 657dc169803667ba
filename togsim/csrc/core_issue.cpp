// Which instruction issues, and what issuing does.
#include <algorithm>

#include "core.h"
#include "error.h"
#include "text.h"

namespace togsim {

// Ready instructions in order of admission and program order; at most one takes the cycle's issue slot. Computes of zero
// cycles finish on the way. An instruction that becomes ready during the scan comes later in program order and is seen.
//
// The first instruction that is blocked shows that later ones of its group are, until a block finishes on the way: a queue stays
// full; an opener needs room for all openers before it, so what does not fit keeps later ones out (VersionTable::can_open);
// a preload waits for the one before it or for a slot. Those are passed over. A forced scan looks at every one.
bool Core::scan(Cycle now) {
  ++stats_.scans;
  blocked_.reset();
  const bool all = run_.forced_scan || run_.faults.bent(Rule::ClaimsIgnored);  // that fault lets later openers overtake
  for (const auto& item : running_) {
    ReadySet::Groups groups = all ? ReadySet::kAll : open_groups();
    for (uint32_t i = item->ready.next(0, groups); i != ReadySet::kNone; i = item->ready.next(i + 1, groups)) {
      ++stats_.entries_examined;
      switch (attempt(*item, i, now)) {
        case Attempt::Issued:
          blocked_.reset();
          return true;
        case Attempt::Inline:
          if (!all) groups = open_groups();
          break;
        case Attempt::Blocked:
          if (!all) groups &= ~shut_;
          break;
      }
    }
  }
  return false;
}

// Groups of which an instruction might issue, as far as that is known without looking at one. The first transfer that meets a
// full queue is looked at all the same: it is the cause of the stall.
ReadySet::Groups Core::open_groups() const {
  if (!blocked_) return ReadySet::kAll;
  return ReadySet::kAll & ~(dma_.full(false) ? ReadySet::kLoads : 0) & ~(dma_.full(true) ? ReadySet::kStores : 0);
}

Core::Attempt Core::attempt(WorkItem& item, uint32_t i, Cycle now) {
  switch (item.code[i].op) {
    case Op::Load:
    case Op::Store:
      return attempt_transfer(item, i, now);
    case Op::Vector:
    case Op::Matmul:
    case Op::Preload:
      return attempt_compute(item, i, now);
    case Op::Barrier:
      break;
  }
  issue(item, i, now, true, kNever);
  if (item.code[i].outstanding == 0) finish(item, i, now, Wake::Ready);
  return Attempt::Issued;
}

Core::Attempt Core::block(Stall cause, ReadySet::Groups shut) {
  if (!blocked_) blocked_ = cause;
  shut_ = shut;
  return Attempt::Blocked;
}

Core::Attempt Core::attempt_transfer(WorkItem& item, uint32_t i, Cycle now) {
  const bool store = item.code[i].op == Op::Store;
  if (dma_.full(store)) return block(Stall::DmaQueue, store ? ReadySet::kStores : ReadySet::kLoads);
  if (!item.versions.can_open(i)) return block(Stall::Capacity, ReadySet::kOpeners);
  dma_.enqueue(store, {&item, i});
  ++in_flight_;
  issue(item, i, now, true, kNever);
  return Attempt::Issued;
}

Core::Attempt Core::attempt_compute(WorkItem& item, uint32_t i, Cycle now) {
  Instruction& code = item.code[i];
  if (!item.versions.can_open(i)) return block(Stall::Capacity, ReadySet::kOpeners);
  if (code.op == Op::Preload) {
    // Weights are loaded in program order: a later preload must not take the slot that an earlier one needs.
    const bool in_turn = item.preloads[item.next_preload] == i || run_.faults.bent(Rule::PreloadsOutOfOrder);
    if (!in_turn) return block(Stall::WeightSlot, ReadySet::kPreloads);
    code.array = arrays_.pick();
    if (code.array == SystolicArrays::kNone) return block(Stall::WeightSlot, ReadySet::kPreloads);
    arrays_.take(code.array, run_.faults);
    ++item.next_preload;
  } else if (code.op == Op::Matmul) {
    code.array = item.code[static_cast<size_t>(code.preload)].array;
    if (code.array == SystolicArrays::kNone) {
      throw TraceError("matmul whose weights are in no array",
                       {"its preload issues first", "not issued", join("work-item ", item.index, ", record ", code.record), ""});
    }
  }
  const bool skipped = code.cycles == 0;
  Cycle finish_at = now;
  if (!skipped) {
    Pipe& pipe = code.op == Op::Vector ? vector_ : arrays_.pipe(code.array);
    finish_at = pipe.issue(now, code.cycles, code.overlapping, run_.faults);
    due_.push({finish_at, DueEvent::Kind::ComputeDone, item.index, i, &item, -1});
  }
  issue(item, i, now, !skipped, finish_at);
  if (code.op == Op::Matmul) stop_streaming(item, i, finish_at, now);
  if (!skipped) return Attempt::Issued;
  ++stats_.skipped_computes;
  finish(item, i, now, Wake::Ready);
  return Attempt::Inline;
}

void Core::issue(WorkItem& item, uint32_t i, Cycle now, bool takes_slot, Cycle finish_at) {
  Instruction& code = item.code[i];
  item.ready.erase(i, code.group);
  code.issued = true;
  ++stats_.issued[static_cast<size_t>(code.op)];
  item.versions.open(i);
  run_.log.issued({now, id_, item.index, code.record});
  if (run_.log.trace) {
    TraceEvent event{now, id_, Tag::InstIssued, item.first_id + i, opcode(code.op), {{"item", item.index}, {"record", code.record}}};
    const auto detail = [&](const char* key, int64_t value) { event.details.emplace_back(key, value); };
    if (code.dma >= 0) {
      const DmaRecord& dma = item.transfers[static_cast<size_t>(code.dma)].record;
      detail("arg", dma.arg_id);
      detail("tag", dma.is_async ? dma.tag : -1);
    } else if (code.op == Op::Barrier) {
      detail("outstanding", code.outstanding);
    } else {
      detail("compute_type", code.op == Op::Vector ? TOGSIM_VECTOR : code.op == Op::Matmul ? TOGSIM_MATMUL : TOGSIM_PRELOAD);
      detail("block", code.block_id);
      detail("compute_cycle", code.cycles);
      detail("overlapping_cycle", code.overlapping);
      detail("sa", code.array);
      detail("finish", finish_at);
      detail("skipped", takes_slot ? 0 : 1);
    }
    run_.log.trace->add(std::move(event));
  }
  if (item.versions.release_reads(i)) mark(Wake::SpadFreed);
  run_.log.holds({now, id_, item.index, code.record, Event::Issue, item.versions.occupied()});
  fire(item, i, Event::Issue, Wake::Ready);
}

void Core::stop_streaming(WorkItem& item, uint32_t matmul, Cycle finish_at, Cycle now) {
  const Faults& faults = run_.faults;
  const auto preload = static_cast<uint32_t>(item.code[matmul].preload);
  Instruction& code = item.code[preload];
  Cycle at = finish_at - item.code[matmul].overlapping + faults.shift(Figure::SlotFree);
  if (faults.bent(Rule::SlotFreedAtIssue)) at = now;
  if (faults.bent(Rule::SlotFreedAtFinish)) at = finish_at;
  if (faults.bent(Rule::SlotFreedAfterFirst)) {
    if (code.slot_free > 0) return;
    code.outstanding = 1;
  }
  code.slot_free = faults.bent(Rule::SlotFreedByLastIssued) ? at : std::max(code.slot_free, at);
  if (--code.outstanding > 0) return;
  if (code.slot_free <= now) {
    arrays_.release(code.array);
    mark(Wake::WeightSlotFreed);
  } else {
    due_.push({code.slot_free, DueEvent::Kind::WeightSlot, item.index, preload, nullptr, code.array});
  }
}

void Core::describe_blocked(std::string& out) const {
  for (const auto& item : running_) {
    std::vector<std::string> waits(item->code.size());
    for (const DependencyStore::Edge& e : item->deps.edges()) {
      const Instruction& producer = item->code[e.producer];
      waits[e.consumer] +=
          join(" ", e.event == Event::Issue ? "ISSUE" : "DONE", " of ", opcode(producer.op), " record ", producer.record, ";");
    }
    for (uint32_t i = 0; i < item->code.size(); ++i) {
      const Instruction& code = item->code[i];
      if (code.done) continue;
      out += join("core ", id_, ", work-item ", item->index, ", record ", code.record, ": ", opcode(code.op),
                  code.issued ? " (issued)" : "", " waits for");
      if (!waits[i].empty()) {
        out += waits[i];
      } else if (code.issued) {
        out += code.op == Op::Barrier ? join(" ", code.outstanding, " transfers") : std::string(" its completion");
      } else if (!item->versions.can_open(i)) {
        out += join(" ", item->versions.needed(i), " bytes of scratchpad; occupied ", item->versions.occupied(), ", claimed ",
                    item->versions.claimed(), " of ", item->versions.share());
      } else if (code.op == Op::Preload && item->preloads[item->next_preload] != i) {
        out += " the preload before it";
      } else if (code.op == Op::Preload && arrays_.pick() == SystolicArrays::kNone) {
        out += " a weight slot";
      } else {
        out += " its turn to issue (no wake-up was raised)";
      }
      out += '\n';
    }
  }
}

}  // namespace togsim
