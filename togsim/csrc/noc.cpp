#include "noc.h"

#include <bit>
#include <string>

#include "error.h"
#include "noc_crossbar.h"
#include "noc_flows.h"
#include "noc_latency.h"
#include "noc_network.h"
#include "noc_topology.h"

namespace togsim {
namespace {

// What a packet without a granule carries: an address and a command, or an acknowledgement (8 B in PyTorchSim too).
constexpr int32_t kControlBytes = 8;

uint32_t flits(int32_t bytes, int32_t flit_bytes) { return static_cast<uint32_t>((bytes + flit_bytes - 1) / flit_bytes); }

}  // namespace

std::string NocNodes::name(uint32_t node) const {
  if (node >= first_channel_) return "channel " + std::to_string(node - first_channel_);
  return "core " + std::to_string(node / ports_) + " port " + std::to_string(node % ports_);
}

std::unique_ptr<Noc> make_crossbar(const NetworkConfig& network, Clock clock, uint32_t nodes, const NocTraffic& traffic, bool reference) {
  check_crossbar(nodes);
  const NodeRange from = traffic.sources;
  const NodeRange to = traffic.destinations;
  const uint32_t queues = from.count * std::bit_ceil(network.channels);
  if (!reference && traffic.one_to_one && FlowNoc::describes(network, traffic.places))
    return std::make_unique<FlowNoc>(network, from, to, clock, traffic.places);
  if (!reference && queues <= 64) return std::make_unique<CrossbarNoc<1>>(network, from, to, clock, traffic.places);
  if (!reference && queues <= 128) return std::make_unique<CrossbarNoc<2>>(network, from, to, clock, traffic.places);
  if (!reference) return std::make_unique<CrossbarNoc<8>>(network, from, to, clock, traffic.places);
  return std::make_unique<NetworkNoc>(network, crossbar(nodes), clock, traffic.destinations, traffic.places, true);
}

std::unique_ptr<Noc> make_noc(const Config& c, Clock clock, uint32_t nodes, const NocTraffic& traffic, bool reference) {
  if (c.icnt_type == "simple") return std::make_unique<LatencyNoc>(c.icnt_latency, clock, nodes);
  const NetworkConfig network{static_cast<uint32_t>(c.icnt_virtual_channels),
                              static_cast<uint32_t>(c.icnt_buffer_flits),
                              c.icnt_router_cycles,
                              c.icnt_link_cycles,
                              static_cast<uint32_t>(traffic.queue_packets),
                              flits(c.request_bytes, c.icnt_flit_bytes),
                              flits(kControlBytes, c.icnt_flit_bytes),
                              traffic.report_departures};
  if (c.icnt_type == "crossbar") return make_crossbar(network, clock, nodes, traffic, reference);
  if (c.icnt_type == "mesh")
    return std::make_unique<NetworkNoc>(network, mesh(nodes), clock, traffic.destinations, traffic.places, reference);
  throw ConfigError("unknown interconnect", {"simple, crossbar or mesh", c.icnt_type, "icnt_type", "correct the machine file"});
}

}  // namespace togsim
