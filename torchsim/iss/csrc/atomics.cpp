// RV64A on the one hart there is: a reservation survives until the next store-conditional or a store by AMO.
#include "handlers.hpp"
#include "scalar_memory.hpp"

namespace torchsim::iss {
namespace {

template <class T>
u64 extend(T value) {
  return static_cast<u64>(static_cast<i64>(static_cast<std::make_signed_t<T>>(value)));
}

template <class T>
void load_reserved(Core& c, const Insn& i) {
  const u64 address = c.x[i.rs1];
  c.write_x(i.rd, extend(scalar_load<T>(c, address)));
  c.reservation = address;
}

template <class T>
void store_conditional(Core& c, const Insn& i) {
  const u64 address = c.x[i.rs1];
  const bool held = c.reservation == address;
  if (held)
    scalar_store<T>(c, address, static_cast<T>(c.x[i.rs2]));
  else
    c.memory.locate(address, sizeof(T), sizeof(T), Access::scalar_store);
  c.reservation.reset();
  c.write_x(i.rd, held ? 0 : 1);
}

template <class T, T (*F)(T, T)>
void amo(Core& c, const Insn& i) {
  const u64 address = c.x[i.rs1];
  const T operand = static_cast<T>(c.x[i.rs2]);
  const T old = scalar_load<T>(c, address);
  scalar_store<T>(c, address, F(old, operand));
  c.write_x(i.rd, extend(old));
}

template <class T>
T swap(T, T b) {
  return b;
}
template <class T>
T add(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
T xor_(T a, T b) {
  return a ^ b;
}
template <class T>
T and_(T a, T b) {
  return a & b;
}
template <class T>
T or_(T a, T b) {
  return a | b;
}
template <class T>
T minu(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T maxu(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T min(T a, T b) {
  return static_cast<std::make_signed_t<T>>(a) < static_cast<std::make_signed_t<T>>(b) ? a : b;
}
template <class T>
T max(T a, T b) {
  return static_cast<std::make_signed_t<T>>(a) > static_cast<std::make_signed_t<T>>(b) ? a : b;
}

}  // namespace

void add_atomics(HandlerTable& t) {
  t.set(Op::LR_W, load_reserved<u32>), t.set(Op::LR_D, load_reserved<u64>);
  t.set(Op::SC_W, store_conditional<u32>), t.set(Op::SC_D, store_conditional<u64>);
  t.set(Op::AMOSWAP_W, amo<u32, swap<u32>>), t.set(Op::AMOSWAP_D, amo<u64, swap<u64>>);
  t.set(Op::AMOADD_W, amo<u32, add<u32>>), t.set(Op::AMOADD_D, amo<u64, add<u64>>);
  t.set(Op::AMOXOR_W, amo<u32, xor_<u32>>), t.set(Op::AMOXOR_D, amo<u64, xor_<u64>>);
  t.set(Op::AMOAND_W, amo<u32, and_<u32>>), t.set(Op::AMOAND_D, amo<u64, and_<u64>>);
  t.set(Op::AMOOR_W, amo<u32, or_<u32>>), t.set(Op::AMOOR_D, amo<u64, or_<u64>>);
  t.set(Op::AMOMIN_W, amo<u32, min<u32>>), t.set(Op::AMOMIN_D, amo<u64, min<u64>>);
  t.set(Op::AMOMAX_W, amo<u32, max<u32>>), t.set(Op::AMOMAX_D, amo<u64, max<u64>>);
  t.set(Op::AMOMINU_W, amo<u32, minu<u32>>), t.set(Op::AMOMINU_D, amo<u64, minu<u64>>);
  t.set(Op::AMOMAXU_W, amo<u32, maxu<u32>>), t.set(Op::AMOMAXU_D, amo<u64, maxu<u64>>);
}

}  // namespace torchsim::iss
