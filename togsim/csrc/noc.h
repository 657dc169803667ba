// One direction of the interconnect: packets from sources to destinations. Answers have a network of their own, so that they
// never wait for requests.
#ifndef TOGSIM_NOC_H
#define TOGSIM_NOC_H

#include <cstdint>
#include <memory>
#include <vector>

#include "clock.h"
#include "config.h"

namespace togsim {

struct Packet {
  uint32_t source;       // node
  uint32_t destination;  // node
  uint32_t transfer;
  uint64_t granule;  // number inside the channel; requests only
  bool write;
  bool data;  // carries the bytes of a granule; else it is a control packet
};

struct Delivery {
  Tick tick;  // its last flit has arrived
  Packet packet;
};

struct NocStats {
  int64_t packets = 0;
  int64_t flits = 0;
  // Interconnect cycles that packets took longer than in an empty network.
  int64_t queued = 0;
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
  uint32_t core(uint32_t core, uint32_t channel) const { return core * ports_ + port_[channel]; }
  uint32_t channel(uint32_t channel) const { return first_channel_ + channel; }
  uint32_t channel_of(uint32_t node) const { return node - first_channel_; }
  uint32_t count() const { return count_; }

 private:
  uint32_t ports_;
  uint32_t first_channel_;
  uint32_t count_;
  std::vector<uint32_t> port_;  // of a core, by channel
};

class Noc {
 public:
  virtual ~Noc() = default;
  Noc() = default;
  Noc(const Noc&) = delete;
  Noc& operator=(const Noc&) = delete;

  // Whether the source has room for a packet at `now`.
  virtual bool can_send(uint32_t source, Tick now) = 0;
  // can_send() holds. Calls come in order of time.
  virtual void send(const Packet& packet, Tick now) = 0;
  // Simulate up to, not including, `end`; everything sent before end - lookahead() has been sent. Deliveries are appended and
  // may lie beyond `end`, in order of time for each destination. Sources whose packet left its queue are appended to `left`.
  virtual void run_until(Tick end, bool every_cycle, std::vector<Delivery>& delivered, std::vector<uint32_t>& left) = 0;
  // A destination with a limited number of places has one free again.
  virtual void release(uint32_t destination) = 0;
  // What is sent at or after `tick` arrives, and what run_until(tick) did is seen by sources, no earlier than tick + lookahead().
  virtual Tick lookahead() const = 0;
  virtual const NocStats& stats() const = 0;
};

// `queue_packets`: that wait at a source, 0: any number. `places`: packets that a node takes in before release(), 0: any number.
std::unique_ptr<Noc> make_noc(const Config& config, Clock clock, int32_t queue_packets, const std::vector<int32_t>& places);

}  // namespace togsim
#endif
