#include "producer.h"

#include <csetjmp>
#include <exception>
#include <string>
#include <utility>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

// The context that a producer sees. The callbacks below run under JIT frames that cannot be unwound, so they never let an
// exception out: the error is kept and the producer is left by a jump, or one that loops for ever would never end.
struct Recorder {
  togsim_context base;               // first member: togsim_context* and Recorder* are the same address
  const RecordSink* sink = nullptr;  // inside a work-item
  int64_t max_records;
  int64_t records = 0;
  std::vector<std::pair<togsim_tile_fn, std::vector<int64_t>>> dispatches;
  std::string where;
  std::exception_ptr error{};
  std::jmp_buf left{};

  Recorder(const RecordSink* to, int64_t most, std::string place);
};

// `enter` calls the producer. It must hold nothing that a jump over its frame would leave behind.
template <typename Enter>
void run(Recorder& rec, Enter enter) {
  if (setjmp(rec.left) == 0) enter();
  if (rec.error) std::rethrow_exception(rec.error);
}

Recorder& recorder(togsim_context* ctx) { return *reinterpret_cast<Recorder*>(ctx); }

std::vector<Range> copy(const Range* ranges, int32_t n) {
  if (n < 0) throw TraceError("negative number of ranges", {">= 0", std::to_string(n), "", "fix the trace producer"});
  return n == 0 ? std::vector<Range>{} : std::vector<Range>(ranges, ranges + n);
}

template <typename Body>
void serve(togsim_context* ctx, bool tile_only, const char* function, Body body) {
  Recorder& rec = recorder(ctx);
  try {
    if (tile_only != (rec.sink != nullptr)) {
      throw TraceError(join(function, tile_only ? " called outside a work-item" : " called inside a work-item"),
                       {tile_only ? "transfers, blocks and barriers inside the tile function" : "dispatch from togsim_kernel only",
                        function, rec.where, "fix the trace producer"});
    }
    body(rec);
    return;
  } catch (...) {
    rec.error = std::current_exception();
  }
  std::longjmp(rec.left, 1);
}

[[noreturn]] void run_away(const Recorder& rec, const char* what) {
  throw TraceError(join("runaway trace producer: too many ", what),
                   {join("at most ", rec.max_records, " ", what), "one more", rec.where,
                    "end the loop of the producer, or allow more with max_records (--max-records)"});
}

void append(Recorder& rec, Record record) {
  check_record(record, [&] { return join(rec.where, ", record ", rec.records); });
  if (rec.records == rec.max_records) run_away(rec, "records in a work-item");
  ++rec.records;
  (*rec.sink)(std::move(record));
}

void on_dma(togsim_context* ctx, int32_t direction, int32_t arg_id, int64_t element_offset, int32_t ndim, const int64_t* dims,
            const int64_t* strides, const int64_t* low, const int64_t* high, int32_t element_bits, int32_t is_async, int64_t tag,
            const togsim_range* reads, int32_t n_reads, const togsim_range* writes, int32_t n_writes) {
  serve(ctx, true, "togsim_dma", [&](Recorder& rec) {
    check_rank(ndim, [&] { return join(rec.where, ", record ", rec.records); });
    DmaRecord dma;
    dma.direction = static_cast<Direction>(direction);
    dma.arg_id = arg_id;
    dma.element_offset = element_offset;
    for (int32_t a = 0; a < ndim; ++a) dma.axes.push_back({dims[a], strides[a], low[a], high[a]});
    dma.element_bits = element_bits;
    dma.is_async = is_async != 0;
    dma.tag = tag;
    dma.reads = copy(reads, n_reads);
    dma.writes = copy(writes, n_writes);
    append(rec, std::move(dma));
  });
}

void on_compute(togsim_context* ctx, int64_t block_id, int32_t compute_type, const togsim_range* reads, int32_t n_reads,
                const togsim_range* writes, int32_t n_writes) {
  serve(ctx, true, "togsim_compute", [&](Recorder& rec) {
    append(rec, ComputeRecord{block_id, static_cast<ComputeType>(compute_type), copy(reads, n_reads), copy(writes, n_writes)});
  });
}

void on_barrier(togsim_context* ctx, int64_t tag, int64_t count) {
  serve(ctx, true, "togsim_memory_barrier", [&](Recorder& rec) { append(rec, BarrierRecord{tag, count}); });
}

void on_dispatch(togsim_context* ctx, togsim_tile_fn tile, const int64_t* iv, int32_t n_iv) {
  serve(ctx, false, "togsim_dispatch", [&](Recorder& rec) {
    if (tile == nullptr) throw TraceError("dispatch of a null tile function", {"a function", "null", rec.where, "fix the trace producer"});
    if (n_iv < 0) throw TraceError("negative number of loop indices", {">= 0", std::to_string(n_iv), rec.where, "fix the trace producer"});
    if (static_cast<int64_t>(rec.dispatches.size()) == rec.max_records) run_away(rec, "work-items");
    rec.dispatches.emplace_back(tile, n_iv == 0 ? std::vector<int64_t>{} : std::vector<int64_t>(iv, iv + n_iv));
  });
}

constexpr togsim_api kApi{TOGSIM_ABI_VERSION, 0, on_dma, on_compute, on_barrier, on_dispatch};

Recorder::Recorder(const RecordSink* to, int64_t most, std::string place)
    : base{&kApi}, sink(to), max_records(most), where(std::move(place)) {}

}  // namespace

CompiledProducer::CompiledProducer(KernelFn kernel, AbiFn abi, std::vector<int64_t> shape_args, int64_t max_records)
    : max_records_(max_records) {
  if (kernel == nullptr) throw TraceError("trace producer without togsim_kernel", {"its address", "0", "", "rebuild the producer"});
  if (abi == nullptr) throw TraceError("trace producer without togsim_abi_version", {"its address", "0", "", "rebuild the producer"});
  const int32_t version = abi();
  if (version != TOGSIM_ABI_VERSION) {
    throw TraceError("stale trace producer", {join("trace ABI version ", TOGSIM_ABI_VERSION), join("version ", version),
                                              "togsim_abi_version", "rebuild the producer with this version"});
  }
  Recorder rec(nullptr, max_records, "togsim_kernel");
  run(rec, [&] { kernel(&rec.base, shape_args.data(), static_cast<int32_t>(shape_args.size())); });
  calls_.reserve(rec.dispatches.size());
  for (auto& [fn, iv] : rec.dispatches) calls_.push_back({fn, std::move(iv)});
}

Records Producer::records(size_t item) const {
  Records all;
  expand(item, [&](Record&& record) { all.push_back(std::move(record)); });
  return all;
}

void CompiledProducer::expand(size_t item, const RecordSink& sink) const {
  const Call& call = calls_[item];
  Recorder rec(&sink, max_records_, join("work-item ", item));
  run(rec, [&] { call.fn(&rec.base, call.iv.data(), static_cast<int32_t>(call.iv.size())); });
}

void SyntheticProducer::expand(size_t item, const RecordSink& sink) const {
  for (const Record& record : items_[item].records) sink(Record(record));
}

SyntheticProducer::SyntheticProducer(std::vector<Item> items) : items_(std::move(items)) {
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t r = 0; r < items_[i].records.size(); ++r) {
      check_record(items_[i].records[r], [&] { return join("work-item ", i, ", record ", r); });
    }
  }
}

}  // namespace togsim
