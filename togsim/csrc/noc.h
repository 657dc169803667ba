// One direction of the interconnect: packets from sources to destinations. Answers have a network of their own, so that they
// never wait for requests.
#ifndef TOGSIM_NOC_H
#define TOGSIM_NOC_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "config.h"

namespace togsim {

struct NetworkConfig;

// 16 bytes: hundreds of them are on their way at any time, and they should stay in the nearest cache.
struct Packet {
  uint64_t granule;  // number inside the channel; requests only
  uint32_t transfer;
  uint32_t source : 13;       // node
  uint32_t destination : 13;  // node
  uint32_t write : 1;
  uint32_t data : 1;  // carries the bytes of a granule; else it is a control packet
  // Of one of its flits: the first, the last. Set by networks.
  uint32_t head : 1 = 1;
  uint32_t tail : 1 = 1;

  Packet() = default;
  Packet(uint64_t granule, uint32_t transfer, uint32_t source, uint32_t destination, bool write, bool data)
      : granule(granule),
        transfer(transfer),
        source(source & kNodeMask),
        destination(destination & kNodeMask),
        write(write ? 1 : 0),
        data(data ? 1 : 0) {}

 private:
  static constexpr uint32_t kNodeMask = (1u << 13) - 1;  // noc_topology.cpp: at most 4096 nodes
};

struct Delivery {
  Packet packet;
  Tick tick;  // its last flit has arrived
};

struct NocStats {
  int64_t packets = 0;
  int64_t flits = 0;
  // Interconnect cycles that packets took longer than in an empty network.
  int64_t queued = 0;
  int64_t steps = 0;  // cycles that the model looked at; not a figure of the machine
};

struct NodeRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

// An end of a link: a node, or a router (a crossbar and the "simple" interconnect are one).
struct NocPlace {
  enum class Kind : uint8_t { Node, Router } kind;
  uint32_t number;
};

struct NocLink {
  NocPlace from;
  NocPlace to;
  int64_t flits;  // that it carried; one is what it can carry in a cycle
};

// Nodes of both networks: the ports of core 0, of core 1, ..., then the DRAM channels. Channel c talks to port c mod ports of
// every core.
class NocNodes {
 public:
  explicit NocNodes(const Config& config)
      : ports_(static_cast<uint32_t>(config.icnt_ports)),
        first_channel_(static_cast<uint32_t>(config.num_cores) * ports_),
        count_(first_channel_ + static_cast<uint32_t>(config.dram_channels)) {
    for (uint32_t c = 0; c < static_cast<uint32_t>(config.dram_channels); ++c) port_.push_back(c % ports_);
  }
  uint32_t first_of_core(uint32_t core) const { return core * ports_; }
  uint32_t port(uint32_t channel) const { return port_[channel]; }  // of every core
  uint32_t channel(uint32_t channel) const { return first_channel_ + channel; }
  uint32_t channel_of(uint32_t node) const { return node - first_channel_; }
  uint32_t count() const { return count_; }
  // "core 0 port 3", "channel 5"
  std::string name(uint32_t node) const;
  bool one_to_one() const { return first_channel_ == ports_ && count_ - first_channel_ <= ports_; }
  NodeRange cores() const { return {0, first_channel_}; }
  NodeRange channels() const { return {first_channel_, count_ - first_channel_}; }

 private:
  uint32_t ports_;
  uint32_t first_channel_;
  uint32_t count_;
  std::vector<uint32_t> port_;  // of a core, by channel
};

// A packet left its source's queue.
struct Departure {
  uint32_t source;
  Tick tick;  // from which its place is free
};

class Noc {
 public:
  virtual ~Noc() = default;
  Noc() = default;
  Noc(const Noc&) = delete;
  Noc& operator=(const Noc&) = delete;

  // Sends a packet, unless its source has no room at `now`. Calls come in order of time.
  virtual bool try_send(const Packet& packet, Tick now) = 0;
  // Simulate up to, not including, `end`, which is at most horizon(tick before which everything was sent).
  virtual void run_until(Tick end) = 0;
  virtual Tick horizon(Tick sent) const = 0;
  // After run_until(end), what is still to come arrives no earlier than end + delay().
  virtual Tick delay() const = 0;
  // A destination with a limited number of places has one more, to be seen by the first cycle at or after `from`. In order of time.
  virtual void release(uint32_t destination, Tick from) = 0;

  // What run_until() found, for the caller to take away. Deliveries may lie beyond `end`; for each destination they are in order.
  std::vector<Delivery>& delivered() { return delivered_; }
  std::vector<Departure>& departed() { return departed_; }
  const NocStats& stats() const { return stats_; }
  virtual std::vector<NocLink> links() const = 0;

 protected:
  std::vector<Delivery> delivered_;
  std::vector<Departure> departed_;
  NocStats stats_;
};

// What the sources of one direction are, and how much waits where.
struct NocTraffic {
  NodeRange sources;
  NodeRange destinations;
  int32_t queue_packets = 0;  // that wait at a source, 0: any number
  int32_t places = 0;         // packets that a destination takes in before release(), 0: any number
  bool report_departures = false;
  bool one_to_one = false;  // every source sends to one destination, which no other source sends to
};

std::unique_ptr<Noc> make_crossbar(const NetworkConfig& network, Clock clock, uint32_t nodes, const NocTraffic& traffic, bool reference);

// `reference`: the model that looks at every router in every cycle; the same results.
std::unique_ptr<Noc> make_noc(const Config& config, Clock clock, uint32_t nodes, const NocTraffic& traffic, bool reference);

}  // namespace togsim
#endif
