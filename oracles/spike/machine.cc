#include "machine.h"

#include <iostream>

namespace npu {
namespace {

// Two lines of standard C++ that name a private member: access rules do not apply to explicit instantiations.
template <class Tag, typename Tag::type Member>
struct Expose {
  friend typename Tag::type member(Tag) { return Member; }
};
struct MmuOfProcessor {
  using type = mmu_t* processor_t::*;
  friend type member(MmuOfProcessor);
};
template struct Expose<MmuOfProcessor, &processor_t::mmu>;

// Puts Spike's own register file and MMU back, on traps too: step() goes on with them.
class LaneSwap {
 public:
  explicit LaneSwap(processor_t& p) : p_(p), file_(p.VU.reg_file), mmu_(p.get_mmu()) {}
  ~LaneSwap() { set(file_, mmu_); }
  LaneSwap(const LaneSwap&) = delete;
  LaneSwap& operator=(const LaneSwap&) = delete;
  void set(void* file, mmu_t* mmu) { p_.VU.reg_file = file, p_.*member(MmuOfProcessor()) = mmu; }

 private:
  processor_t& p_;
  void* file_;
  mmu_t* mmu_;
};

constexpr reg_t kTrapVector = kImageBase;  // never run: a trap leaves user mode, which ends the kernel

}  // namespace

char* ScalarPort::addr_to_mem(reg_t address) {
  return memory_.in_image(address) ? reinterpret_cast<char*>(memory_.image.data() + (address - kImageBase)) : nullptr;
}

bool ScalarPort::reservable(reg_t address) {
  return memory_.in_image(address) || memory_.spad.contains(address) || memory_.stack.contains(address);
}

bool ScalarPort::mmio_load(reg_t address, size_t length, uint8_t* bytes) {
  for (Banks* banks : {&memory_.spad, &memory_.stack})
    if (banks->contains(address, length)) {
      std::memcpy(bytes, banks->at(0, address), length);
      return true;
    }
  return false;
}

bool ScalarPort::mmio_store(reg_t address, size_t length, const uint8_t* bytes) {
  for (Banks* banks : {&memory_.spad, &memory_.stack})
    if (banks->contains(address, length)) {
      banks->store_all(address, bytes, length);
      return true;
    }
  return false;
}

// Spike asks once per page and kind of access (its load and store TLBs are separate), so a store is seen here first.
char* LanePort::addr_to_mem(reg_t address) {
  for (Banks* banks : {&memory_.spad, &memory_.stack})
    if (banks->contains(address)) {
      if (storing_) banks->touch(address / kPage * kPage, kPage);
      return reinterpret_cast<char*>(banks->at(lane_, address));
    }
  if (storing_ || !memory_.in_image(address)) return nullptr;
  return reinterpret_cast<char*>(memory_.image.data() + (address - kImageBase));
}

Machine::Machine(const cfg_t& config, unsigned lanes, uint64_t spad_bytes, uint64_t sa_queue_rows)
    : Parts(config, lanes, spad_bytes),
      processor_t(config.isa, config.priv, &config, &scalar_port, 0, false, nullptr, std::cerr),
      dma(memory),
      array(lanes, sa_queue_rows),
      decode_port_(config, memory),
      pristine_(config.isa, config.priv, &config, &decode_port_, 0, false, nullptr, std::cerr) {
  lane_files_.assign(lanes, std::vector<uint8_t>(NVPR * VU.vlenb));
  files_.resize(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    lane_ports_.push_back(std::make_unique<LanePort>(config, memory, lane, storing_));
    lane_mmus_.push_back(std::make_unique<mmu_t>(lane_ports_.back().get(), endianness_little, this, config.cache_blocksz));
  }
}

void Machine::start(bool late) {
  reset();
  get_mmu()->yield_load_reservation();
  get_mmu()->flush_tlb();  // flushes the instruction cache too
  for (auto& mmu : lane_mmus_) mmu->flush_tlb();
  memory.stack.clear();
  for (auto& file : lane_files_) std::fill(file.begin(), file.end(), 0);
  for (unsigned lane = 0; lane < lanes(); ++lane) files_[lane] = lane ? lane_files_[lane].data() : static_cast<uint8_t*>(VU.reg_file);
  dma.reset(late);
  array.reset();
  lane_ = -1, cause_ = nullptr;
}

Outcome Machine::run(uint64_t entry, uint64_t argument_block, uint64_t return_address, bool late, uint64_t limit,
                     std::vector<Trace>* trace) {
  start(late);
  state_t& state = *get_state();
  state.mtvec->write(kTrapVector);
  state.mstatus->write(state.mstatus->read() | MSTATUS_FS | MSTATUS_VS | MSTATUS_TW);  // TW: wfi is illegal in user mode
  state.XPR.write(1, return_address);
  state.XPR.write(2, kStackBase + kStackBytes);
  state.XPR.write(10, argument_block);
  state.pc = entry;
  set_privilege(PRV_U, false);
  const uint64_t before = state.minstret->read();
  uint64_t retired = 0;
  if (trace) {
    run_traced(limit, *trace);
    retired = trace->size();
  }
  while (!trace && state.prv == PRV_U && retired < limit) {
    step(limit - retired);  // returns early on a trap
    const uint64_t now = state.minstret->read() - before;
    if (now == retired && state.prv == PRV_U) break;
    retired = now;
  }
  if (state.prv == PRV_U) return {"instruction_limit", state.pc, limit, -1, retired};
  return report(retired);
}

Outcome Machine::report(uint64_t retired) {
  state_t& state = *get_state();
  Outcome outcome{"", state.mepc->read(), state.mtval->read(), lane_, retired};
  switch (state.mcause->read()) {
    case CAUSE_BREAKPOINT:
      try {
        dma.finish();
      } catch (const Fault& fault) {
        outcome.trap = fault.cause, outcome.tval = fault.value;
      }
      break;
    case CAUSE_ILLEGAL_INSTRUCTION:
      outcome.trap = cause_ ? cause_ : "illegal_instruction";
      break;
    case CAUSE_MISALIGNED_FETCH:
    case CAUSE_MISALIGNED_LOAD:
    case CAUSE_MISALIGNED_STORE:
      outcome.trap = "misaligned_access";
      break;
    case CAUSE_FETCH_ACCESS:
      outcome.trap = cause_of_access(outcome.tval, true, false);
      break;
    case CAUSE_LOAD_ACCESS:
      outcome.trap = cause_of_access(outcome.tval, false, false);
      break;
    case CAUSE_STORE_ACCESS:
      outcome.trap = cause_of_access(outcome.tval, false, true);
      break;
    case CAUSE_USER_ECALL:
      outcome.trap = "ecall";
      break;
    default:
      outcome.trap = "spike_cause_" + std::to_string(state.mcause->read());
  }
  return outcome;
}

const char* Machine::cause_of_access(reg_t address, bool fetch, bool store) const {
  if (memory.in_image(address) && store && lane_ >= 0) return "vector_store_to_image";
  if (fetch || address - kImageBase < kImageSpan) return "image_out_of_range";  // only the image holds code
  if (address >= kTensorBase) return "tensor_access_without_dma";
  if (address - (kStackBase - kStackGuard) < kStackBytes + 2 * kStackGuard) return "stack_overflow";
  if (address - kSpadBase < kStackBase - kSpadBase) return "scratchpad_out_of_range";
  return "unmapped_address";
}

void Machine::trap(const Fault& fault) {
  cause_ = fault.cause;
  throw trap_illegal_instruction(fault.value);
}

insn_func_t Machine::stock_function(uint32_t encoding) {
  Decoded& entry = decoded_[(encoding ^ encoding >> 12 ^ encoding >> 20) % decoded_.size()];
  if (!entry.function || entry.encoding != encoding) {
    decode_port_.set(encoding);
    entry = {encoding, pristine_.get_mmu()->load_insn(DecodePort::kAddress).func};
  }
  return entry.function;
}

// Lane 0 comes last: its vmv.x.s, vfmv.f.s, vcpop.m or vfirst.m result is the one that stays.
reg_t Machine::on_lanes(insn_t insn, reg_t pc, bool memory_access) {
  const insn_func_t function = stock_function(static_cast<uint32_t>(insn.bits()));
  const reg_t vstart = VU.vstart->read();  // stock Spike zeroes it at the end of every vector instruction
  storing_ = memory_access && (insn.bits() & 0x7f) == 0x27;
  LaneSwap swap(*this);
  mmu_t* const scalar_mmu = get_mmu();
  for (lane_ = lanes() - 1;; --lane_) {
    swap.set(files_[lane_], memory_access ? lane_mmus_[lane_].get() : scalar_mmu);
    if (vstart) VU.vstart->write_raw(vstart);
    pc = lane_ ? (function(this, insn, pc), pc) : function(this, insn, pc);
    if (lane_ == 0) break;
  }
  lane_ = -1;
  return pc;
}

}  // namespace npu
