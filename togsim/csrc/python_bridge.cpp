#include "python_bridge.h"

#include <pybind11/stl.h>

#include <string>

#include "error.h"

namespace py = pybind11;

namespace togsim {
namespace {

// Instructions (record, opcode) and dependencies (producer record, "ISSUE" | "DONE", consumer record) of one work-item.
py::dict dependencies(const Producer& producer, size_t item, const std::vector<uint64_t>& bases,
                      const std::vector<std::pair<int64_t, int64_t>>& table, int64_t spad_bytes, const py::dict& faults) {
  if (item >= producer.work_items())
    throw TraceError("no such work-item", {"an index below " + std::to_string(producer.work_items()), std::to_string(item), "", ""});
  const std::vector<BlockCost> blocks = blocks_from(table);
  check_blocks(blocks);
  const Faults bent = faults_from(faults);
  const WorkItem built = build_work_item({bases, blocks, spad_bytes, bent}, producer, item);
  py::list edges;
  for (const DependencyStore::Edge& e : built.deps.edges()) {
    edges.append(py::make_tuple(built.code[e.producer].record, event_name(e.event), built.code[e.consumer].record));
  }
  py::list code;
  for (const Instruction& i : built.code) code.append(py::make_tuple(i.record, opcode(i.op)));
  return py::dict(py::arg("instructions") = code, py::arg("edges") = edges, py::arg("footprint") = built.footprint);
}

}  // namespace

std::vector<BlockCost> blocks_from(const std::vector<std::pair<int64_t, int64_t>>& table) {
  std::vector<BlockCost> blocks;
  for (const auto& [cycles, overlapping] : table) blocks.push_back({cycles, overlapping});
  return blocks;
}

Faults faults_from(const py::dict& d) {
  Faults faults;
  for (const auto& [key, value] : d) {
    const auto fault = key.cast<std::string>();
    if (fault == "dram_timing") continue;  // part of the DRAM's figures
    if (py::isinstance<py::dict>(value)) {
      for (const auto& [name, number] : value.cast<py::dict>()) faults.set(fault, name.cast<std::string>(), number.cast<int64_t>());
    } else if (py::isinstance<py::str>(value)) {
      faults.set(fault, value.cast<std::string>(), 0);
    } else {
      faults.set(fault, "", value.cast<int64_t>());
    }
  }
  return faults;
}

void bind_bridge(py::module_& m) {
  m.def("dependencies", &dependencies, py::arg("producer"), py::arg("item"), py::arg("bases"), py::arg("cycle_table"),
        py::arg("spad_bytes"), py::arg("faults"));
  m.def("fault_names", [] {
    return py::dict(py::arg("wakes") = kWakeNames, py::arg("reasons") = kWhyNames, py::arg("ops") = kOpNames, py::arg("rules") = kRuleNames,
                    py::arg("figures") = kFigureNames);
  });
}

}  // namespace togsim
