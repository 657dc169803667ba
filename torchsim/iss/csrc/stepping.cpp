#include "stepping.hpp"

namespace torchsim::iss {
namespace {

/// Order-dependent digest of 64-bit words (oracles/spike/protocol.py documents it).
class Digest {
 public:
  void add(u64 word) {
    value_ = (value_ ^ word) * 0x9e37'79b9'7f4a'7c15u;
    value_ ^= value_ >> 29;
  }
  u64 value() const { return value_; }

 private:
  u64 value_ = 0;
};

u64 digest_registers(Core& c) {
  Digest d;
  d.add(c.pc);
  for (u64 value : c.x) d.add(value);
  for (u64 value : c.f) d.add(value);
  d.add(static_cast<u64>(c.fflags | c.frm << 5));
  d.add(static_cast<u64>(c.vxsat | c.vector.vxrm << 1));
  d.add(c.vector.vl);
  d.add(c.vector.vtype);
  const u64* file = c.vector.reg(0);
  for (unsigned lane = 0; lane < c.lanes; ++lane)
    for (std::size_t p = 0; p < std::size_t{32} * kPlanesPerRegister; ++p) d.add(file[p * c.lanes + lane]);
  return d.value();
}

u64 digest_memory(Core& c) {
  Digest d;
  for (LaneMemory* bank : {&c.memory.spad(), &c.memory.stack()})
    for (unsigned lane = 0; lane < c.lanes; ++lane)
      for (std::size_t p = 0; p < bank->bytes() / 8; ++p) d.add(bank->plane(p)[lane]);
  auto bytes = [&](const u8* from, u64 length) {
    for (u64 at = 0; at + 8 <= length; at += 8) {
      u64 word;
      std::memcpy(&word, from + at, 8);
      d.add(word);
    }
    for (u64 at = length & ~u64{7}; at < length; ++at) d.add(from[at]);
  };
  bytes(c.memory.image(), c.memory.size());
  for (const Window& window : c.dma.windows().all()) bytes(window.host, window.bytes);
  return d.value();
}

/// Whether the instruction at pc may write memory: stores, atomics, NPU instructions of custom-1.
bool may_write(Core& c) {
  const u64 offset = c.pc - c.memory.base();
  if (offset + 4 > c.memory.size()) return false;
  u32 word;
  std::memcpy(&word, c.memory.image() + offset, 4);
  const u32 major = word & 0x7f;
  if ((word & 3) == 3) return major == 0x23 || major == 0x27 || major == 0x2f || major == 0x2b;
  return (word & 1) == 0 && (word >> 13 & 7) >= 5;
}

}  // namespace

std::optional<Stop> run_steps(Core& core, u64 most, std::vector<Step>* steps) {
  u64 memory = steps ? digest_memory(core) : 0;
  while (!core.halted && core.instructions < most) {
    const u64 pc = core.pc;
    const bool writes = steps && may_write(core);
    if (std::optional<Stop> stop = core.run_one()) return stop;
    if (core.halted || !steps) continue;
    if (writes) memory = digest_memory(core);
    steps->push_back({pc, digest_registers(core), memory});
  }
  return std::nullopt;
}

}  // namespace torchsim::iss
