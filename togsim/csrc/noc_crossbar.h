// The crossbar: what NetworkNoc does with one router, cycle for cycle, in a form that costs little for each packet.
//
// Inputs are the sources, outputs the destinations. A queue is one virtual channel of an input; queues are numbered input by input,
// so that a mask over them is in round-robin order. For each output, masks tell which queues ask for it: they change when a flit
// comes or goes, and a cycle looks only at outputs that can take a flit. A flit is written to its place in the input buffer when it
// leaves the source, for its credit has reserved that place; what travels on the link is the number of its queue.
#ifndef TOGSIM_NOC_CROSSBAR_H
#define TOGSIM_NOC_CROSSBAR_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "noc.h"
#include "noc_network.h"
#include "queue_mask.h"
#include "request_fifo.h"

namespace togsim {

// At most 64 sources, 64 destinations and 8 channels; W words hold a bit for each queue. Small fields are 32 bits wide: a byte may
// alias anything, which costs the compiler every value that it holds in a register.
template <uint32_t W>
class CrossbarNoc final : public Noc {
 public:
  // `places`: packets that each destination takes before release(), 0: any number.
  CrossbarNoc(const NetworkConfig& config, NodeRange sources, NodeRange destinations, Clock clock, int32_t places);

  bool try_send(const Packet& packet, Tick now) override;
  void run_until(Tick end) override;
  Tick horizon(Tick sent) const override { return clock_.tick(clock_.at_or_after(sent) + 1); }
  Tick delay() const override { return clock_.tick(crossing_); }
  void release(uint32_t destination, Tick from) override { releases_.push({clock_.at_or_after(from), destination - first_destination_}); }
  std::vector<NocLink> links() const override;

 private:
  // A packet in a source's queue, or one of its flits in an input buffer.
  struct Flit {
    Packet packet;
    Cycle sent;  // in a place of a source's queue that its packet has left: the tick from which the place is free
  };
  struct Source {
    std::vector<Flit> ring;
    uint32_t first = 0;  // place of the oldest packet
    uint32_t count = 0;
    uint32_t end = 0;  // place of the next packet
    uint32_t places = 0;
    uint32_t flits_left = 0;   // of the packet that is leaving
    uint32_t channel = 0;      // of that packet, or of the last one
    uint32_t with_credit = 0;  // channels, a bit each
    int64_t flits = 0;         // that left
  };
  struct alignas(32) Queue {
    uint32_t first = 0;  // place of the oldest flit
    uint32_t count = 0;  // that have arrived
    uint32_t end = 0;    // place of the next flit that is sent
    uint32_t credits = 0;
    uint32_t output = 0;
    uint32_t output_channel = 0;  // a bit
    uint32_t active = 0;          // has an output channel
  };
  struct alignas(64) Output {
    QueueMask<W> ready;    // queues with a channel of it and a flit
    QueueMask<W> body;     // ... whose flit is not the first of its packet
    QueueMask<W> waiting;  // queues that wait for a channel
    uint32_t places = 0;
    uint32_t next_queue = 0;  // round-robin places
    uint32_t next_input = 0;
    uint32_t next_channel = 0;
    uint32_t free = 0;   // channels, a bit each
    uint32_t freed = 0;  // in this cycle: free from the next one on
    int64_t flits = 0;   // that passed
  };
  struct Input {
    uint64_t grants = 0;  // outputs, within a cycle
    uint32_t next_output = 0;
    uint32_t next_channel = 0;
  };
  // What reaches the other end of its link in one cycle: queues.
  struct Slot {
    uint32_t flits = 0;
    uint32_t credits = 0;
    std::array<uint32_t, 64> arriving;
    std::array<uint32_t, 64> credited;
  };
  struct Release {
    Cycle cycle;  // that sees it first
    uint32_t output;
  };

  static uint64_t bit(uint32_t n) { return uint64_t{1} << n; }
  // Queues that may pass to an output: all that ask, or without a free place only those in the middle of a packet.
  const QueueMask<W>& passing(uint32_t output) const { return (open_ & bit(output)) != 0 ? outputs_[output].ready : outputs_[output].body; }
  Slot& slot(Cycle cycle) { return slots_[static_cast<size_t>(cycle) & slot_mask_]; }

  // noc_crossbar.cpp: sources, links
  static void grow(Source& source);
  Cycle next_event(Cycle from, Cycle end);
  void step(Cycle now);
  void arrive(Cycle now);
  void inject(Cycle now);
  void departed(Source& source, uint32_t number, Cycle now);

  // noc_crossbar_switch.h
  void receive(uint32_t queue);
  void pass(Cycle now);
  uint64_t grant();
  uint32_t accept(uint32_t input);
  void take(uint32_t queue, const Packet& flit);
  void wait_for_channel(uint32_t queue, uint32_t output);
  void allocate_channels();
  void finish_cycle();

  NetworkConfig config_;
  uint32_t first_source_;
  uint32_t first_destination_;
  Clock clock_;
  Cycle crossing_;         // from the switch to the arrival
  Cycle zero_load_;        // of a packet of one flit
  uint32_t stride_shift_;  // log2 of the queue numbers of an input
  uint32_t ring_shift_;    // log2 of the places of a queue's buffer
  uint32_t number_of_outputs_;
  uint32_t number_of_inputs_;
  bool limited_;  // destinations have a number of places

  std::vector<Source> sources_;
  uint64_t sending_ = 0;  // sources with something in the queue

  size_t slot_mask_;
  std::vector<Slot> slots_;
  uint32_t scheduled_ = 0;  // flits and credits in the slots

  std::vector<Input> inputs_;
  std::vector<Queue> queues_;
  std::vector<Flit> buffer_;
  std::vector<Output> outputs_;
  uint64_t ready_outputs_ = 0;          // with any ready queue
  uint64_t body_outputs_ = 0;           // likewise
  uint64_t waited_outputs_ = 0;         // likewise
  uint64_t free_outputs_ = 0;           // with a free channel
  uint64_t open_ = 0;                   // with a free place
  uint64_t freed_ = 0;                  // in this cycle
  std::array<uint32_t, 64> exposed_{};  // queues whose next packet came to the front in this cycle
  uint32_t exposed_count_ = 0;
  uint32_t flits_ = 0;  // that have arrived

  RequestFifo<Release> releases_;
  Cycle next_ = 0;
};

extern template class CrossbarNoc<1>;
extern template class CrossbarNoc<2>;
extern template class CrossbarNoc<8>;

}  // namespace togsim
#endif
