// Lock-step: the state after every instruction as digests, and all registers as words (protocol.py describes both).
#include "machine.h"

namespace npu {
namespace {

uint64_t mix(uint64_t digest, uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
  return digest ^ digest >> 29;
}

uint64_t mix(uint64_t digest, const uint8_t* bytes, uint64_t length) {
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    digest = mix(digest, word);
  }
  for (; length; ++bytes, --length) digest = mix(digest, *bytes);
  return digest;
}

// Stores, atomics and custom-1 by major opcode; the compressed stores by quadrant and funct3.
bool may_write(const Memory& memory, uint64_t pc) {
  const uint64_t offset = pc - kImageBase;
  if (offset + 4 > memory.image_bytes) return false;
  uint32_t word;
  std::memcpy(&word, memory.image.data() + offset, 4);
  if ((word & 3) != 3) return (word & 1) == 0 && (word >> 13 & 7) >= 5;
  switch (word & 0x7f) {
    case 0x23:  // store
    case 0x27:  // float and vector store
    case 0x2f:  // atomics
    case 0x2b:  // custom-1
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<uint64_t> Machine::registers() {
  state_t& state = *get_state();
  std::vector<uint64_t> words{state.prv == PRV_U ? state.pc : state.mepc->read()};
  for (unsigned r = 0; r < 32; ++r) words.push_back(state.XPR[r]);
  for (unsigned r = 0; r < 32; ++r) words.push_back(state.FPR[r].v[0]);
  words.push_back(state.fflags->read() | state.frm->read() << 5);
  words.push_back(VU.vxsat->read() | VU.vxrm->read() << 1);
  words.push_back(VU.vl->read());
  words.push_back(VU.vtype->read());
  for (unsigned lane = 0; lane < lanes(); ++lane)
    for (unsigned at = 0; at < 32 * VU.vlenb; at += 8) {
      uint64_t word;
      std::memcpy(&word, files_[lane] + at, 8);
      words.push_back(word);
    }
  return words;
}

uint64_t Machine::memory_digest() {
  uint64_t digest = 0;
  for (Banks* banks : {&memory.spad, &memory.stack})
    for (unsigned lane = 0; lane < lanes(); ++lane) digest = mix(digest, banks->at(lane, banks->base()), banks->bytes());
  digest = mix(digest, memory.image.data(), memory.image_bytes);
  for (const Window& window : memory.windows) digest = mix(digest, window.bytes.data(), window.bytes.size());
  return digest;
}

void Machine::run_traced(uint64_t limit, std::vector<Trace>& trace) {
  state_t& state = *get_state();
  uint64_t digest = memory_digest();
  while (state.prv == PRV_U && trace.size() < limit) {
    const uint64_t pc = state.pc;
    const bool writes = may_write(memory, pc);
    step(1);
    if (state.prv != PRV_U) return;  // trapped: not retired
    if (writes) digest = memory_digest();
    uint64_t all = 0;
    for (uint64_t word : registers()) all = mix(all, word);
    trace.push_back({pc, all, digest});
  }
}

}  // namespace npu
