#include "scalar_memory.hpp"

#include "handlers.hpp"

namespace torchsim::iss {
namespace {

u64 address_of(const Core& c, const Insn& i) { return c.x[i.rs1] + static_cast<u64>(static_cast<i64>(i.imm)); }

template <class T>
void load(Core& c, const Insn& i) {
  const T value = scalar_load<T>(c, address_of(c, i));
  if constexpr (std::is_signed_v<T>)
    c.write_x(i.rd, static_cast<u64>(static_cast<i64>(value)));
  else
    c.write_x(i.rd, value);
}
template <class T>
void store(Core& c, const Insn& i) {
  scalar_store<T>(c, address_of(c, i), static_cast<T>(c.x[i.rs2]));
}
// narrower floats are boxed: the upper bits are ones
template <class T>
void load_float(Core& c, const Insn& i) {
  u64 boxed = ~u64{0};
  const T value = scalar_load<T>(c, address_of(c, i));
  std::memcpy(&boxed, &value, sizeof(T));
  c.f[i.rd] = boxed;
}
template <class T>
void store_float(Core& c, const Insn& i) {
  scalar_store<T>(c, address_of(c, i), static_cast<T>(c.f[i.rs2]));
}

}  // namespace

void add_scalar_memory(HandlerTable& t) {
  t.set(Op::LB, load<i8>), t.set(Op::LH, load<i16>), t.set(Op::LW, load<i32>), t.set(Op::LD, load<u64>);
  t.set(Op::LBU, load<u8>), t.set(Op::LHU, load<u16>), t.set(Op::LWU, load<u32>);
  t.set(Op::SB, store<u8>), t.set(Op::SH, store<u16>), t.set(Op::SW, store<u32>), t.set(Op::SD, store<u64>);
  t.set(Op::FLH, load_float<u16>), t.set(Op::FLW, load_float<u32>), t.set(Op::FLD, load_float<u64>);
  t.set(Op::FSH, store_float<u16>), t.set(Op::FSW, store_float<u32>), t.set(Op::FSD, store_float<u64>);
}

}  // namespace torchsim::iss
