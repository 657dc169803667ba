#include "dependency_rule.h"

#include <algorithm>
#include <utility>

namespace togsim {

// A reader depends on every current writer of its bytes. In-place bytes of a matmul are an accumulator: matmuls that add into
// the same bytes are free of each other, and each waits for the seed alone.
void DependencyRule::read(uint32_t i, const std::vector<Bytes>& bytes, const std::vector<Bytes>& in_place) {
  const bool waits_for_sum = op(i) != Op::Matmul || faults_.bent(Rule::AccumulateWaits);
  const auto accumulated = [&](int64_t at) {
    return std::any_of(in_place.begin(), in_place.end(), [&](const Bytes& a) { return a.begin <= at && at < a.end; });
  };
  for (const Bytes& b : in_place) map_.each(b, [](int64_t, const Segment&) {});  // cut at the accumulator's ends
  for (const Bytes& b : bytes) {
    map_.each(b, [&](int64_t begin, const Segment& segment) {
      if (segment.in_flight >= 0) {
        site_.fail("bytes read while their load is in flight", "a wait between load and reader", join("arena byte ", begin));
      }
      const bool seed_only = !waits_for_sum && accumulated(begin);
      for (const uint32_t writer : segment.writers) {
        if (seed_only && op(writer) == Op::Matmul) continue;
        need(i, writer, seed_only ? Why::Seed : Why::Read);
      }
      if (!seed_only) {
        for (const uint32_t matmul : segment.added) need(i, matmul, Why::Read);
      }
      if (op(i) == Op::Store && faults_.bent(Rule::StoreIsNoReader)) return;
      item_.versions.add_reader(segment.version, i);
    });
  }
}

void DependencyRule::write(uint32_t i, const std::vector<Bytes>& bytes, const std::vector<Bytes>& in_place) {
  for (const Bytes& b : in_place) {
    const std::vector<Bytes> unwritten = map_.gaps(b);
    if (faults_.bent(Rule::InPlaceOpens)) {
      open(b, i);
      continue;
    }
    map_.each(b, [&](int64_t, Segment& segment) { pass_on(i, segment); });
    for (const Bytes& gap : unwritten) open(gap, i);
  }
  for (const Bytes& b : bytes) open_outside(b, in_place, i);
}

void DependencyRule::pass_on(uint32_t i, Segment& segment) {
  const bool joins = op(i) == Op::Matmul ? !faults_.bent(Rule::AccumulateReplaces) : faults_.bent(Rule::InPlaceKeepsWriters);
  if (!joins) {
    segment.writers.clear();
    segment.added.clear();
  }
  (joins && op(i) == Op::Matmul ? segment.added : segment.writers).push_back(i);
}

void DependencyRule::need(uint32_t reader, uint32_t writer, Why why) {
  edges_.need(writer, is_array_op(op(reader)) && is_array_op(op(writer)) ? Event::Issue : Event::Done, why);
}

// The parts of one peeled transfer share a tag and may interleave in the scratchpad: where their hulls overlap, the bytes stay with
// the first part, and the barrier that takes all parts is their writer.
void DependencyRule::write_load(uint32_t i, const std::vector<Bytes>& bytes, bool async) {
  for (const Bytes& b : bytes) {
    std::vector<Bytes> shared;
    if (async) {
      map_.each(b, [&](int64_t begin, const Segment& segment) {
        if (segment.in_flight >= 0 && transfer(static_cast<uint32_t>(segment.in_flight)).tag == transfer(i).tag) {
          shared.push_back({begin, segment.end});
        }
      });
    }
    open_outside(b, shared, i, async);
  }
}

void DependencyRule::open_outside(Bytes bytes, const std::vector<Bytes>& held, uint32_t i, bool in_flight) {
  int64_t from = bytes.begin;
  for (const Bytes& hole : held) {
    if (hole.end <= from || hole.begin >= bytes.end) continue;
    if (from < hole.begin) open({from, hole.begin}, i, in_flight);
    from = hole.end;
  }
  if (from < bytes.end) open({from, bytes.end}, i, in_flight);
}

void DependencyRule::open(Bytes bytes, uint32_t i, bool in_flight) {
  Segment segment;
  map_.each(bytes, [&](int64_t begin, const Segment& old) {
    if (old.in_flight >= 0) site_.fail("bytes written while a load into them is in flight", "a wait before it", join("arena byte ", begin));
    if (!faults_.bent(Rule::WritersPileUp)) return;
    segment.writers.insert(segment.writers.end(), old.writers.begin(), old.writers.end());
    segment.writers.insert(segment.writers.end(), old.added.begin(), old.added.end());
  });
  segment.version = item_.versions.add_version(i, bytes.end - bytes.begin);
  if (in_flight) {
    segment.in_flight = static_cast<int32_t>(i);
  } else {
    segment.writers.push_back(i);
  }
  map_.assign(bytes, std::move(segment));
}

void DependencyRule::land(uint32_t load, uint32_t barrier) {
  for (const Bytes& b : arena_bytes(transfer(load).writes)) {
    map_.each(b, [&](int64_t, Segment& segment) {
      if (segment.in_flight != static_cast<int32_t>(load)) return;
      segment.in_flight = -1;
      if (!faults_.bent(Rule::WritersPileUp)) segment.writers.clear();
      segment.writers.push_back(barrier);
    });
  }
}

bool DependencyRule::any_written(const std::vector<Bytes>& bytes) {
  bool written = false;
  for (const Bytes& b : bytes) map_.each(b, [&](int64_t, const Segment&) { written = true; });
  return written;
}

}  // namespace togsim
