#include "bridge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

bool is_array_op(Op op) { return op == Op::Matmul || op == Op::Preload; }

Op compute_op(ComputeType type) {
  switch (type) {
    case ComputeType::Matmul:
      return Op::Matmul;
    case ComputeType::Preload:
      return Op::Preload;
    case ComputeType::Vector:
      break;
  }
  return Op::Vector;
}

bool names_weights(const std::vector<Range>& ranges) { return std::any_of(ranges.begin(), ranges.end(), is_weights); }

class Builder {
 public:
  Builder(const BridgeInput& input, WorkItem& item) : input_(input), item_(item), map_(item.versions) {}

  void add(const DmaRecord& dma) {
    const bool load = dma.direction == Direction::Load;
    const uint32_t i = append(load ? Op::Load : Op::Store);
    if (static_cast<size_t>(dma.arg_id) >= input_.bases.size()) {
      fail("transfer of an unknown tensor argument", join("an argument below ", input_.bases.size()), join("argument ", dma.arg_id));
    }
    item_.code[i].dma = static_cast<int32_t>(item_.transfers.size());
    item_.transfers.push_back({dma, input_.bases[static_cast<size_t>(dma.arg_id)]});
    if (load) {
      if (!dma.reads.empty()) item_.indirect = true;
      read(i, arena_bytes(dma.reads), {});
      read_dram();
      write_load(i, arena_bytes(dma.writes), dma.is_async);
    } else {
      const std::vector<Bytes> source = arena_bytes(dma.reads);
      if (!any_written(source)) fail("store of an unwritten buffer", "bytes that a load or a block has written", "no writer");
      read(i, source, {});
      stores_.push_back({i, bounding_bytes(dma, item_.transfers.back().base), {}});
    }
    commit(i);
    if (dma.is_async) tags_[dma.tag].push_back(i);
    cover(dma.reads);
    cover(dma.writes);
  }

  void add(const ComputeRecord& compute) {
    const Op op = compute_op(compute.type);
    const uint32_t i = append(op);
    if (compute.block_id < 0 || static_cast<size_t>(compute.block_id) >= input_.blocks.size()) {
      fail("unknown compute block", join("a block id below ", input_.blocks.size(), " (the cycle table)"),
           join("block ", compute.block_id));
    }
    const BlockCost& cost = input_.blocks[static_cast<size_t>(compute.block_id)];
    item_.code[i].block_id = compute.block_id;
    item_.code[i].cycles = cost.cycles;
    item_.code[i].overlapping = cost.overlapping;
    const std::vector<Bytes> reads = arena_bytes(compute.reads);
    const std::vector<Bytes> writes = arena_bytes(compute.writes);
    const std::vector<Bytes> in_place = intersection(reads, writes);
    read(i, reads, in_place);
    weights(i, op, compute);
    commit(i);
    write(i, writes, in_place);
    cover(compute.reads);
    cover(compute.writes);
  }

  void add(const BarrierRecord& bar) {
    const auto slot = tags_.find(bar.tag);
    if (slot == tags_.end()) fail("wait without transfer", join("a transfer under tag ", bar.tag, " before it"), "none in this work-item");
    std::deque<uint32_t>& queue = slot->second;
    if (static_cast<size_t>(bar.count) > queue.size()) {
      fail("wait for more transfers than there are", join("at most ", queue.size(), " under tag ", bar.tag), join(bar.count));
    }
    if (queue.empty()) return;  // a repeated wait for all: the first one is the barrier
    const size_t n = bar.count == 0 ? queue.size() : static_cast<size_t>(bar.count);
    const uint32_t b = append(Op::Barrier);
    item_.code[b].outstanding = static_cast<uint32_t>(n);
    std::vector<uint32_t> landed;
    for (size_t k = 0; k < n; ++k) {
      const uint32_t t = queue.front();
      queue.pop_front();
      landed.push_back(t);
      item_.code[t].barrier = static_cast<int32_t>(b);
      need(t, Event::Issue);
      if (item_.code[t].op == Op::Load) land(t, b);
    }
    for (const uint32_t left : queue) {
      for (const uint32_t done : landed) {
        if (item_.code[left].op != Op::Load || item_.code[done].op != Op::Load) continue;
        if (!intersection(arena_bytes(transfer(done).writes), arena_bytes(transfer(left).writes)).empty()) {
          fail("wait for some of the transfers that interleave", join("a wait for all transfers under tag ", bar.tag), join(n, " of them"));
        }
      }
    }
    commit(b);
  }

  void finish() {
    for (const auto& [tag, queue] : tags_) {
      if (!queue.empty()) {
        fail("transfer that is never waited for", join("a wait for tag ", tag, " before the end of the work-item"),
             join(queue.size(), " outstanding"));
      }
    }
    close_preload();
    item_.footprint = total(arena_bytes(covered_));
    if (item_.footprint > input_.spad_bytes) {
      fail("work-item does not fit the scratchpad", join("at most ", input_.spad_bytes, " bytes per lane"),
           join(item_.footprint, " bytes per lane"));
    }
  }

  size_t record = 0;  // index of the record being added

 private:
  struct Stored {
    uint32_t instruction;
    Interval box;                 // bytes
    std::vector<Interval> bytes;  // filled when first needed
  };

  uint32_t append(Op op) {
    const auto i = static_cast<uint32_t>(item_.code.size());
    Instruction instruction;
    instruction.op = op;
    instruction.record = static_cast<uint32_t>(record);
    item_.code.push_back(instruction);
    item_.deps.grow(i + 1);
    return i;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& expected, const std::string& found) const {
    throw TraceError(what, {expected, found, join("work-item ", item_.index, ", record ", record), "fix the trace producer"});
  }

  // -- dependencies of the instruction being added ------------------------------------------------------------------
  void need(uint32_t producer, Event event) { needs_.push_back({producer, event}); }

  // One edge per producer; DONE implies ISSUE.
  void commit(uint32_t consumer) {
    std::sort(needs_.begin(), needs_.end(),
              [](const Need& a, const Need& b) { return a.producer != b.producer ? a.producer < b.producer : a.event > b.event; });
    for (size_t k = 0; k < needs_.size(); ++k) {
      if (k > 0 && needs_[k].producer == needs_[k - 1].producer) continue;
      if (edges_++ == input_.drop_dependency) continue;
      item_.deps.add_dep(needs_[k].producer, needs_[k].event, consumer);
    }
    needs_.clear();
  }

  // A reader depends on every current writer of its bytes. In-place bytes of a matmul are an accumulator: matmuls that add into
  // the same bytes are free of each other, and each waits for the seed alone.
  void read(uint32_t i, const std::vector<Bytes>& bytes, const std::vector<Bytes>& in_place) {
    const bool matmul = item_.code[i].op == Op::Matmul;
    for (const Bytes& b : in_place) map_.each(b, [](int64_t, const Segment&) {});  // cut at the accumulator's ends
    for (const Bytes& b : bytes) {
      map_.each(b, [&](int64_t begin, const Segment& segment) {
        if (segment.in_flight >= 0)
          fail("bytes read while their load is in flight", "a wait between load and reader", join("arena byte ", begin));
        const bool accumulates =
            matmul && std::any_of(in_place.begin(), in_place.end(), [&](const Bytes& a) { return a.begin <= begin && begin < a.end; });
        for (const uint32_t writer : segment.writers) {
          const Op op = item_.code[writer].op;
          if (accumulates && op == Op::Matmul) continue;
          need(writer, is_array_op(item_.code[i].op) && is_array_op(op) ? Event::Issue : Event::Done);
        }
        item_.versions.add_reader(segment.version, i);
      });
    }
  }

  void write(uint32_t i, const std::vector<Bytes>& bytes, const std::vector<Bytes>& in_place) {
    const bool matmul = item_.code[i].op == Op::Matmul;
    for (const Bytes& b : in_place) {
      const std::vector<Bytes> unwritten = map_.gaps(b);
      map_.each(b, [&](int64_t, Segment& segment) {
        if (!matmul) segment.writers.clear();
        segment.writers.push_back(i);
      });
      for (const Bytes& gap : unwritten) open(gap, i);
    }
    for (const Bytes& b : bytes) {
      int64_t from = b.begin;  // the parts of b outside in_place
      for (const Bytes& hole : in_place) {
        if (hole.end <= from || hole.begin >= b.end) continue;
        if (from < hole.begin) open({from, hole.begin}, i);
        from = hole.end;
      }
      if (from < b.end) open({from, b.end}, i);
    }
  }

  // The parts of one peeled transfer share a tag and may interleave in the scratchpad: where their hulls overlap, the bytes stay with the
  // first part, and the barrier that takes all parts is their writer.
  void write_load(uint32_t i, const std::vector<Bytes>& bytes, bool async) {
    for (const Bytes& b : bytes) {
      std::vector<Bytes> shared;
      if (async) {
        map_.each(b, [&](int64_t begin, const Segment& segment) {
          if (segment.in_flight >= 0 && transfer(static_cast<uint32_t>(segment.in_flight)).tag == transfer(i).tag) {
            shared.push_back({begin, segment.end});
          }
        });
      }
      int64_t from = b.begin;
      for (const Bytes& part : shared) {
        if (from < part.begin) open({from, part.begin}, i, async);
        from = part.end;
      }
      if (from < b.end) open({from, b.end}, i, async);
    }
  }

  const DmaRecord& transfer(uint32_t i) const { return item_.transfers[static_cast<size_t>(item_.code[i].dma)].record; }

  void open(Bytes bytes, uint32_t i, bool in_flight = false) {
    map_.each(bytes, [&](int64_t begin, const Segment& segment) {
      if (segment.in_flight >= 0) fail("bytes written while a load into them is in flight", "a wait before it", join("arena byte ", begin));
    });
    Segment segment;
    segment.version = item_.versions.add_version(i, bytes.end - bytes.begin);
    if (in_flight) {
      segment.in_flight = static_cast<int32_t>(i);
    } else {
      segment.writers.push_back(i);
    }
    map_.assign(bytes, std::move(segment));
  }

  // The barrier is the writer of what its loads brought.
  void land(uint32_t load, uint32_t barrier) {
    for (const Bytes& b : arena_bytes(item_.transfers[static_cast<size_t>(item_.code[load].dma)].record.writes)) {
      map_.each(b, [&](int64_t, Segment& segment) {
        if (segment.in_flight != static_cast<int32_t>(load)) return;
        segment.in_flight = -1;
        segment.writers = {barrier};
      });
    }
  }

  bool any_written(const std::vector<Bytes>& bytes) {
    bool written = false;
    for (const Bytes& b : bytes) map_.each(b, [&](int64_t, const Segment&) { written = true; });
    return written;
  }

  // A load from DRAM bytes that this work-item stored depends on what completes the store.
  void read_dram() {
    const Transfer& transfer = item_.transfers.back();
    const Interval box = bounding_bytes(transfer.record, transfer.base);
    std::vector<Interval> bytes;
    for (Stored& stored : stores_) {
      if (box.last < stored.box.first || stored.box.last < box.first) continue;
      const Instruction& store = item_.code[stored.instruction];
      const Transfer& source = item_.transfers[static_cast<size_t>(store.dma)];
      if (bytes.empty()) bytes = touched_granules(transfer.record, transfer.base, 1);
      if (stored.bytes.empty()) stored.bytes = touched_granules(source.record, source.base, 1);
      if (!intersect(bytes, stored.bytes)) continue;
      if (source.record.is_async && store.barrier < 0) {
        fail("load of DRAM bytes whose store is in flight", "a wait between store and load", join("store of record ", store.record));
      }
      need(source.record.is_async ? static_cast<uint32_t>(store.barrier) : stored.instruction, Event::Done);
    }
  }

  // -- weights ------------------------------------------------------------------------------------------------------
  void weights(uint32_t i, Op op, const ComputeRecord& compute) {
    if (op == Op::Preload) {
      if (!names_weights(compute.writes)) fail("preload that writes no weights", "buffer -1 in its write set", "not there");
      close_preload();
      item_.preloads.push_back(i);
      preload_ = i;
    } else if (op == Op::Matmul) {
      if (!names_weights(compute.reads)) fail("matmul that reads no weights", "buffer -1 in its read set", "not there");
      if (!preload_) fail("matmul without preload", "a preload before it in the work-item", "none");
      item_.code[i].preload = static_cast<int32_t>(*preload_);
      ++item_.code[*preload_].outstanding;
      need(*preload_, Event::Issue);
    }
  }

  void close_preload() const {
    if (preload_ && item_.code[*preload_].outstanding == 0) {
      throw TraceError("preload without consumer",
                       {"a matmul between it and the next preload", "none",
                        join("work-item ", item_.index, ", record ", item_.code[*preload_].record), "fix the trace producer"});
    }
  }

  void cover(const std::vector<Range>& ranges) {
    // Kept merged, so that its size is that of the arena's structure and not of the trace.
    covered_.insert(covered_.end(), ranges.begin(), ranges.end());
    if (covered_.size() < 256) return;
    std::vector<Range> merged;
    for (const Bytes& b : arena_bytes(covered_)) merged.push_back({0, b.begin, 0, b.end - b.begin});
    covered_ = std::move(merged);
  }

  struct Need {
    uint32_t producer;
    Event event;
  };

  const BridgeInput& input_;
  WorkItem& item_;
  WriterMap map_;
  std::map<int64_t, std::deque<uint32_t>> tags_;
  std::vector<Stored> stores_;
  std::optional<uint32_t> preload_;
  std::vector<Need> needs_;
  int64_t edges_ = 0;
  std::vector<Range> covered_;
};

}  // namespace

const char* opcode(Op op) {
  switch (op) {
    case Op::Load:
      return "MOVIN";
    case Op::Store:
      return "MOVOUT";
    case Op::Barrier:
      return "MEMORY_BAR";
    case Op::Vector:
    case Op::Matmul:
    case Op::Preload:
      break;
  }
  return "COMP";
}

void check_blocks(std::span<const BlockCost> blocks) {
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].cycles < 0 || blocks[b].overlapping < 0 || blocks[b].overlapping > blocks[b].cycles) {
      throw TraceError("impossible entry of the cycle table",
                       {"0 <= overlapping <= cycles", join("cycles ", blocks[b].cycles, ", overlapping ", blocks[b].overlapping),
                        join("block ", b), "rebuild the cycle table"});
    }
  }
}

WorkItem build_work_item(const BridgeInput& input, size_t index, std::vector<int64_t> iv, const Records& records) {
  WorkItem item;
  item.index = index;
  item.iv = std::move(iv);
  item.code.reserve(records.size());
  Builder builder(input, item);
  for (const Record& record : records) {
    std::visit([&](const auto& r) { builder.add(r); }, record);
    ++builder.record;
  }
  builder.finish();
  const auto n = static_cast<uint32_t>(item.code.size());
  const int64_t half = input.spad_bytes / 2;
  item.versions.seal(n, item.footprint <= half ? half : input.spad_bytes);
  item.ready = ReadySet(n);
  for (uint32_t i = 0; i < n; ++i) {
    if (item.deps.pending(i) == 0) item.ready.insert(i);
  }
  item.unfinished = n;
  return item;
}

}  // namespace togsim
