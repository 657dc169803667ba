// One decoded instruction, as the run loop and the handlers see it.
#pragma once
#include "address_map.hpp"
#include "isa_table.h"  // generated from torchsim/target/isa

namespace torchsim::iss {

using npu::isa::Cost;
using npu::isa::Op;

class Core;
struct Insn;
using Handler = void (*)(Core&, const Insn&);

/// Which registers an instruction reads and writes; bits of Insn::uses. The scoreboard alone looks at them.
enum Use : u16 {
  kReadX1 = 1 << 0,
  kReadX2 = 1 << 1,
  kReadF1 = 1 << 2,
  kReadF2 = 1 << 3,
  kReadF3 = 1 << 4,
  kReadV1 = 1 << 5,
  kReadV2 = 1 << 6,
  kReadVd = 1 << 7,
  kReadMask = 1 << 8,
  kWriteX = 1 << 9,
  kWriteF = 1 << 10,
  kWriteV = 1 << 11,
  kWideDest = 1 << 12,
  kWideSource = 1 << 13,  // destination, vs2 have twice the element width
};

/// What an instruction counts as: scalar, vector with array and special functions, DMA with configuration, waits and block marks.
enum class Kind : u8 { scalar, vector, dma };

/// Second operand of a vector instruction.
enum class Form : u8 { none, vector, scalar, immediate, floating };

struct Insn {
  Handler handler = nullptr;  // null: not decoded yet
  u32 fetched = 0;            // the 32 bits at pc when it was decoded; compared at each fetch, so stores to code are seen
  u32 word = 0;               // 32-bit form
  i32 imm = 0;                // immediate operand, sign- or zero-extended as its format says
  u8 rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
  u8 size = 0;           // bytes: 2 or 4
  u8 sub = 0;            // which operation of its handler's family (Bin, Tern, width, ...)
  bool unmasked = true;  // vm
  Form form = Form::none;
  Op op = Op::ILLEGAL;
  Cost cost = Cost::SYSTEM;
  Kind kind = Kind::scalar;
  u16 uses = 0;
};

/// Handler and sub-operation of each Op.
struct HandlerEntry {
  Handler handler = nullptr;
  u8 sub = 0;
};

/// Decode the instruction whose first 32 bits (zero-padded at the end of the image) are `fetched`. Never fails: words that
/// are no instruction get a handler that traps.
Insn decode(u32 fetched);

}  // namespace torchsim::iss
