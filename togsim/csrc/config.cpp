#include "config.h"

#include <numeric>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

constexpr int64_t kMaxTicksPerMicrosecond = int64_t{1} << 40;

void positive(int64_t value, const char* key) {
  if (value <= 0)
    throw ConfigError(join(key, " must be positive"), {"a positive integer", std::to_string(value), key, "correct the machine file"});
}

void within(int64_t value, int64_t low, int64_t high, const char* key) {
  if (value < low || value > high)
    throw ConfigError(join(key, " out of range"),
                      {join("an integer from ", low, " to ", high), std::to_string(value), key, "correct the machine file"});
}

void check_partitions(const Config& c) {
  if (c.num_partition > c.num_cores) {
    throw ConfigError("more partitions than cores", {join("num_partition of at most ", c.num_cores, " (num_cores)"),
                                                     std::to_string(c.num_partition), "num_partition", "correct the machine file"});
  }
  std::vector<int32_t> cores(static_cast<size_t>(c.num_partition), 0);
  for (int32_t core = 0; core < c.num_cores; ++core) {
    const int32_t p = partition_of(c, core);
    if (p < 0 || p >= c.num_partition) {
      throw ConfigError("core in a partition that does not exist", {join("a partition below ", c.num_partition, " (num_partition)"),
                                                                    join("core_", core, ": ", p), "partition", "correct the machine file"});
    }
    ++cores[static_cast<size_t>(p)];
  }
  for (int32_t p = 0; p < c.num_partition; ++p) {
    if (cores[static_cast<size_t>(p)] > 0) continue;
    throw ConfigError("partition without cores", {"every partition below num_partition on some core", join("none on partition ", p),
                                                  "partition", "name a core for it"});
  }
}

}  // namespace

int32_t partition_of(const Config& c, int32_t core) {
  return static_cast<size_t>(core) < c.partition.size() ? c.partition[static_cast<size_t>(core)] : 0;
}

void check(const Config& c) {
  positive(c.num_cores, "num_cores");
  positive(c.num_partition, "num_partition");
  check_partitions(c);
  positive(c.spad_bytes_per_lane, "vpu_spad_size_kb_per_lane");
  positive(c.systolic_arrays, "num_systolic_array_per_core");
  positive(c.weight_slots, "sa_weight_buffer_depth");
  positive(c.dma_queue_depth, "dma_queue_depth");
  positive(c.core_freq, "core_freq_mhz");
  positive(c.icnt_freq, "icnt_freq_mhz");
  positive(c.dram_freq, "dram_freq_mhz");
  positive(c.icnt_latency, "icnt_latency_cycles");
  positive(c.icnt_ports, "icnt_injection_ports_per_core");
  within(c.icnt_flit_bytes, 1, 4096, "icnt_flit_bytes");
  within(c.icnt_virtual_channels, 1, 8, "icnt_virtual_channels");
  within(c.icnt_buffer_flits, 1, 4096, "icnt_buffer_flits_per_channel");
  within(c.icnt_router_cycles, 2, 1024, "icnt_router_pipeline_cycles");
  within(c.icnt_link_cycles, 1, 1024, "icnt_link_latency_cycles");
  within(c.icnt_queue_packets, 1, 1 << 20, "icnt_injection_queue_packets");
  within(c.icnt_channel_requests, 1, 1 << 20, "icnt_requests_per_dram_channel");
  positive(c.dram_channels, "dram_channels");
  positive(c.dram_latency, "dram_latency");
  positive(c.request_bytes, "dram_req_size_byte");
  if ((c.request_bytes & (c.request_bytes - 1)) != 0) {
    throw ConfigError("dram_req_size_byte must be a power of two",
                      {"a power of two", std::to_string(c.request_bytes), "dram_req_size_byte", "correct the machine file"});
  }
  if (c.dram_interleave_bytes < 0 || c.dram_interleave_bytes % c.request_bytes != 0) {
    throw ConfigError("dram_interleave_bytes must be a multiple of the request size",
                      {join("a multiple of ", c.request_bytes, ", or 0 for one request"), std::to_string(c.dram_interleave_bytes),
                       "dram_interleave_bytes", "correct the machine file"});
  }
}

Clocks make_clocks(const Config& c) {
  const int64_t two = std::lcm(c.core_freq, c.icnt_freq);
  if (two > kMaxTicksPerMicrosecond || std::lcm(two, c.dram_freq) > kMaxTicksPerMicrosecond) {
    throw ConfigError("clock frequencies have no usable common multiple",
                      {"a least common multiple below 2^40 MHz", join(c.core_freq, ", ", c.icnt_freq, ", ", c.dram_freq, " MHz"),
                       "core_freq_mhz, icnt_freq_mhz, dram_freq_mhz", "round the frequencies"});
  }
  const int64_t ticks = std::lcm(two, c.dram_freq);
  return {Clock(ticks / c.core_freq), Clock(ticks / c.icnt_freq), Clock(ticks / c.dram_freq)};
}

}  // namespace togsim
