#include "python_parts.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "address_map.h"
#include "channel.h"
#include "footprint.h"
#include "producer.h"

namespace py = pybind11;

namespace togsim {
namespace {

using RequestTuple = std::tuple<int64_t, uint64_t, bool>;

// (arrival cycle, granule, write) of every request -> completion cycle of every request, and the channel's counters.
py::tuple dram_channel_run(const std::string& type, const std::string& mapper, int32_t request_bytes, int64_t latency,
                           const std::vector<RequestTuple>& requests, bool every_cycle, int64_t window) {
  Config config;
  config.dram_type = type;
  config.dram_mapper = mapper;
  config.request_bytes = request_bytes;
  config.dram_latency = latency;
  const auto channel = make_channel(config);
  std::vector<DramCompletion> done;
  std::vector<Cycle> completion(requests.size(), -1);
  size_t next = 0;
  for (Cycle end = window; next < requests.size() || !channel->idle(); end += window) {
    for (; next < requests.size() && std::get<0>(requests[next]) < end; ++next) {
      const auto& [arrival, granule, write] = requests[next];
      channel->push({arrival, granule, static_cast<uint32_t>(next), write});
    }
    channel->run_until(end, every_cycle, done);
  }
  for (const DramCompletion& d : done) completion[d.transfer] = d.cycle;
  const ChannelStats& s = channel->stats();
  return py::make_tuple(completion,
                        py::dict(py::arg("reads") = s.reads, py::arg("writes") = s.writes, py::arg("row_hits") = s.row_hits,
                                 py::arg("row_misses") = s.row_misses, py::arg("row_conflicts") = s.row_conflicts,
                                 py::arg("forwarded") = s.forwarded, py::arg("refreshes") = s.refreshes, py::arg("busy") = s.busy));
}

// Granules of one transfer, given as the only record of a one-item producer.
std::vector<std::pair<uint64_t, uint64_t>> granules_of(const Producer& producer, uint64_t base, uint64_t granule) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  const Records records = producer.records(0);
  for (const Interval& i : touched_granules(std::get<DmaRecord>(records.at(0)), base, granule)) out.emplace_back(i.first, i.last);
  return out;
}

std::vector<std::tuple<uint32_t, uint64_t>> interleave(int32_t channels, const std::vector<uint64_t>& granules) {
  const ChannelInterleave map(channels);
  std::vector<std::tuple<uint32_t, uint64_t>> out;
  for (const uint64_t g : granules) {
    const ChannelInterleave::Place place = map.place(g);
    out.emplace_back(place.channel, place.granule);
  }
  return out;
}

// (bank, row, column) of transactions inside a channel.
std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> dram_places(const std::string& type, const std::string& mapper,
                                                                  const std::vector<uint64_t>& transactions) {
  const DramMap map(dram_spec(type), mapper);
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> out;
  for (const uint64_t t : transactions) {
    const DramPlace place = map.place(t);
    out.emplace_back(place.bank, place.row, place.column);
  }
  return out;
}

}  // namespace

void bind_parts(py::module_& m) {
  m.def("dram_channel_run", &dram_channel_run, py::arg("dram_type"), py::arg("dram_mapper"), py::arg("request_bytes"),
        py::arg("dram_latency"), py::arg("requests"), py::arg("every_cycle"), py::arg("window"));
  m.def("granules_of", &granules_of, py::arg("producer"), py::arg("base"), py::arg("granule"));
  m.def("interleave", &interleave, py::arg("channels"), py::arg("granules"));
  m.def("dram_places", &dram_places, py::arg("dram_type"), py::arg("dram_mapper"), py::arg("transactions"));
}

}  // namespace togsim
