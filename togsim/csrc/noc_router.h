// An input-queued router with virtual channels and credits.
//
// A packet's head flit first wins a free virtual channel of its output port, in a later cycle each flit wins the switch. Virtual
// channels of an output go to the waiting input channels in round-robin order. The switch is allocated by one iteration of
// iSLIP (McKeown, IEEE/ACM Trans. Networking 1999): every output grants one input, every input accepts one grant.
#ifndef TOGSIM_NOC_ROUTER_H
#define TOGSIM_NOC_ROUTER_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace togsim {

struct Flit {
  uint32_t packet;
  uint16_t destination;
  bool head;
  bool tail;
};

class Router {
 public:
  // `route`: destination -> output port. At most 64 ports and 8 channels; buffers of `depth` flits for each channel.
  Router(uint32_t ports, uint32_t channels, uint32_t depth, const uint8_t* route);

  // The output leads to a node, which takes every flit. `places`: packets that it takes before release(); 0: any number.
  void lead_to_node(uint32_t port, int32_t places);

  void receive(uint32_t port, uint32_t channel, Flit flit);
  void credit(uint32_t port, uint32_t channel) { ++credits_[port * channels_ + channel]; }
  void release(uint32_t port) { ++places_[port]; }
  bool busy() const { return flits_ > 0; }

  // One cycle. `forward(input, input_channel, output, output_channel, flit)` for each flit that passes the switch.
  template <typename Forward>
  void step(Forward forward) {
    uint64_t inputs = grant();
    for (; inputs != 0; inputs &= inputs - 1) {
      const auto in = static_cast<uint32_t>(std::countr_zero(inputs));
      const uint32_t queue = accept(in);
      const Input& q = inputs_[queue];
      const uint32_t out = q.output;
      const uint32_t channel = q.output_channel;
      const Flit flit = take(queue);
      forward(in, queue - in * channels_, out, channel, flit);
    }
    allocate_channels();
    finish_cycle();
  }

 private:
  struct Input {
    uint32_t first = 0;  // place of the oldest flit
    uint32_t count = 0;
    uint8_t output = 0;
    uint8_t output_channel = 0;
    bool active = false;  // has an output channel
  };
  static constexpr int32_t kEndless = INT32_MAX;

  static uint32_t round_robin(uint64_t mask, uint32_t from) {
    const uint64_t high = mask & (~uint64_t{0} << from);
    return static_cast<uint32_t>(std::countr_zero(high != 0 ? high : mask));
  }
  bool can_pass(const Input& q, uint32_t queue) const {
    return q.count > 0 && credits_[q.output * channels_ + q.output_channel] > 0 &&
           (places_[q.output] > 0 || !buffer_[queue * depth_ + q.first].head);
  }
  uint64_t grant();                 // inputs that were granted an output
  uint32_t accept(uint32_t input);  // the queue whose flit passes
  Flit take(uint32_t queue);
  void wait_for_channel(uint32_t queue);
  void allocate_channels();
  void finish_cycle();

  uint32_t ports_;
  uint32_t channels_;
  uint32_t depth_;
  uint32_t words_;  // of a mask over all input channels ("queues")
  const uint8_t* route_;
  uint32_t flits_ = 0;
  std::vector<Flit> buffer_;
  std::vector<uint8_t> port_of_;  // queue -> input port
  std::vector<Input> inputs_;
  std::vector<int32_t> credits_;   // by output and channel
  std::vector<int32_t> places_;    // by output
  std::vector<uint8_t> to_node_;   // by output
  std::vector<uint8_t> limited_;   // by output: places_ counts
  std::vector<uint64_t> active_;   // queues with an output channel
  std::vector<uint64_t> waiting_;  // by output: queues that wait for a channel of it
  uint64_t outputs_waited_for_ = 0;
  std::vector<uint8_t> free_;         // by output: free channels
  std::vector<uint32_t> next_queue_;  // round-robin places
  std::vector<uint8_t> next_channel_;
  std::vector<uint8_t> next_input_;
  std::vector<uint8_t> next_output_;
  std::vector<uint8_t> next_input_channel_;
  std::vector<uint64_t> requests_;  // within a cycle
  std::vector<uint64_t> grants_;
  struct OutputChannel {
    uint8_t output;
    uint8_t channel;
  };
  std::vector<OutputChannel> freed_;  // whose packet ended in this cycle
  std::vector<uint32_t> exposed_;     // queues whose next packet came to the front in this cycle
};

}  // namespace togsim
#endif
