// The one way an executed program stops early.
#pragma once
#include <exception>
#include <string>
#include <utility>

namespace torchsim::iss {

/// Causes of docs/isa.md section 6, in that order.
enum class Cause {
  illegal_instruction,
  misaligned_access,
  scratchpad_out_of_range,
  dram_out_of_range,
  image_out_of_range,
  vector_store_to_image,
  tensor_access_without_dma,
  unmapped_address,
  stack_overflow,
  dma_configuration,
  wait_without_transfer,
  transfer_not_waited_for,
  transfer_inside_block,
  block_nesting,
  sa_queue_overflow,
  sa_queue_underflow,
  instruction_limit,
  ecall,
  uninitialised_scratchpad_read,
  lane_divergence,
};

/// Name as written in docs/isa.md.
const char* cause_name(Cause cause);

/// Thrown by a handler; the run loop adds pc and registers.
class Trap : public std::exception {
 public:
  Trap(Cause cause, std::string detail) : cause(cause), detail(std::move(detail)) {}
  const char* what() const noexcept override { return detail.c_str(); }

  Cause cause;
  std::string detail;
};

/// printf-style construction; kept out of line so that handlers stay small.
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void raise(Cause cause, const char* format, ...);

}  // namespace torchsim::iss
