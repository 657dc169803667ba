#include "handlers.hpp"

#include "core.hpp"

namespace torchsim::iss {

const HandlerTable& handler_table() {
  static const HandlerTable table = [] {
    HandlerTable t;
    add_scalar_integer(t);
    add_scalar_memory(t);
    add_scalar_float(t);
    add_system(t);
    add_atomics(t);
    add_vector_config(t);
    add_vector_memory(t);
    add_vector_integer(t);
    add_vector_widening(t);
    add_vector_carry(t);
    add_vector_float(t);
    add_vector_convert(t);
    add_vector_reduce(t);
    add_vector_permute(t);
    add_vector_mask(t);
    add_vector_move(t);
    add_npu(t);
    return t;
  }();
  return table;
}

void illegal(Core&, const Insn& i) {
  if (i.op == Op::ILLEGAL) raise(Cause::illegal_instruction, "0x%08x is no instruction", i.word);
  raise(Cause::illegal_instruction, "%s is not implemented", npu::isa::row(i.op).name);
}

}  // namespace torchsim::iss
