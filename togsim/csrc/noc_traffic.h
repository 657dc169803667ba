// Drives one network by itself: given packets, or uniform random traffic whose latency and throughput are measured.
#ifndef TOGSIM_NOC_TRAFFIC_H
#define TOGSIM_NOC_TRAFFIC_H

#include <cstdint>
#include <string>
#include <vector>

#include "noc_network.h"

namespace togsim {

struct NocUnderTest {
  std::string topology;  // "crossbar", "one to one" (a crossbar; every source has a destination of its own), "mesh"
  uint32_t nodes = 0;
  NetworkConfig network;
};

struct PlannedPacket {
  Cycle cycle;  // earliest cycle in which it is sent
  uint32_t source;
  uint32_t destination;
  bool data;
};

struct PacketTimes {
  Cycle sent = -1;
  Cycle delivered = -1;
};

// Packets of one source are sent in the given order, each as soon as its queue has room. A node takes `places` packets (0: any
// number) and frees a place `hold` cycles after a delivery. The network runs in windows of one cycle.
std::vector<PacketTimes> run_packets(const NocUnderTest& test, const std::vector<PlannedPacket>& packets, int32_t places, Cycle hold,
                                     bool every_cycle);

struct TrafficResult {
  double latency;   // mean cycles of a data packet from creation to the arrival of its tail
  double accepted;  // flits per node and cycle
  int64_t packets;  // that were measured
};

// Every node creates a data packet with probability rate / flits in each cycle, to a destination drawn from all nodes, its own
// included. Measured over the packets created, and the flits that arrived, in `cycles` cycles after `warmup`.
TrafficResult uniform_traffic(const NocUnderTest& test, double rate, Cycle warmup, Cycle cycles, uint64_t seed);

}  // namespace togsim
#endif
