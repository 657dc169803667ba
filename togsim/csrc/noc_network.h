// A network of routers: crossbar or mesh, with flits, virtual channels, credits and back-pressure.
//
// A packet enters its source's queue in the cycle after it was sent, and leaves it one flit a cycle. With link latency l and
// p router cycles, a packet of f flits over h routers takes 1 + l + h (p + l) + f - 1 cycles in an empty network.
#ifndef TOGSIM_NOC_NETWORK_H
#define TOGSIM_NOC_NETWORK_H

#include <vector>

#include "noc.h"
#include "noc_router.h"
#include "noc_topology.h"
#include "request_fifo.h"

namespace togsim {

struct NetworkConfig {
  uint32_t channels = 1;      // virtual channels
  uint32_t buffer_flits = 1;  // for each virtual channel of an input port
  Cycle router_cycles = 3;    // at least 2: channel allocation, switch allocation
  Cycle link_cycles = 1;
  uint32_t queue_packets = 0;  // of a source; 0: unbounded
  uint32_t data_flits = 1;     // of a packet with a granule
  uint32_t control_flits = 1;
  bool report_departures = false;
};

class NetworkNoc final : public Noc {
 public:
  // `places`: packets that each of `destinations` takes before release(), 0: any number. `every_router`: step all routers in every
  // cycle, idle ones too.
  NetworkNoc(const NetworkConfig& config, Topology topology, Clock clock, NodeRange destinations, int32_t places, bool every_router);

  bool try_send(const Packet& packet, Tick now) override;
  void run_until(Tick end) override;
  Tick horizon(Tick sent) const override { return clock_.tick(clock_.at_or_after(sent) + 1); }
  Tick delay() const override { return clock_.tick(config_.router_cycles - 1 + config_.link_cycles); }
  void release(uint32_t destination, Tick from) override { releases_.push({clock_.at_or_after(from), destination}); }
  std::vector<NocLink> links() const override;
  Cycle zero_load(const Packet& packet) const;

 private:
  struct Queued {
    uint32_t packet;
    Cycle since;  // first cycle in which it may leave
  };
  // A bounded queue keeps the tick from which each of its places is free in free_at_; an unbounded one grows.
  struct Source {
    std::vector<Queued> ring;
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t end = 0;        // place of the next packet
    uint32_t channel = 0;    // of the packet that is leaving, or of the last one
    uint32_t flits_out = 0;  // of the packet that is leaving
  };
  struct Arriving {
    uint32_t router;
    uint16_t port;
    uint16_t channel;
    Flit flit;
  };
  struct Credit {
    uint32_t unit;  // router, or number of routers + node
    uint16_t port;
    uint16_t channel;
  };
  struct Slot {
    std::vector<Arriving> flits;
    std::vector<Credit> credits;
    bool empty() const { return flits.empty() && credits.empty(); }
  };
  struct InFlight {
    Packet packet;
    Cycle sent;
  };
  struct Release {
    Cycle cycle;  // that sees it first
    uint32_t destination;
  };

  uint32_t flits(const Packet& packet) const { return packet.data ? config_.data_flits : config_.control_flits; }
  Slot& slot(Cycle cycle) { return slots_[static_cast<size_t>(cycle) & (slots_.size() - 1)]; }
  void grow(Source& source);
  Cycle next_event(Cycle from, Cycle end);
  void step(Cycle now);
  void take_releases(Cycle now);
  void inject(uint32_t node, Cycle now);
  void forward(uint32_t router, uint32_t in, uint32_t in_channel, uint32_t out, uint32_t out_channel, Flit flit, Cycle now);

  NetworkConfig config_;
  Topology topology_;
  Clock clock_;
  bool every_router_;
  std::vector<Router> routers_;
  std::vector<Source> sources_;
  std::vector<Tick> free_at_;      // source * queue_packets + place
  std::vector<int32_t> credits_;   // source * channels + channel
  std::vector<uint64_t> sending_;  // nodes with something in the queue
  std::vector<Slot> slots_;        // what arrives in a cycle
  uint64_t scheduled_ = 0;         // in slots_
  std::vector<InFlight> packets_;
  std::vector<uint32_t> free_packets_;
  RequestFifo<Release> releases_;
  std::vector<int64_t> injected_;  // flits, by node
  std::vector<int64_t> passed_;    // flits, by router * ports + output
  Cycle next_ = 0;
};

}  // namespace togsim
#endif
