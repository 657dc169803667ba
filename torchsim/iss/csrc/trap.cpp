#include "trap.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace torchsim::iss {

const char* cause_name(Cause cause) {
  switch (cause) {
    case Cause::illegal_instruction:
      return "illegal_instruction";
    case Cause::misaligned_access:
      return "misaligned_access";
    case Cause::scratchpad_out_of_range:
      return "scratchpad_out_of_range";
    case Cause::dram_out_of_range:
      return "dram_out_of_range";
    case Cause::image_out_of_range:
      return "image_out_of_range";
    case Cause::vector_store_to_image:
      return "vector_store_to_image";
    case Cause::tensor_access_without_dma:
      return "tensor_access_without_dma";
    case Cause::unmapped_address:
      return "unmapped_address";
    case Cause::stack_overflow:
      return "stack_overflow";
    case Cause::dma_configuration:
      return "dma_configuration";
    case Cause::wait_without_transfer:
      return "wait_without_transfer";
    case Cause::transfer_not_waited_for:
      return "transfer_not_waited_for";
    case Cause::transfer_inside_block:
      return "transfer_inside_block";
    case Cause::block_nesting:
      return "block_nesting";
    case Cause::sa_queue_overflow:
      return "sa_queue_overflow";
    case Cause::sa_queue_underflow:
      return "sa_queue_underflow";
    case Cause::instruction_limit:
      return "instruction_limit";
    case Cause::ecall:
      return "ecall";
    case Cause::uninitialised_scratchpad_read:
      return "uninitialised_scratchpad_read";
    case Cause::lane_divergence:
      return "lane_divergence";
  }
  return "unknown";
}

void raise(Cause cause, const char* format, ...) {
  std::array<char, 512> text{};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  throw Trap(cause, text.data());
}

}  // namespace torchsim::iss
