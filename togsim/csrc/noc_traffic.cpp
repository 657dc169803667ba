#include "noc_traffic.h"

#include <algorithm>
#include <deque>
#include <random>

#include "error.h"

namespace togsim {
namespace {

NetworkNoc build(const NocUnderTest& test, int32_t places) {
  if (test.topology != "crossbar" && test.topology != "mesh")
    throw ConfigError("unknown topology", {"crossbar or mesh", test.topology, "topology", ""});
  return NetworkNoc(test.network, test.topology == "mesh" ? mesh(test.nodes) : crossbar(test.nodes), Clock(1),
                    std::vector<int32_t>(test.nodes, places));
}

}  // namespace

std::vector<PacketTimes> run_packets(const NocUnderTest& test, const std::vector<PlannedPacket>& packets, int32_t places, Cycle hold,
                                     bool every_cycle) {
  struct Release {
    Cycle cycle;
    uint32_t node;
  };
  NetworkNoc noc = build(test, places);
  std::vector<std::deque<uint32_t>> waiting(test.nodes);
  for (uint32_t i = 0; i < packets.size(); ++i) waiting[packets[i].source].push_back(i);
  std::vector<PacketTimes> times(packets.size());
  std::vector<Delivery> delivered;
  std::vector<uint32_t> left;
  std::vector<Release> releases;
  size_t open = packets.size();
  for (Cycle now = 0; open > 0; ++now) {
    for (std::deque<uint32_t>& queue : waiting) {
      while (!queue.empty() && packets[queue.front()].cycle <= now && noc.can_send(packets[queue.front()].source, now)) {
        const PlannedPacket& p = packets[queue.front()];
        noc.send({p.source, p.destination, queue.front(), 0, false, p.data}, now);
        times[queue.front()].sent = now;
        queue.pop_front();
      }
    }
    noc.run_until(now + 1, every_cycle, delivered, left);
    for (const Delivery& d : delivered) {
      times[d.packet.transfer].delivered = d.tick;
      releases.push_back({d.tick + hold, d.packet.destination});
      --open;
    }
    delivered.clear();
    left.clear();
    std::erase_if(releases, [&](const Release& r) {
      if (r.cycle > now) return false;
      if (places > 0) noc.release(r.node);
      return true;
    });
  }
  return times;
}

TrafficResult uniform_traffic(const NocUnderTest& test, double rate, Cycle warmup, Cycle cycles, uint64_t seed) {
  NetworkNoc noc = build(test, 0);
  std::mt19937_64 random(seed);
  const auto threshold = static_cast<uint64_t>(rate / test.network.data_flits * 0x1p53);
  std::vector<Cycle> created;
  std::vector<Delivery> delivered;
  std::vector<uint32_t> left;
  int64_t measured = 0;
  int64_t arrived = 0;
  double latency = 0;
  const Cycle end = warmup + cycles;
  for (Cycle now = 0; now < end; ++now) {
    for (uint32_t node = 0; node < test.nodes; ++node) {
      if ((random() >> 11) >= threshold) continue;
      const auto destination = static_cast<uint32_t>(random() % test.nodes);
      noc.send({node, destination, static_cast<uint32_t>(created.size()), 0, false, true}, now);
      created.push_back(now);
    }
    noc.run_until(now + 1, false, delivered, left);
    for (const Delivery& d : delivered) {
      arrived += d.tick >= warmup && d.tick < end;
      if (created[d.packet.transfer] < warmup) continue;
      ++measured;
      latency += static_cast<double>(d.tick - created[d.packet.transfer]);
    }
    delivered.clear();
    left.clear();
  }
  return {measured > 0 ? latency / static_cast<double>(measured) : 0.0,
          static_cast<double>(arrived) * test.network.data_flits / (static_cast<double>(cycles) * test.nodes), measured};
}

}  // namespace togsim
