// Python module torchsim.iss._core: thin; torchsim/iss/simulator.py adds types, defaults and errors.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "core.hpp"
#include "stepping.hpp"

namespace py = pybind11;
using namespace torchsim::iss;

namespace {

const char* kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::load:
      return "load";
    case EventKind::store:
      return "store";
    case EventKind::wait:
      return "wait";
    case EventKind::block_begin:
      return "block_begin";
    default:
      return "block_end";
  }
}

template <class T>
py::tuple four(const std::array<T, 4>& values) {
  return py::make_tuple(values[0], values[1], values[2], values[3]);
}

py::tuple pairs(Intervals& intervals) {
  const auto& sorted = intervals.sorted();
  py::tuple result(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) result[i] = py::make_tuple(sorted[i].first, sorted[i].second);
  return result;
}

/// One event as the keyword arguments of its Python class.
py::dict event_fields(Event& e) {
  py::dict d;
  d["kind"] = kind_name(e.kind);
  d["pc"] = e.pc;
  if (e.kind == EventKind::load || e.kind == EventKind::store) {
    const Transfer& t = e.transfer;
    const DmaConfig& c = t.config;
    d["slot"] = t.slot;
    d["tag"] = t.tag;
    d["dram_address"] = t.dram;
    d["spad_address"] = t.spad;
    d["dims"] = four(c.extent);
    d["dram_strides"] = four(c.dram_stride);
    d["spad_strides"] = four(c.spad_stride);
    d["low"] = four(c.low);
    d["high"] = four(c.high);
    d["element_bytes"] = c.element_bytes;
    d["split_axis"] = c.split;
    d["vlane_stride"] = c.vlane_stride;
    d["indirect"] = c.indirect;
    d["fill"] = c.fill;
    d["type_code"] = c.type;
    d["accumulate"] = c.accumulate;
    d["reads"] = pairs(e.reads);
    d["writes"] = pairs(e.writes);
  } else if (e.kind == EventKind::wait) {
    d["tag"] = e.id;
    d["count"] = e.count;
  } else {
    d["block_id"] = e.id;
    if (e.kind == EventKind::block_end) {
      d["cycles"] = e.count;
      d["reads"] = pairs(e.reads);
      d["writes"] = pairs(e.writes);
    }
  }
  return d;
}

PipeConfig pipe_config(const py::dict& given) {
  PipeConfig p;
  auto take = [&](const char* name, u64& field, u64 least) {
    if (!given.contains(name)) return;
    field = given[name].cast<u64>();
    if (field < least) throw py::value_error(std::string(name) + " is too small");
  };
  take("pipe_issue_width", p.issue_width, 1);
  take("pipe_scalar_latency", p.scalar_latency, 1);
  take("pipe_scalar_mul_latency", p.scalar_mul_latency, 1);
  take("pipe_scalar_div_latency", p.scalar_div_latency, 1);
  take("pipe_scalar_load_latency", p.scalar_load_latency, 1);
  take("pipe_branch_taken_cycles", p.branch_taken_cycles, 0);
  take("pipe_vector_latency", p.vector_latency, 1);
  take("pipe_vector_bits_per_cycle", p.vector_bits_per_cycle, 1);
  take("pipe_vector_div_cycles_per_element", p.vector_div_cycles_per_element, 1);
  take("pipe_vector_load_latency", p.vector_load_latency, 1);
  take("pipe_special_function_latency", p.special_function_latency, 1);
  take("pipe_sa_push_rows_per_cycle", p.sa_push_rows_per_cycle, 1);
  return p;
}

using Bytes2 = py::array_t<u8, py::array::c_style | py::array::forcecast>;

py::array_t<u8> spad_contents(Core& core, std::size_t bytes) {
  bytes = std::min(bytes, core.memory.spad().bytes());
  py::array_t<u8> result({static_cast<py::ssize_t>(core.lanes), static_cast<py::ssize_t>(bytes)});
  u8* to = result.mutable_data();
  for (unsigned l = 0; l < core.lanes; ++l) {
    for (std::size_t b = 0; b < bytes; b += 8)
      std::memcpy(to + l * bytes + b, core.memory.spad().at(l, b), std::min<std::size_t>(8, bytes - b));
  }
  return result;
}

void set_spad(Core& core, const Bytes2& contents) {
  const auto bytes = static_cast<std::size_t>(contents.shape(1));
  if (contents.ndim() != 2 || static_cast<unsigned>(contents.shape(0)) != core.lanes || bytes > core.memory.spad().bytes())
    throw py::value_error("scratchpad contents must be uint8 [lanes, up to the bytes of a lane]");
  core.memory.spad().mark_dirty(0, bytes);
  if (LaneMemory* known = core.memory.initialised()) known->mark_dirty(0, bytes);
  for (unsigned l = 0; l < core.lanes; ++l) {
    const u8* from = contents.data(l, 0);
    for (std::size_t b = 0; b < bytes; ++b) {
      *core.memory.spad().at(l, b) = from[b];
      if (LaneMemory* known = core.memory.initialised()) *known->at(l, b) = 0xff;
    }
  }
}

py::array_t<u8> vector_registers(Core& core) {
  py::array_t<u8> result({static_cast<py::ssize_t>(core.lanes), py::ssize_t{32}, static_cast<py::ssize_t>(kVlenBytes)});
  for (unsigned l = 0; l < core.lanes; ++l) {
    for (unsigned r = 0; r < 32; ++r) {
      for (unsigned p = 0; p < kPlanesPerRegister; ++p)
        std::memcpy(result.mutable_data(l, r, 8 * p), core.vector.reg(r) + p * core.lanes + l, 8);
    }
  }
  return result;
}

void set_vector_registers(Core& core, const Bytes2& contents) {
  if (contents.ndim() != 3 || static_cast<unsigned>(contents.shape(0)) != core.lanes || contents.shape(1) != 32 ||
      contents.shape(2) != kVlenBytes)
    throw py::value_error("vector registers must be uint8 [lanes, 32, 32]");
  for (unsigned l = 0; l < core.lanes; ++l) {
    for (unsigned r = 0; r < 32; ++r) {
      for (unsigned p = 0; p < kPlanesPerRegister; ++p) std::memcpy(core.vector.reg(r) + p * core.lanes + l, contents.data(l, r, 8 * p), 8);
    }
  }
}

py::dict execute(Core& core) {
  std::optional<Stop> stop;
  {
    py::gil_scoped_release release;
    stop = core.run();
  }
  py::dict result;
  result["trap"] = stop ? py::object(py::make_tuple(cause_name(stop->cause), stop->pc, stop->detail)) : py::object(py::none());
  result["instructions"] = core.instructions;
  result["scalar"] = core.log.counts[static_cast<unsigned>(Kind::scalar)];
  result["vector"] = core.log.counts[static_cast<unsigned>(Kind::vector)];
  result["dma"] = core.log.counts[static_cast<unsigned>(Kind::dma)];
  py::list blocks;
  for (const BlockCost& b : core.log.blocks) blocks.append(py::make_tuple(b.id, b.cycles, b.instructions));
  result["blocks"] = blocks;
  py::dict summary;
  for (const auto& [id, b] : core.log.block_summary) summary[py::int_(id)] = py::make_tuple(b.executions, b.lowest, b.highest);
  result["block_summary"] = summary;
  py::list events;
  for (Event& e : core.log.events) events.append(event_fields(e));
  result["events"] = events;
  return result;
}

/// (end: None, "ended" or (cause, pc, detail); steps as uint64 [n, 3], empty unless `record`).
py::tuple steps(Core& core, u64 most, bool record) {
  std::vector<Step> taken;
  const std::optional<Stop> stop = run_steps(core, most, record ? &taken : nullptr);
  py::array_t<u64> table({static_cast<py::ssize_t>(taken.size()), py::ssize_t{3}});
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const std::array<u64, 3> row{taken[i].pc, taken[i].registers, taken[i].memory};
    std::copy(row.begin(), row.end(), table.mutable_data(static_cast<py::ssize_t>(i), 0));
  }
  py::object end = py::none();
  if (stop)
    end = py::make_tuple(cause_name(stop->cause), stop->pc, stop->detail);
  else if (core.halted)
    end = py::str("ended");
  return py::make_tuple(end, table);
}

template <class T>
T named(const std::optional<T>& found, const std::string& name) {
  if (!found) throw py::value_error("no such part of a fault: " + name);
  return *found;
}

void set_fault(Core& core, const std::string& op, const std::string& kind, const std::string& sibling, i64 amount,
               const std::string& target) {
  core.set_fault(Fault{named(operation(op), op), named(fault_kind(kind), kind),
                       sibling.empty() ? Op::ILLEGAL : named(operation(sibling), sibling), amount, named(fault_target(target), target)});
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "Functional simulator of the NPU's core.";
  m.def("kernel_variant", [] { return kernels().name; }, "Host instruction set of the element loops.");
  py::class_<Core>(m, "Core")
      .def(py::init([](unsigned lanes, std::size_t spad_bytes, unsigned queue_rows, const py::dict& pipe, const std::string& variant) {
             const KernelTable* table = variant.empty() ? &kernels() : kernels_named(variant.c_str());
             if (!table) throw py::value_error("this host has no kernels " + variant);
             return std::make_unique<Core>(lanes, spad_bytes, queue_rows, pipe_config(pipe), *table);
           }),
           py::arg("lanes"), py::arg("spad_bytes_per_lane"), py::arg("sa_queue_rows"), py::arg("pipe"), py::arg("kernels") = "")
      .def(
          "start",
          [](Core& core, const py::bytes& image, u64 base, u64 entry, u64 return_address, const std::vector<u64>& arguments,
             const std::vector<std::tuple<u64, u64, u64, bool, bool>>& windows, bool late, bool fill, u64 instruction_limit, bool log,
             bool footprint, bool check_uninitialised, bool check_divergence, u8 spad_fill, bool accrue) {
            const std::string_view bytes = image;
            std::vector<Window> mapped;
            for (const auto& [address, host, length, readable, writable] : windows)
              mapped.push_back({address, length, reinterpret_cast<u8*>(host), readable, writable});
            RunOptions options;
            options.late = late;
            options.fill_transfers = fill;
            options.instruction_limit = instruction_limit;
            options.log = log;
            options.footprint = footprint;
            options.check_uninitialised = check_uninitialised;
            options.check_divergence = check_divergence;
            options.spad_fill = spad_fill;
            options.accrue = accrue;
            core.start({reinterpret_cast<const u8*>(bytes.data()), bytes.size()}, base, entry, return_address, arguments, std::move(mapped),
                       options);
          },
          py::arg("image"), py::arg("base"), py::arg("entry"), py::arg("return_address"), py::arg("arguments"), py::arg("windows"),
          py::arg("late"), py::arg("fill"), py::arg("instruction_limit"), py::arg("log"), py::arg("footprint"),
          py::arg("check_uninitialised"), py::arg("check_divergence"), py::arg("spad_fill"), py::arg("accrue") = false)
      .def("execute", execute)
      .def("steps", steps, py::arg("most"), py::arg("record"))
      .def_property_readonly("instructions", [](const Core& c) { return c.instructions; })
      .def_property_readonly("pc", [](const Core& c) { return c.pc; })
      .def_property_readonly("fcsr", [](const Core& c) { return c.fflags | c.frm << 5; })
      .def_property_readonly("vcsr", [](const Core& c) { return c.vxsat | c.vector.vxrm << 1; })
      .def("set_fault", set_fault, py::arg("op"), py::arg("kind"), py::arg("sibling"), py::arg("amount"), py::arg("target"))
      .def("clear_fault", [](Core& core) { core.set_fault(std::nullopt); })
      .def("scratchpad", spad_contents, py::arg("bytes"))
      .def("set_scratchpad", set_spad, py::arg("contents"))
      .def("vector_registers", vector_registers)
      .def("set_vector_registers", set_vector_registers, py::arg("contents"))
      .def_property(
          "x", [](const Core& c) { return c.x; },
          [](Core& c, const std::array<u64, 32>& values) {
            c.x = values;
            c.x[0] = 0;
          })
      .def_property(
          "f", [](const Core& c) { return c.f; }, [](Core& c, const std::array<u64, 32>& values) { c.f = values; })
      .def_property_readonly("vl", [](const Core& c) { return c.vector.vl; })
      .def_property_readonly("vtype", [](const Core& c) { return c.vector.vtype; });
}
