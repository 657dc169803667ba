// Registration of instruction handlers: one function per family, called once.
#pragma once
#include <array>

#include "insn.hpp"

namespace torchsim::iss {

class HandlerTable {
 public:
  template <class Sub = u8>
  void set(Op op, Handler handler, Sub sub = {}) {
    entries_[static_cast<std::size_t>(op)] = {handler, static_cast<u8>(sub)};
  }
  const HandlerEntry& operator[](Op op) const { return entries_[static_cast<std::size_t>(op)]; }

 private:
  std::array<HandlerEntry, static_cast<std::size_t>(Op::COUNT)> entries_{};
};

void add_scalar_integer(HandlerTable& table);
void add_scalar_memory(HandlerTable& table);
void add_scalar_float(HandlerTable& table);
void add_system(HandlerTable& table);
void add_atomics(HandlerTable& table);
void add_vector_config(HandlerTable& table);
void add_vector_memory(HandlerTable& table);
void add_vector_integer(HandlerTable& table);
void add_vector_widening(HandlerTable& table);
void add_vector_carry(HandlerTable& table);
void add_vector_float(HandlerTable& table);
void add_vector_convert(HandlerTable& table);
void add_vector_reduce(HandlerTable& table);
void add_vector_permute(HandlerTable& table);
void add_vector_mask(HandlerTable& table);
void add_vector_move(HandlerTable& table);
void add_npu(HandlerTable& table);

/// All of the above.
const HandlerTable& handler_table();

/// The handler of everything that is not implemented or no instruction.
void illegal(Core& core, const Insn& insn);

}  // namespace torchsim::iss
