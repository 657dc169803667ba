// The machine as the simulator needs it. togsim/config.py checks the user's mapping and fills this.
#ifndef TOGSIM_CONFIG_H
#define TOGSIM_CONFIG_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "clock.h"
#include "dram_spec.h"

namespace togsim {

struct Config {
  int32_t num_cores = 1;
  int32_t num_partition = 1;
  std::vector<int32_t> partition;  // of each core; empty: all in partition 0
  int64_t spad_bytes_per_lane = 0;
  int32_t systolic_arrays = 1;
  int32_t weight_slots = 2;     // per systolic array
  int32_t dma_queue_depth = 0;  // transfers, load and store queue each
  // MHz
  int64_t core_freq = 0;
  int64_t icnt_freq = 0;
  int64_t dram_freq = 0;
  // interconnect, in its own cycles
  std::string icnt_type = "simple";
  int32_t icnt_latency = 1;  // type "simple" only
  int32_t icnt_ports = 1;    // per core
  // types "crossbar" and "mesh"
  int32_t icnt_flit_bytes = 64;
  int32_t icnt_virtual_channels = 4;
  int32_t icnt_buffer_flits = 8;  // per virtual channel
  int32_t icnt_router_cycles = 3;
  int32_t icnt_link_cycles = 1;
  int32_t icnt_queue_packets = 8;       // per injection port
  int32_t icnt_channel_requests = 128;  // that a DRAM channel has taken and not answered
  // DRAM
  std::string dram_type;
  std::string dram_mapper;
  int32_t dram_channels = 1;
  int32_t request_bytes = 32;
  int64_t dram_latency = 1;  // type "simple" only, DRAM cycles
  bool dram_interleave_hashed = true;
  int32_t dram_interleave_bytes = 0;                 // consecutive bytes of a channel; 0: one request
  std::map<std::string, int64_t> dram_timing;        // figures that replace those of the device
  std::map<std::string, int64_t> dram_organization;  // likewise
  std::string dram_command_bus;                      // "single", "dual", or "" for that of the device
  DramPolicy dram_policy;
  std::map<std::string, int64_t> dram_timing_fault;  // deliberate faults: added to figures of the device, unchecked
};

struct Clocks {
  Clock core;
  Clock icnt;
  Clock dram;
};

int32_t partition_of(const Config& config, int32_t core);

// Throws ConfigError on figures that cannot be simulated.
void check(const Config& config);
Clocks make_clocks(const Config& config);

}  // namespace togsim
#endif
