#include "python_dram.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "address_map.h"
#include "dram_check.h"
#include "error.h"

namespace py = pybind11;

namespace togsim {
namespace {

using Figures = std::map<std::string, int64_t>;
using RequestTuple = std::tuple<int64_t, uint64_t, bool>;

// Whether the key has the second of its two values.
bool second_of(const py::dict& keys, const char* key, const char* first, const char* second) {
  const auto value = keys[key].cast<std::string>();
  if (value != first && value != second)
    throw ConfigError(std::string("unknown ") + key, {std::string(first) + " or " + second, value, key, "correct the machine file"});
  return value == second;
}

Config dram_config(const py::dict& keys) {
  Config config;
  read_dram_config(keys, config);
  if (keys.contains("dram_timing_fault")) config.dram_timing_fault = keys["dram_timing_fault"].cast<Figures>();
  return config;
}

// (arrival cycle, granule, write) of every request -> completion cycle of every request, and the channel's counters.
py::tuple dram_channel_run(const py::dict& keys, const std::vector<RequestTuple>& requests, bool every_cycle, int64_t window) {
  const auto channel = make_channel(dram_config(keys));
  std::vector<Cycle> completion(requests.size(), -1);
  {
    const py::gil_scoped_release unlocked;
    std::vector<DramCompletion> done;
    size_t next = 0;
    for (Cycle end = window; next < requests.size() || !channel->idle(); end += window) {
      if (channel->idle()) end = std::max(end, std::get<0>(requests[next]) / window * window + window);
      for (; next < requests.size() && std::get<0>(requests[next]) < end; ++next) {
        const auto& [arrival, granule, write] = requests[next];
        channel->push({arrival, granule, static_cast<uint32_t>(next), write});
      }
      channel->run_until(end, every_cycle, done);
    }
    for (const DramCompletion& d : done) completion[d.transfer] = d.cycle;
  }
  py::dict counters = channel_counters(channel->stats());
  counters["steps"] = channel->stats().steps;
  return py::make_tuple(completion, counters);
}

// CPU seconds of the event-driven channel alone for these requests, and the cycles that it looked at. Each window it is offered as
// many as it could take, so that requests always wait in front of it and, as in front of a simulated channel, no more than that.
std::pair<double, int64_t> dram_channel_time(const py::dict& keys, const std::vector<RequestTuple>& requests, int64_t window) {
  const Config config = dram_config(keys);
  const DramPolicy& policy = config.dram_policy;
  const size_t ahead = static_cast<size_t>(window * policy.accepts_per_cycle + policy.read_queue + policy.write_queue + kMaxBanks);
  const auto channel = make_channel(config);
  std::vector<DramCompletion> done;
  channel->run_until(0, false, done);  // chooses the model
  const std::clock_t start = std::clock();
  size_t offered = 0;
  size_t served = 0;
  for (Cycle end = window; offered < requests.size() || !channel->idle(); end += window) {
    for (; offered < requests.size() && offered - served < ahead; ++offered) {
      const auto& [arrival, granule, write] = requests[offered];
      channel->push({arrival, granule, 0, write});
    }
    done.clear();
    channel->run_until(end, false, done);
    served += done.size();
  }
  return {static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, channel->stats().steps};
}

std::vector<std::tuple<uint32_t, uint64_t>> interleave(const py::dict& keys, const std::vector<uint64_t>& granules) {
  const ChannelInterleave map(dram_config(keys));
  std::vector<std::tuple<uint32_t, uint64_t>> out;
  for (const uint64_t g : granules) {
    const ChannelInterleave::Place place = map.place(g);
    out.emplace_back(place.channel, place.granule);
  }
  return out;
}

// (bank, row, column) of transactions inside a channel.
std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> dram_places(const py::dict& keys, const std::vector<uint64_t>& transactions) {
  const Config config = dram_config(keys);
  const DramMap map(dram_spec(config).organization, config.dram_mapper);
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> out;
  for (const uint64_t t : transactions) {
    const DramPlace place = map.place(t);
    out.emplace_back(place.bank, place.row, place.column);
  }
  return out;
}

// Timing figures of a machine's DRAM, the preset's and its own.
std::map<std::string, int> dram_timing(const py::dict& keys) {
  const DramSpec spec = dram_spec(dram_config(keys));
  std::map<std::string, int> out;
  for (const auto& [name, figure] : kTimingFigures) out[name] = spec.timing.*figure;
  return out;
}

}  // namespace

void read_dram_config(const py::dict& keys, Config& c) {
  const auto number = [&](const char* key) { return keys[key].cast<int32_t>(); };
  c.dram_type = keys["dram_type"].cast<std::string>();
  c.dram_mapper = keys["dram_mapper"].cast<std::string>();
  c.dram_channels = number("dram_channels");
  c.request_bytes = number("dram_req_size_byte");
  c.dram_latency = number("dram_latency");
  c.dram_interleave_hashed = second_of(keys, "dram_channel_interleave", "round_robin", "xor");
  c.dram_interleave_bytes = number("dram_interleave_bytes");
  c.dram_timing = keys["dram_timing_cycles"].cast<Figures>();
  c.dram_organization = keys["dram_organization"].cast<Figures>();
  if (const auto bus = keys["dram_command_bus"].cast<std::string>(); bus != "preset") {
    c.dram_command_bus = second_of(keys, "dram_command_bus", "single", "dual") ? "dual" : "single";
  }
  DramPolicy& p = c.dram_policy;
  p.read_queue = number("dram_read_queue_entries");
  p.write_queue = number("dram_write_queue_entries");
  p.write_high_percent = number("dram_write_high_percent");
  p.write_low_percent = number("dram_write_low_percent");
  p.accepts_per_cycle = number("dram_accepts_per_cycle");
  p.active_list = keys["dram_active_list"].cast<bool>();
  p.protect_hits = second_of(keys, "dram_precharge", "age", "protect_hits");
  p.bus_by_age = second_of(keys, "dram_single_bus_order", "column_first", "age");
  p.refresh = second_of(keys, "dram_refresh", "none", "all_bank");
  p.block_channel = second_of(keys, "dram_refresh_scope", "pseudo_channel", "channel");
  p.refresh_stagger = number("dram_refresh_stagger_cycles");
  p.write_forwarding = keys["dram_write_forwarding"].cast<bool>();
  p.write_done_data = second_of(keys, "dram_write_done", "issue", "data");
}

py::dict channel_counters(const ChannelStats& s) {
  return py::dict(py::arg("reads") = s.reads, py::arg("writes") = s.writes, py::arg("row_hits") = s.row_hits,
                  py::arg("row_misses") = s.row_misses, py::arg("row_conflicts") = s.row_conflicts, py::arg("forwarded") = s.forwarded,
                  py::arg("refreshes") = s.refreshes, py::arg("busy") = s.busy, py::arg("activates") = s.activates,
                  py::arg("precharges") = s.precharges);
}

void bind_dram(py::module_& m) {
  m.def("dram_channel_run", &dram_channel_run, py::arg("config"), py::arg("requests"), py::arg("every_cycle"), py::arg("window"));
  m.def("dram_channel_time", &dram_channel_time, py::arg("config"), py::arg("requests"), py::arg("window"));
  m.def("interleave", &interleave, py::arg("config"), py::arg("granules"));
  m.def("dram_places", &dram_places, py::arg("config"), py::arg("transactions"));
  m.def("dram_timing", &dram_timing, py::arg("config"));
}

}  // namespace togsim
