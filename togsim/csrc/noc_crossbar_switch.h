// The crossbar's switch: allocation of output channels and iSLIP (noc_router.h says how), on masks.
#ifndef TOGSIM_NOC_CROSSBAR_SWITCH_H
#define TOGSIM_NOC_CROSSBAR_SWITCH_H

#include <bit>

#include "noc_crossbar.h"

namespace togsim {

template <uint32_t W>
inline void CrossbarNoc<W>::receive(uint32_t queue) {
  Queue& q = queues_[queue];
  if (++q.count > 1) return;
  if (q.active == 0) {
    wait_for_channel(queue, buffer_[(queue << ring_shift_) + q.first].packet.destination - first_destination_);
    return;
  }
  // The first flit of its packet has passed already.
  outputs_[q.output].ready.set(queue);
  outputs_[q.output].body.set(queue);
  ready_outputs_ |= bit(q.output);
  body_outputs_ |= bit(q.output);
}

template <uint32_t W>
inline void CrossbarNoc<W>::wait_for_channel(uint32_t queue, uint32_t output) {
  queues_[queue].output = output;
  outputs_[output].waiting.set(queue);
  waited_outputs_ |= bit(output);
}

template <uint32_t W>
void CrossbarNoc<W>::pass(Cycle now) {
  Slot& there = slot(now + config_.link_cycles + 1);
  const Cycle arrival = now + crossing_;
  const Tick tick = clock_.tick(arrival);
  const std::array<Cycle, 2> expected{arrival - zero_load_ - config_.control_flits + 1, arrival - zero_load_ - config_.data_flits + 1};
  const size_t before = delivered_.size();
  Cycle queued = 0;
  uint32_t passed = 0;
  for (uint64_t left = grant(); left != 0; left &= left - 1) {
    const uint32_t queue = accept(static_cast<uint32_t>(std::countr_zero(left)));
    there.credited[passed++] = queue;
    const Flit& flit = buffer_[(queue << ring_shift_) + queues_[queue].first];
    if (flit.packet.tail) {
      delivered_.push_back({flit.packet, tick});
      queued += expected[flit.packet.data] - flit.sent;
    }
    take(queue, flit.packet);
  }
  there.credits = passed;
  scheduled_ += passed;
  flits_ -= passed;
  stats_.packets += static_cast<int64_t>(delivered_.size() - before);
  stats_.queued += queued;
  allocate_channels();
  finish_cycle();
}

// Every output that can take a flit grants one input. Returns the inputs.
template <uint32_t W>
inline uint64_t CrossbarNoc<W>::grant() {
  uint64_t inputs = 0;
  const uint32_t shift = stride_shift_;
  for (uint64_t left = ready_outputs_ & (open_ | body_outputs_); left != 0; left &= left - 1) {
    const auto out = static_cast<uint32_t>(std::countr_zero(left));
    const uint32_t in = passing(out).next(outputs_[out].next_input << shift) >> shift;
    inputs_[in].grants |= bit(out);
    inputs |= bit(in);
  }
  return inputs;
}

// The queue whose flit passes. Only accepted grants move the pointers: that is what makes the outputs drift apart under load.
template <uint32_t W>
inline uint32_t CrossbarNoc<W>::accept(uint32_t input) {
  Input& i = inputs_[input];
  const uint32_t out = round_robin(i.grants, i.next_output);
  i.grants = 0;
  outputs_[out].next_input = input + 1 == number_of_inputs_ ? 0 : input + 1;
  i.next_output = out + 1 == number_of_outputs_ ? 0 : out + 1;
  const uint32_t first = input << stride_shift_;
  const uint32_t channel = round_robin(passing(out).few(first, 1u << stride_shift_), i.next_channel);
  i.next_channel = channel + 1;
  return first + channel;
}

// A flit leaves its buffer.
template <uint32_t W>
inline void CrossbarNoc<W>::take(uint32_t queue, const Packet& flit) {
  Queue& q = queues_[queue];
  const uint32_t output = q.output;
  Output& out = outputs_[output];
  q.first = (q.first + 1) & ((1u << ring_shift_) - 1);
  --q.count;
  ++out.flits;
  if (flit.head) {
    if (limited_ && --out.places == 0) open_ &= ~bit(output);
    if (!flit.tail && q.count > 0) {
      out.body.set(queue);
      body_outputs_ |= bit(output);
    }
  } else if (flit.tail || q.count == 0) {
    out.body.reset(queue);
    if (!out.body.any()) body_outputs_ &= ~bit(output);
  }
  if (flit.tail || q.count == 0) {
    out.ready.reset(queue);
    if (!out.ready.any()) ready_outputs_ &= ~bit(output);
  }
  if (flit.tail) {
    q.active = 0;
    out.freed |= q.output_channel;
    freed_ |= bit(output);
    exposed_[exposed_count_] = queue;
    exposed_count_ += q.count > 0;
  }
}

template <uint32_t W>
inline void CrossbarNoc<W>::allocate_channels() {
  for (uint64_t left = waited_outputs_ & free_outputs_; left != 0; left &= left - 1) {
    const auto output = static_cast<uint32_t>(std::countr_zero(left));
    Output& out = outputs_[output];
    do {
      const uint32_t queue = out.waiting.next(out.next_queue);
      const uint32_t channel = round_robin(out.free, out.next_channel);
      out.waiting.reset(queue);
      out.ready.set(queue);
      out.free &= ~(1u << channel);
      queues_[queue].active = 1;
      queues_[queue].output_channel = 1u << channel;
      out.next_queue = (queue + 1) % (64 * W);  // above the last queue there is none
      out.next_channel = channel + 1;
    } while (out.free != 0 && out.waiting.any());
    ready_outputs_ |= bit(output);
    if (out.free == 0) free_outputs_ &= ~bit(output);
    if (!out.waiting.any()) waited_outputs_ &= ~bit(output);
  }
}

// What this cycle set free can be won from the next one on.
template <uint32_t W>
inline void CrossbarNoc<W>::finish_cycle() {
  for (uint64_t left = freed_; left != 0; left &= left - 1) {
    Output& out = outputs_[static_cast<size_t>(std::countr_zero(left))];
    out.free |= out.freed;
    out.freed = 0;
  }
  free_outputs_ |= freed_;
  freed_ = 0;
  for (uint32_t k = 0; k < exposed_count_; ++k) {
    const uint32_t queue = exposed_[k];
    wait_for_channel(queue, buffer_[(queue << ring_shift_) + queues_[queue].first].packet.destination - first_destination_);
  }
  exposed_count_ = 0;
}

}  // namespace togsim
#endif
