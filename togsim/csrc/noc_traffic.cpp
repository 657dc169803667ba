#include "noc_traffic.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>

#include "error.h"
#include "noc_crossbar.h"

namespace togsim {
namespace {

std::unique_ptr<Noc> build(const NocUnderTest& test, int32_t places, bool reference) {
  const NodeRange all{0, test.nodes};
  if (test.topology == "crossbar" || test.topology == "one to one") {
    const NocTraffic traffic{.sources = all, .destinations = all, .places = places, .one_to_one = test.topology == "one to one"};
    return make_crossbar(test.network, Clock(1), test.nodes, traffic, reference);
  }
  if (test.topology == "mesh") return std::make_unique<NetworkNoc>(test.network, mesh(test.nodes), Clock(1), all, places, reference);
  throw ConfigError("unknown topology", {"crossbar, one to one or mesh", test.topology, "topology", ""});
}

}  // namespace

std::vector<PacketTimes> run_packets(const NocUnderTest& test, const std::vector<PlannedPacket>& packets, int32_t places, Cycle hold,
                                     bool every_cycle) {
  const std::unique_ptr<Noc> noc = build(test, places, every_cycle);
  std::vector<std::deque<uint32_t>> waiting(test.nodes);
  for (uint32_t i = 0; i < packets.size(); ++i) waiting[packets[i].source].push_back(i);
  std::vector<PacketTimes> times(packets.size());
  std::vector<Delivery> arrived;
  size_t open = packets.size();
  for (Cycle now = 0; open > 0; ++now) {
    for (std::deque<uint32_t>& queue : waiting) {
      while (!queue.empty() && packets[queue.front()].cycle <= now) {
        const PlannedPacket& p = packets[queue.front()];
        if (!noc->try_send({0, queue.front(), p.source, p.destination, false, p.data}, now)) break;
        times[queue.front()].sent = now;
        queue.pop_front();
      }
    }
    noc->run_until(now + 1);
    arrived.swap(noc->delivered());  // release() may find more
    noc->delivered().clear();
    for (const Delivery& d : arrived) {
      times[d.packet.transfer].delivered = d.tick;
      if (places > 0) noc->release(d.packet.destination, d.tick + hold + 1);  // known ahead of time, as in the memory system
      --open;
    }
  }
  return times;
}

TrafficResult uniform_traffic(const NocUnderTest& test, double rate, Cycle warmup, Cycle cycles, uint64_t seed) {
  const std::unique_ptr<Noc> noc = build(test, 0, false);
  std::mt19937_64 random(seed);
  const auto threshold = static_cast<uint64_t>(rate / test.network.data_flits * 0x1p53);
  std::vector<Cycle> created;
  int64_t measured = 0;
  int64_t arrived = 0;
  double latency = 0;
  const Cycle end = warmup + cycles;
  for (Cycle now = 0; now < end; ++now) {
    for (uint32_t node = 0; node < test.nodes; ++node) {
      if ((random() >> 11) >= threshold) continue;
      const auto destination = static_cast<uint32_t>(random() % test.nodes);
      noc->try_send({0, static_cast<uint32_t>(created.size()), node, destination, false, true}, now);
      created.push_back(now);
    }
    noc->run_until(now + 1);
    for (const Delivery& d : noc->delivered()) {
      arrived += d.tick >= warmup && d.tick < end;
      if (created[d.packet.transfer] < warmup) continue;
      ++measured;
      latency += static_cast<double>(d.tick - created[d.packet.transfer]);
    }
    noc->delivered().clear();
  }
  return {measured > 0 ? latency / static_cast<double>(measured) : 0.0,
          static_cast<double>(arrived) * test.network.data_flits / (static_cast<double>(cycles) * test.nodes), measured};
}

}  // namespace togsim
