#include "noc.h"

#include <string>

#include "error.h"
#include "noc_latency.h"
#include "noc_network.h"
#include "noc_topology.h"

namespace togsim {
namespace {

// What a packet without a granule carries: an address and a command, or an acknowledgement (8 B in PyTorchSim too).
constexpr int32_t kControlBytes = 8;

uint32_t flits(int32_t bytes, int32_t flit_bytes) { return static_cast<uint32_t>((bytes + flit_bytes - 1) / flit_bytes); }

}  // namespace

std::unique_ptr<Noc> make_noc(const Config& c, Clock clock, int32_t queue_packets, const std::vector<int32_t>& places) {
  const auto nodes = static_cast<uint32_t>(places.size());
  if (c.icnt_type == "simple") return std::make_unique<LatencyNoc>(c.icnt_latency, clock, nodes);
  const NetworkConfig network{static_cast<uint32_t>(c.icnt_virtual_channels),
                              static_cast<uint32_t>(c.icnt_buffer_flits),
                              c.icnt_router_cycles,
                              c.icnt_link_cycles,
                              static_cast<uint32_t>(queue_packets),
                              flits(c.request_bytes, c.icnt_flit_bytes),
                              flits(kControlBytes, c.icnt_flit_bytes)};
  if (c.icnt_type == "crossbar") return std::make_unique<NetworkNoc>(network, crossbar(nodes), clock, places);
  if (c.icnt_type == "mesh") return std::make_unique<NetworkNoc>(network, mesh(nodes), clock, places);
  throw ConfigError("unknown interconnect", {"simple, crossbar or mesh", c.icnt_type, "icnt_type", "correct the machine file"});
}

}  // namespace togsim
