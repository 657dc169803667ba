// One lane NPU on stock Spike: a processor_t whose vector instructions run once per lane.
#pragma once

#include <riscv/cfg.h>
#include <riscv/extension.h>
#include <riscv/mmu.h>
#include <riscv/processor.h>
#include <riscv/simif.h>

#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "array.h"
#include "dma.h"
#include "memory.h"

namespace npu {

// What simif_t asks for beside memory; a port adds the memory map.
class Port : public simif_t {
 public:
  Port(const cfg_t& config, Memory& memory) : memory_(memory), config_(config) { debug_mmu = nullptr; }
  bool mmio_fetch(reg_t, size_t, uint8_t*) override { return false; }
  bool mmio_load(reg_t, size_t, uint8_t*) override { return false; }
  bool mmio_store(reg_t, size_t, const uint8_t*) override { return false; }
  void proc_reset(unsigned) override {}
  const cfg_t& get_cfg() const override { return config_; }
  const std::map<size_t, processor_t*>& get_harts() const override { return harts_; }
  const char* get_symbol(uint64_t) override { return nullptr; }

 protected:
  Memory& memory_;

 private:
  const cfg_t& config_;
  std::map<size_t, processor_t*> harts_;
};

// The scalar pipeline: image as plain memory; scratchpad and stack read lane 0 and write all lanes.
class ScalarPort : public Port {
 public:
  using Port::Port;
  char* addr_to_mem(reg_t address) override;
  bool reservable(reg_t address) override;
  bool mmio_load(reg_t address, size_t length, uint8_t* bytes) override;
  bool mmio_store(reg_t address, size_t length, const uint8_t* bytes) override;
};

// One lane: its own scratchpad and stack bank, and the image for loads.
class LanePort : public Port {
 public:
  LanePort(const cfg_t& config, Memory& memory, unsigned lane, const bool& storing)
      : Port(config, memory), lane_(lane), storing_(storing) {}
  char* addr_to_mem(reg_t address) override;

 private:
  unsigned lane_;
  const bool& storing_;
};

// A page of its own that holds one encoding: where the pristine processor is asked what an encoding means.
class DecodePort : public Port {
 public:
  static constexpr reg_t kAddress = 0x1000;
  using Port::Port;
  char* addr_to_mem(reg_t address) override { return address / kPage == kAddress / kPage ? page_ + address % kPage : nullptr; }
  void set(uint32_t encoding) { std::memcpy(page_, &encoding, sizeof encoding); }

 private:
  alignas(8) char page_[kPage] = {};
};

struct Outcome {
  std::string trap;   // a name of docs/isa.md section 6; empty: the kernel ended at an ebreak
  uint64_t pc = 0;    // of the instruction that trapped or of the ebreak
  uint64_t tval = 0;  // faulting address or encoding
  int64_t lane = -1;  // lane of a vector access that trapped
  uint64_t instructions = 0;
};

// State after one instruction, as digests: all registers with the next pc, and all memory (of the last possible writer).
struct Trace {
  uint64_t pc, registers, memory;
};

// Base of Machine that is built before processor_t, which wants its memory at construction.
struct Parts {
  Parts(const cfg_t& config, unsigned lanes, uint64_t spad_bytes) : memory(lanes, spad_bytes), scalar_port(config, memory) {}
  Memory memory;
  ScalarPort scalar_port;
};

class Machine : public Parts, public processor_t {
 public:
  Machine(const cfg_t& config, unsigned lanes, uint64_t spad_bytes, uint64_t sa_queue_rows);

  // Runs from entry to an ebreak, a trap or the limit; memory holds image and windows already. With a trace, one instruction at a time.
  Outcome run(uint64_t entry, uint64_t argument_block, uint64_t return_address, bool late, uint64_t limit, std::vector<Trace>* trace);
  // pc, x and f registers, fcsr, vcsr, vl, vtype, then the vector registers lane by lane.
  std::vector<uint64_t> registers();

  static Machine& of(processor_t* p) { return *static_cast<Machine*>(p); }
  [[noreturn]] void trap(const Fault& fault);
  reg_t on_lanes(insn_t insn, reg_t pc, bool memory_access);
  unsigned lanes() const { return static_cast<unsigned>(files_.size()); }
  uint8_t* vector_register(unsigned lane, unsigned reg) { return files_[lane] + reg * VU.vlenb; }

  Dma dma;
  Array array;

 private:
  void start(bool late);
  void run_traced(uint64_t limit, std::vector<Trace>& trace);
  uint64_t memory_digest();
  insn_func_t stock_function(uint32_t encoding);
  Outcome report(uint64_t retired);
  const char* cause_of_access(reg_t address, bool fetch, bool store) const;

  struct Decoded {
    uint32_t encoding = 0;
    insn_func_t function = nullptr;
  };
  DecodePort decode_port_;
  processor_t pristine_;  // has no extension: knows what stock Spike runs for an encoding
  std::vector<std::unique_ptr<LanePort>> lane_ports_;
  std::vector<std::unique_ptr<mmu_t>> lane_mmus_;
  std::vector<std::vector<uint8_t>> lane_files_;  // vector registers of lanes 1, 2, ..; lane 0 has Spike's own
  std::vector<uint8_t*> files_;
  std::array<Decoded, 8192> decoded_{};
  bool storing_ = false;  // the vector access under way is a store
  int64_t lane_ = -1;     // lane whose vector instruction is under way
  const char* cause_ = nullptr;
};

// The NPU instructions, for register_extension (instructions.cc); owned by the caller.
std::unique_ptr<extension_t> make_instructions();

}  // namespace npu
