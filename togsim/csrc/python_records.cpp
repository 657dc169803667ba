#include "python_records.h"

#include <pybind11/stl.h>

#include <string>
#include <tuple>

#include "error.h"
#include "text.h"

namespace py = pybind11;

namespace togsim {
namespace {

using RangeTuple = std::tuple<int64_t, int64_t, int64_t, int64_t>;

py::tuple ranges_out(const std::vector<Range>& ranges) {
  py::tuple out(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    out[i] = py::make_tuple(ranges[i].buffer, ranges[i].arena_offset, ranges[i].begin, ranges[i].length);
  }
  return out;
}

std::vector<Range> ranges_in(const py::handle& ranges) {
  std::vector<Range> out;
  for (const auto& [buffer, offset, begin, length] : ranges.cast<std::vector<RangeTuple>>()) {
    out.push_back({buffer, offset, begin, length});
  }
  return out;
}

py::tuple numbers(const std::vector<int64_t>& values) {
  py::tuple out(values.size());
  for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return out;
}

py::tuple out(const DmaRecord& r) {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  for (const Axis& a : r.axes) {
    dims.push_back(a.dim);
    strides.push_back(a.stride);
    low.push_back(a.low);
    high.push_back(a.high);
  }
  return py::make_tuple("dma", static_cast<int32_t>(r.direction), r.arg_id, r.element_offset, numbers(dims), numbers(strides), numbers(low),
                        numbers(high), r.element_bits, r.is_async, r.tag, ranges_out(r.reads), ranges_out(r.writes));
}

py::tuple out(const ComputeRecord& r) {
  return py::make_tuple("compute", r.block_id, static_cast<int32_t>(r.type), ranges_out(r.reads), ranges_out(r.writes));
}

py::tuple out(const BarrierRecord& r) { return py::make_tuple("bar", r.tag, r.count); }

DmaRecord dma_in(const py::tuple& t) {
  DmaRecord r;
  r.direction = static_cast<Direction>(t[1].cast<int32_t>());
  r.arg_id = t[2].cast<int32_t>();
  r.element_offset = t[3].cast<int64_t>();
  const auto dims = t[4].cast<std::vector<int64_t>>();
  const auto strides = t[5].cast<std::vector<int64_t>>();
  const auto low = t[6].cast<std::vector<int64_t>>();
  const auto high = t[7].cast<std::vector<int64_t>>();
  if (strides.size() != dims.size() || low.size() != dims.size() || high.size() != dims.size()) {
    throw TraceError("transfer with lists of different rank", {"dims, strides, low and high of one length", "different lengths", "", ""});
  }
  for (size_t a = 0; a < dims.size(); ++a) r.axes.push_back({dims[a], strides[a], low[a], high[a]});
  r.element_bits = t[8].cast<int32_t>();
  r.is_async = t[9].cast<bool>();
  r.tag = t[10].cast<int64_t>();
  r.reads = ranges_in(t[11]);
  r.writes = ranges_in(t[12]);
  return r;
}

Record record_in(const std::string& kind, const py::tuple& t) {
  if (kind == "dma") return dma_in(t);
  if (kind == "compute") {
    return ComputeRecord{t[1].cast<int64_t>(), static_cast<ComputeType>(t[2].cast<int32_t>()), ranges_in(t[3]), ranges_in(t[4])};
  }
  if (kind == "bar") return BarrierRecord{t[1].cast<int64_t>(), t[2].cast<int64_t>()};
  throw TraceError("unknown record kind", {"dma, compute or bar", kind, "", ""});
}

}  // namespace

py::list records_to_python(const Producer& producer) {
  py::list all;
  for (size_t item = 0; item < producer.work_items(); ++item) {
    all.append(py::make_tuple("begin", item, numbers(producer.indices(item))));
    for (const Record& record : producer.records(item)) {
      all.append(std::visit([](const auto& r) { return out(r); }, record));
    }
    all.append(py::make_tuple("end", item));
  }
  return all;
}

std::vector<SyntheticProducer::Item> items_from_python(const py::sequence& records) {
  std::vector<SyntheticProducer::Item> items;
  bool open = false;
  for (size_t i = 0; i < records.size(); ++i) {
    const auto t = records[i].cast<py::tuple>();
    const auto kind = t[0].cast<std::string>();
    const bool begin = kind == "begin";
    if (begin == open) {
      throw TraceError("records outside TILE_BEGIN .. TILE_END",
                       {open ? "TILE_END first" : "TILE_BEGIN first", kind, join("record ", i), ""});
    }
    if (begin) {
      items.push_back({t[2].cast<std::vector<int64_t>>(), {}});
      open = true;
    } else if (kind == "end") {
      open = false;
    } else {
      items.back().records.push_back(record_in(kind, t));
    }
  }
  if (open) throw TraceError("last work-item has no end", {"TILE_END", "end of the records", "", ""});
  return items;
}

}  // namespace togsim
