// Trace producers: who dispatches work-items and who writes their records.
//
// A producer keeps a work-item as (tile function, loop indices) only. Its records are made when it is admitted and consumed one by
// one, so memory does not grow with the length of the kernel.
#ifndef TOGSIM_PRODUCER_H
#define TOGSIM_PRODUCER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "record.h"

namespace togsim {

using RecordSink = std::function<void(Record&&)>;

class Producer {
 public:
  virtual ~Producer() = default;
  Producer() = default;
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  virtual size_t work_items() const = 0;
  // Loop indices of work-item `item`, outermost first.
  virtual const std::vector<int64_t>& indices(size_t item) const = 0;
  // Hand over the records of work-item `item` in program order. May be called any number of times.
  virtual void expand(size_t item, const RecordSink& sink) const = 0;
  Records records(size_t item) const;
};

// Most records of a work-item, and most work-items of a kernel: a producer that exceeds it is taken to run away.
inline constexpr int64_t kMaxRecords = 10'000'000;

// Host code behind the trace ABI: JIT compiled in this process, or loaded from a shared object. A call back that cannot be
// served does not return to the producer, so one that never ends is left as well, if it says anything.
class CompiledProducer final : public Producer {
 public:
  using KernelFn = void (*)(togsim_context*, const int64_t*, int32_t);
  using AbiFn = int32_t (*)();

  // Checks the ABI version, then calls the kernel once to collect its dispatches.
  // Throws TraceError: null function, another ABI version, a record outside a work-item, more than `max_records` work-items.
  // expand() throws: a malformed record, more than `max_records` of them.
  CompiledProducer(KernelFn kernel, AbiFn abi, std::vector<int64_t> shape_args, int64_t max_records = kMaxRecords);

  size_t work_items() const override { return calls_.size(); }
  const std::vector<int64_t>& indices(size_t item) const override { return calls_[item].iv; }
  void expand(size_t item, const RecordSink& sink) const override;

 private:
  struct Call {
    togsim_tile_fn fn;
    std::vector<int64_t> iv;
  };
  std::vector<Call> calls_;
  int64_t max_records_;
};

// Records given as data, for tests and hand-made traces.
class SyntheticProducer final : public Producer {
 public:
  struct Item {
    std::vector<int64_t> iv;
    Records records;
  };
  explicit SyntheticProducer(std::vector<Item> items);

  size_t work_items() const override { return items_.size(); }
  const std::vector<int64_t>& indices(size_t item) const override { return items_[item].iv; }
  void expand(size_t item, const RecordSink& sink) const override;

 private:
  std::vector<Item> items_;
};

// Throws TraceError if one record by itself is malformed (rank, bounds, element width, tag, ranges). `where()` names its place.
void check_record(const Record& record, const std::function<std::string()>& where);
void check_rank(int64_t rank, const std::function<std::string()>& where);

}  // namespace togsim
#endif
