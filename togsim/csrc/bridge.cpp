#include "bridge.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "dependency_rule.h"
#include "stored_bytes.h"
#include "transfer_tags.h"

namespace togsim {
namespace {

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

class Builder {
 public:
  Builder(const BridgeInput& input, WorkItem& item)
      : input_(input),
        faults_(input.faults),
        item_(item),
        edges_(item, faults_),
        rule_(item, edges_, faults_, site_),
        tags_(item, faults_, site_),
        stored_(item, edges_, faults_, site_) {
    site_.item = item.index;
  }

  void add(Record&& record) {
    std::visit([this](auto& r) { add(r); }, record);
    ++site_.record;
  }

  void finish() {
    tags_.check_all_taken();
    close_preload();
    check_all_indexed();
    item_.footprint = total(arena_bytes(covered_)) + faults_.shift(Figure::Footprint);
    if (item_.footprint > input_.spad_bytes) {
      site_.fail("work-item does not fit the scratchpad", join("at most ", input_.spad_bytes, " bytes per lane"),
                 join(item_.footprint, " bytes per lane"));
    }
  }

 private:
  void add(DmaRecord& dma) {
    const bool load = dma.direction == Direction::Load;
    const uint32_t i = append(load ? Op::Load : Op::Store);
    if (static_cast<size_t>(dma.arg_id) >= input_.bases.size()) {
      site_.fail("transfer of an unknown tensor argument", join("an argument below ", input_.bases.size()), join("argument ", dma.arg_id));
    }
    cover(dma.reads);
    cover(dma.writes);
    bend_places(dma.reads);
    bend_places(dma.writes);
    if (dma.is_async) tags_.add(dma.tag, i);
    item_.code[i].dma = static_cast<int32_t>(item_.transfers.size());
    item_.transfers.push_back({std::move(dma), 0});
    Transfer& transfer = item_.transfers.back();
    const DmaRecord& record = transfer.record;
    transfer.base = input_.bases[static_cast<size_t>(record.arg_id)];
    index(transfer, load ? !record.reads.empty() : names_two_buffers(record.reads));
    const std::vector<Bytes> source = arena_bytes(record.reads);
    if (load) {
      rule_.read(i, source, {});
      stored_.add_load(i);
      rule_.write_load(i, arena_bytes(record.writes), record.is_async);
    } else {
      if (!rule_.any_written(source)) {
        site_.fail("store of an unwritten buffer", "bytes that a load or a block has written", "no writer");
      }
      rule_.read(i, source, {});
      stored_.add_store(i);
    }
    edges_.commit(i);
  }

  // A store reads its source, and takes its addresses from an index buffer if it reads a second one.
  static bool names_two_buffers(const std::vector<Range>& reads) {
    return std::any_of(reads.begin(), reads.end(), [&](const Range& r) { return r.buffer != reads.front().buffer; });
  }

  // The real addresses of an indirect transfer, if the run was given them.
  void index(Transfer& transfer, bool reads_index) {
    const std::vector<int64_t>* values = nullptr;
    if (input_.indices != nullptr) {
      const auto found = input_.indices->find({site_.item, site_.record});
      if (found != input_.indices->end()) values = &found->second;
    }
    if (values == nullptr) {
      if (reads_index) ++item_.indirect, ++item_.unindexed;
      return;
    }
    uint64_t positions = 1;
    for (const Axis& axis : transfer.record.axes) positions *= static_cast<uint64_t>(axis.dim);
    if (values->size() != positions) {
      site_.fail("index values do not match the tile", join(positions, " values, one per position"), join(values->size(), " values"));
    }
    transfer.offsets = values;
    transfer.repeats = faults_.bent(Rule::GranulesRepeated);
    ++item_.indirect;
    ++indexed_;
  }

  void check_all_indexed() const {
    if (input_.indices == nullptr) return;
    const auto given = std::distance(input_.indices->lower_bound({site_.item, 0}), input_.indices->lower_bound({site_.item + 1, 0}));
    if (given == indexed_) return;
    site_.fail("index values for a record that is no transfer", "records that are transfers", join(given - indexed_, " other records"));
  }

  void add(ComputeRecord& compute) {
    const Op op = compute_op(compute.type);
    const uint32_t i = append(op);
    if (compute.block_id < 0 || static_cast<size_t>(compute.block_id) >= input_.blocks.size()) {
      site_.fail("unknown compute block", join("a block id below ", input_.blocks.size(), " (the cycle table)"),
                 join("block ", compute.block_id));
    }
    cost(item_.code[i], compute.block_id);
    cover(compute.reads);
    cover(compute.writes);
    bend_places(compute.reads);
    bend_places(compute.writes);
    const std::vector<Bytes> reads = arena_bytes(compute.reads);
    const std::vector<Bytes> writes = arena_bytes(compute.writes);
    const std::vector<Bytes> in_place = intersection(reads, writes);
    rule_.read(i, reads, in_place);
    if (op == Op::Preload) add_preload(i, compute);
    if (op == Op::Matmul) pin_matmul(i, compute);
    edges_.commit(i);
    rule_.write(i, writes, in_place);
  }

  void add(const BarrierRecord& bar) {
    const std::vector<uint32_t> taken = tags_.take(bar);
    if (taken.empty()) return;  // a repeated wait for all: the first one is the barrier
    const uint32_t b = append(Op::Barrier);
    item_.code[b].outstanding = static_cast<uint32_t>(taken.size());
    for (const uint32_t t : taken) {
      item_.code[t].barrier = static_cast<int32_t>(b);
      edges_.need(t, Event::Issue, Why::Transfer);
      if (item_.code[t].op == Op::Load) rule_.land(t, b);
    }
    edges_.commit(b);
  }

  uint32_t append(Op op) {
    const auto i = static_cast<uint32_t>(item_.code.size());
    Instruction instruction;
    instruction.op = op;
    instruction.record = static_cast<uint32_t>(site_.record);
    item_.code.push_back(instruction);
    item_.deps.grow(i + 1);
    return i;
  }

  void cost(Instruction& code, int64_t block) const {
    const BlockCost& figures = input_.blocks[static_cast<size_t>(block)];
    const bool vector = code.op == Op::Vector;
    const bool matmul = code.op == Op::Matmul;
    code.block_id = block;
    code.cycles = faults_.shifted(figures.cycles, vector ? Figure::VectorCycles : matmul ? Figure::MatmulCycles : Figure::PreloadCycles);
    code.overlapping = faults_.shifted(figures.overlapping, vector   ? Figure::VectorOverlapping
                                                            : matmul ? Figure::MatmulOverlapping
                                                                     : Figure::PreloadOverlapping);
  }

  // -- weights: each matmul uses those of the last preload before it ------------------------------------------------
  void add_preload(uint32_t i, const ComputeRecord& compute) {
    if (!names_weights(compute.writes)) site_.fail("preload that writes no weights", "buffer -1 in its write set", "not there");
    close_preload();
    item_.preloads.push_back(i);
    preload_ = i;
  }

  void pin_matmul(uint32_t i, const ComputeRecord& compute) {
    if (!names_weights(compute.reads)) site_.fail("matmul that reads no weights", "buffer -1 in its read set", "not there");
    if (!preload_) site_.fail("matmul without preload", "a preload before it in the work-item", "none");
    const uint32_t from = faults_.bent(Rule::WeightsOfFirstPreload) ? item_.preloads.front() : *preload_;
    item_.code[i].preload = static_cast<int32_t>(from);
    ++item_.code[from].outstanding;
    edges_.need(from, Event::Issue, Why::Weights);
  }

  void close_preload() const {
    if (!preload_ || item_.code[*preload_].outstanding > 0) return;
    site_.fail_at(item_.code[*preload_].record, "preload without consumer", "a matmul between it and the next preload", "none");
  }

  // -- bytes --------------------------------------------------------------------------------------------------------
  void bend_places(std::vector<Range>& ranges) const {
    const bool rounded = faults_.bent(Rule::BytesRounded);
    if (!rounded && !faults_.bent(Rule::PlacesByName)) return;
    for (Range& r : ranges) {
      if (is_weights(r)) continue;
      const int64_t begin = rounded ? arena_begin(r) & ~int64_t{63} : arena_begin(r) + (r.buffer << 32);
      const int64_t end = rounded ? (arena_end(r) + 63) & ~int64_t{63} : begin + r.length;
      r = {r.buffer, begin, 0, end - begin};
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

  const BridgeInput& input_;
  const Faults& faults_;
  WorkItem& item_;
  TraceSite site_;
  DependencyEdges edges_;
  DependencyRule rule_;
  TransferTags tags_;
  StoredBytes stored_;
  std::optional<uint32_t> preload_;
  std::vector<Range> covered_;
  std::ptrdiff_t indexed_ = 0;
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

WorkItem build_work_item(const BridgeInput& input, const Producer& producer, size_t index) {
  WorkItem item;
  item.index = index;
  item.iv = producer.indices(index);
  {
    Builder builder(input, item);
    producer.expand(index, [&](Record&& record) { builder.add(std::move(record)); });
    builder.finish();
  }
  const auto n = static_cast<uint32_t>(item.code.size());
  const int64_t half = input.spad_bytes / 2;
  const int64_t share = (item.footprint <= half ? half : input.spad_bytes) + input.faults.shift(Figure::Share);
  item.versions.seal(n, share, input.faults);
  item.ready = ReadySet(n);
  for (uint32_t i = 0; i < n; ++i) {
    item.code[i].group = ReadySet::group(item.code[i].op, item.versions.needed(i) > 0);
    if (item.deps.pending(i) == 0) item.ready.insert(i, item.code[i].group);
  }
  item.unfinished = n;
  return item;
}

}  // namespace togsim
