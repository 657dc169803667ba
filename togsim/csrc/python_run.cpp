#include "python_run.h"

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "error.h"
#include "python_bridge.h"
#include "python_dram.h"
#include "simulator.h"

namespace py = pybind11;

namespace togsim {
namespace {

Config config_from(const py::dict& d) {
  const auto number = [&](const char* key) { return d[key].cast<int64_t>(); };
  Config c;
  c.num_cores = d["num_cores"].cast<int32_t>();
  c.num_partition = d["num_partition"].cast<int32_t>();
  c.partition = d["core_partition"].cast<std::vector<int32_t>>();
  c.spad_bytes_per_lane = number("spad_bytes_per_lane");
  c.systolic_arrays = d["num_systolic_array_per_core"].cast<int32_t>();
  c.weight_slots = d["sa_weight_buffer_depth"].cast<int32_t>();
  c.dma_queue_depth = d["dma_queue_depth"].cast<int32_t>();
  c.core_freq = number("core_freq_mhz");
  c.icnt_freq = number("icnt_freq_mhz");
  c.dram_freq = number("dram_freq_mhz");
  c.icnt_latency = d["icnt_latency_cycles"].cast<int32_t>();
  c.icnt_ports = d["icnt_injection_ports_per_core"].cast<int32_t>();
  c.icnt_type = d["icnt_type"].cast<std::string>();
  c.icnt_flit_bytes = d["icnt_flit_bytes"].cast<int32_t>();
  c.icnt_virtual_channels = d["icnt_virtual_channels"].cast<int32_t>();
  c.icnt_buffer_flits = d["icnt_buffer_flits_per_channel"].cast<int32_t>();
  c.icnt_router_cycles = d["icnt_router_pipeline_cycles"].cast<int32_t>();
  c.icnt_link_cycles = d["icnt_link_latency_cycles"].cast<int32_t>();
  c.icnt_queue_packets = d["icnt_injection_queue_packets"].cast<int32_t>();
  c.icnt_channel_requests = d["icnt_requests_per_dram_channel"].cast<int32_t>();
  read_dram_config(d, c);
  return c;
}

Mode mode_from(const std::string& name) {
  if (name == "fast") return Mode::Fast;
  if (name == "forced_scan") return Mode::ForcedScan;
  if (name == "cycle_by_cycle") return Mode::CycleByCycle;
  throw ConfigError("unknown mode", {"fast, forced_scan or cycle_by_cycle", name, "mode", ""});
}

// (producer, bases, cycle table, index values, partition, earliest cycle)
Launch launch_from(const py::tuple& t) {
  Launch launch;
  launch.producer = &t[0].cast<const Producer&>();
  launch.bases = t[1].cast<std::vector<uint64_t>>();
  launch.blocks = blocks_from(t[2].cast<std::vector<std::pair<int64_t, int64_t>>>());
  launch.indices = t[3].cast<IndexTable>();
  launch.partition = t[4].cast<int32_t>();
  launch.earliest = t[5].cast<Cycle>();
  return launch;
}

py::dict core_out(const Core& core, Cycle total, int32_t partition) {
  const CoreStats& s = core.stats();
  py::dict out;
  py::dict stalls;
  for (size_t k = 0; k < kStallNames.size(); ++k) stalls[kStallNames[k]] = s.stalls[k];
  const auto issued = [&](Op op) { return s.issued[static_cast<size_t>(op)]; };
  out["partition"] = partition;
  out["cycles"] = core.cycles();
  out["issue_cycles"] = s.issue_cycles;
  out["idle_cycles"] = s.idle_cycles + (total - core.accounted());
  out["stalls"] = stalls;
  out["instructions"] = py::dict(py::arg("movin") = issued(Op::Load), py::arg("movout") = issued(Op::Store),
                                 py::arg("vector") = issued(Op::Vector), py::arg("matmul") = issued(Op::Matmul),
                                 py::arg("preload") = issued(Op::Preload), py::arg("memory_bar") = issued(Op::Barrier));
  out["skipped_computes"] = s.skipped_computes;
  out["work_items"] = s.work_items;
  out["vector_busy"] = core.vector().busy();
  py::list arrays;
  for (const Pipe& pipe : core.arrays().pipes()) arrays.append(pipe.busy());
  out["array_busy"] = arrays;
  out["dma_busy"] = s.dma_busy;
  out["read_requests"] = s.read_requests;
  out["write_requests"] = s.write_requests;
  out["indirect_transfers"] = s.indirect_transfers;
  out["unindexed_transfers"] = s.unindexed_transfers;
  out["peak_spad_bytes"] = s.peak_spad_bytes;
  out["scans"] = s.scans;
  out["entries_examined"] = s.entries_examined;
  out["missed_wakes"] = s.missed_wakes;
  return out;
}

py::list events_out(const std::vector<TraceEvent>& events) {
  py::list out;
  for (const TraceEvent& e : events) {
    py::list details;
    for (const auto& [key, value] : e.details) details.append(py::make_tuple(key, value));
    out.append(py::make_tuple(e.cycle, e.core, tag_name(e.tag), e.inst, e.opcode, py::tuple(details)));
  }
  return out;
}

py::dict result_out(Run& run, bool trace_log) {
  const Cycle total = run.cycles();
  py::dict out;
  out["cycles"] = total;
  py::list cores;
  for (const auto& core : run.cores()) {
    cores.append(core_out(*core, total, partition_of(run.config(), static_cast<int32_t>(cores.size()))));
  }
  out["cores"] = cores;
  py::list channels;
  for (const auto& channel : run.memory().channels()) channels.append(channel_counters(channel->stats()));
  out["channels"] = channels;
  const NocStats noc = run.memory().noc_stats();
  out["noc_packets"] = noc.packets;
  out["noc_queued_cycles"] = noc.queued;
  py::list links;
  for (const MemorySystem::Link& link : run.memory().links()) links.append(py::make_tuple(link.network, link.from, link.to, link.flits));
  out["links"] = links;
  py::dict steps;
  int64_t core_steps = 0;
  for (const auto& core : run.cores()) core_steps += core->stats().steps;
  int64_t dram_steps = 0;
  for (const auto& channel : run.memory().channels()) dram_steps += channel->stats().steps;
  steps["core"] = core_steps;
  steps["dram"] = dram_steps;
  steps["interconnect"] = noc.steps;
  out["steps"] = steps;
  RunLog& log = run.log();
  out["issue_hash"] = log.issue_hash;
  py::list launches;
  for (size_t l = 0; l < run.partitions().launches().size(); ++l) {
    const Launch& launch = run.partitions().launches()[l];
    const Partitions::Span span = run.partitions().spans()[l];
    launches.append(py::make_tuple(launch.partition, span.begin, span.end, launch.producer->work_items()));
  }
  out["launches"] = launches;
  py::list issues;
  if (log.issues) {
    for (const IssueEntry& e : *log.issues) issues.append(py::make_tuple(e.cycle, e.core, e.item, e.record));
  }
  out["issues"] = issues;
  py::list held;
  if (log.held) {
    for (const HoldEntry& e : *log.held) held.append(py::make_tuple(e.cycle, e.core, e.item, e.record, event_name(e.event), e.bytes));
  }
  out["held"] = held;
  out["events"] = log.trace ? events_out(log.trace->events()) : py::list();
  out["log"] = log.trace && trace_log ? log.trace->text() : std::string();
  out["formatted_lines"] = log.trace ? log.trace->formatted_lines() : int64_t{0};
  return out;
}

py::dict simulate(const py::dict& config, const std::vector<py::tuple>& programs, const std::string& mode, bool trace_log, bool events,
                  bool issue_order, const py::dict& faults) {
  std::vector<Launch> launches;
  for (const py::tuple& program : programs) launches.push_back(launch_from(program));
  RunOptions options{mode_from(mode), trace_log || events, issue_order, faults_from(faults)};
  Config machine = config_from(config);
  if (faults.contains("dram_timing")) machine.dram_timing_fault = faults["dram_timing"].cast<std::map<std::string, int64_t>>();
  Run run(machine, std::move(launches), options);
  {
    const py::gil_scoped_release unlocked;
    run.execute();
  }
  return result_out(run, trace_log);
}

}  // namespace

void bind_run(py::module_& m) {
  m.def("simulate", &simulate, py::arg("config"), py::arg("launches"), py::arg("mode"), py::arg("trace_log"), py::arg("events"),
        py::arg("issue_order"), py::arg("faults"));
  m.def("check_config", [](const py::dict& config) {
    const Config c = config_from(config);
    check(c);
    make_clocks(c);
    make_channel(c);
    MemorySystem(c, make_clocks(c), false);
  });
}

}  // namespace togsim
