#include "noc_router.h"

#include <cstddef>

namespace togsim {

Router::Router(uint32_t ports, uint32_t channels, uint32_t depth, const uint8_t* route)
    : ports_(ports),
      channels_(channels),
      depth_(depth),
      words_((ports * channels + 63) / 64),
      route_(route),
      buffer_(std::size_t{ports} * channels * depth),
      inputs_(std::size_t{ports} * channels),
      credits_(std::size_t{ports} * channels, static_cast<int32_t>(depth)),
      places_(ports, kEndless),
      to_node_(ports, 0),
      limited_(ports, 0),
      active_(words_, 0),
      waiting_(std::size_t{ports} * words_, 0),
      free_(ports, static_cast<uint8_t>((1u << channels) - 1)),
      next_queue_(ports, 0),
      next_channel_(ports, 0),
      next_input_(ports, 0),
      next_output_(ports, 0),
      next_input_channel_(ports, 0),
      requests_(ports, 0),
      grants_(ports, 0) {
  for (uint32_t queue = 0; queue < ports * channels; ++queue) port_of_.push_back(static_cast<uint8_t>(queue / channels));
}

void Router::lead_to_node(uint32_t port, int32_t places) {
  to_node_[port] = 1;
  limited_[port] = places > 0;
  if (places > 0) places_[port] = places;
}

void Router::receive(uint32_t port, uint32_t channel, Flit flit) {
  const uint32_t queue = port * channels_ + channel;
  Input& q = inputs_[queue];
  uint32_t place = q.first + q.count;
  if (place >= depth_) place -= depth_;
  buffer_[queue * depth_ + place] = flit;
  ++flits_;
  if (++q.count == 1 && !q.active) wait_for_channel(queue);
}

void Router::wait_for_channel(uint32_t queue) {
  Input& q = inputs_[queue];
  q.output = route_[buffer_[queue * depth_ + q.first].destination];
  waiting_[q.output * words_ + queue / 64] |= uint64_t{1} << (queue % 64);
  outputs_waited_for_ |= uint64_t{1} << q.output;
}

uint64_t Router::grant() {
  uint64_t outputs = 0;
  for (uint32_t w = 0; w < words_; ++w) {
    for (uint64_t bits = active_[w]; bits != 0; bits &= bits - 1) {
      const uint32_t queue = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
      const Input& q = inputs_[queue];
      if (!can_pass(q, queue)) continue;
      requests_[q.output] |= uint64_t{1} << port_of_[queue];
      outputs |= uint64_t{1} << q.output;
    }
  }
  uint64_t inputs = 0;
  for (; outputs != 0; outputs &= outputs - 1) {
    const auto out = static_cast<uint32_t>(std::countr_zero(outputs));
    const uint32_t in = round_robin(requests_[out], next_input_[out]);
    requests_[out] = 0;
    grants_[in] |= uint64_t{1} << out;
    inputs |= uint64_t{1} << in;
  }
  return inputs;
}

uint32_t Router::accept(uint32_t input) {
  const uint32_t out = round_robin(grants_[input], next_output_[input]);
  grants_[input] = 0;
  // Only accepted grants move the pointers: that is what makes the outputs drift apart under load.
  next_input_[out] = static_cast<uint8_t>(input + 1 == ports_ ? 0 : input + 1);
  next_output_[input] = static_cast<uint8_t>(out + 1 == ports_ ? 0 : out + 1);
  uint32_t channel = next_input_channel_[input];
  for (;;) {
    const uint32_t queue = input * channels_ + channel;
    const Input& q = inputs_[queue];
    if (++channel == channels_) channel = 0;
    if (!q.active || q.output != out || !can_pass(q, queue)) continue;
    next_input_channel_[input] = static_cast<uint8_t>(channel);
    return queue;
  }
}

Flit Router::take(uint32_t queue) {
  Input& q = inputs_[queue];
  const Flit flit = buffer_[queue * depth_ + q.first];
  if (++q.first == depth_) q.first = 0;
  --q.count;
  --flits_;
  const uint32_t output_channel = q.output * channels_ + q.output_channel;
  if (to_node_[q.output] == 0) --credits_[output_channel];
  if (flit.head && limited_[q.output] != 0) --places_[q.output];
  if (flit.tail) {
    q.active = false;
    active_[queue / 64] &= ~(uint64_t{1} << (queue % 64));
    freed_.push_back({q.output, q.output_channel});
    if (q.count > 0) exposed_.push_back(queue);
  }
  return flit;
}

void Router::allocate_channels() {
  for (uint64_t outputs = outputs_waited_for_; outputs != 0; outputs &= outputs - 1) {
    const auto out = static_cast<uint32_t>(std::countr_zero(outputs));
    uint64_t* const waiting = &waiting_[std::size_t{out} * words_];
    bool left = true;
    while (left && free_[out] != 0) {
      // First waiting queue at or after next_queue_, cyclically.
      const uint32_t from = next_queue_[out];
      uint32_t w = from / 64;
      uint64_t bits = waiting[w] & (~uint64_t{0} << (from % 64));
      for (uint32_t tried = 0; bits == 0 && tried < words_; ++tried) {
        if (++w == words_) w = 0;
        bits = waiting[w];
      }
      left = bits != 0;
      if (!left) break;
      const uint32_t queue = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
      const uint32_t channel = round_robin(free_[out], next_channel_[out]);
      waiting[w] &= ~(uint64_t{1} << (queue % 64));
      active_[w] |= uint64_t{1} << (queue % 64);
      free_[out] = static_cast<uint8_t>(free_[out] & ~(1u << channel));
      inputs_[queue].active = true;
      inputs_[queue].output_channel = static_cast<uint8_t>(channel);
      next_queue_[out] = queue + 1 == ports_ * channels_ ? 0 : queue + 1;
      next_channel_[out] = static_cast<uint8_t>(channel + 1 == channels_ ? 0 : channel + 1);
    }
    if (!left) outputs_waited_for_ &= ~(uint64_t{1} << out);
  }
}

// What this cycle set free can be won from the next one on.
void Router::finish_cycle() {
  for (const OutputChannel& freed : freed_) free_[freed.output] = static_cast<uint8_t>(free_[freed.output] | (1u << freed.channel));
  for (const uint32_t queue : exposed_) wait_for_channel(queue);
  freed_.clear();
  exposed_.clear();
}

}  // namespace togsim
