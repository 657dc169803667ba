#include "python_noc.h"

#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

#include "noc_traffic.h"

namespace py = pybind11;

namespace togsim {
namespace {

NocUnderTest test_from(const py::dict& d) {
  const auto number = [&](const char* key) { return d[key].cast<uint32_t>(); };
  return {d["topology"].cast<std::string>(), number("nodes"),
          NetworkConfig{number("channels"), number("buffer_flits"), number("router_cycles"), number("link_cycles"), number("queue_packets"),
                        number("data_flits"), number("control_flits")}};
}

// (cycle, source, destination, data) of every packet -> (cycle of sending, cycle of delivery).
std::vector<std::tuple<Cycle, Cycle>> packets(const py::dict& network, const std::vector<std::tuple<Cycle, uint32_t, uint32_t, bool>>& in,
                                              int32_t places, Cycle hold, bool every_cycle) {
  std::vector<PlannedPacket> plan;
  for (const auto& [cycle, source, destination, data] : in) plan.push_back({cycle, source, destination, data});
  std::vector<std::tuple<Cycle, Cycle>> out;
  for (const PacketTimes& t : run_packets(test_from(network), plan, places, hold, every_cycle)) out.emplace_back(t.sent, t.delivered);
  return out;
}

// (mean latency, accepted flits per node and cycle, packets measured).
std::tuple<double, double, int64_t> traffic(const py::dict& network, double rate, Cycle warmup, Cycle cycles, uint64_t seed) {
  const TrafficResult r = uniform_traffic(test_from(network), rate, warmup, cycles, seed);
  return {r.latency, r.accepted, r.packets};
}

}  // namespace

void bind_noc(py::module_& m) {
  m.def("noc_packets", &packets, py::arg("network"), py::arg("packets"), py::arg("places"), py::arg("hold"), py::arg("every_cycle"));
  m.def("noc_traffic", &traffic, py::arg("network"), py::arg("rate"), py::arg("warmup"), py::arg("cycles"), py::arg("seed"));
}

}  // namespace togsim
