// Seeded faults, for tests of the tests: one instruction of the table behaves as a real bug would make it behave.
//
// Core::prepare gives an instruction at fault another handler when it is decoded; nothing else in the simulator knows of faults, so they
// cost nothing when there is none.
#pragma once
#include <optional>
#include <string_view>

#include "insn.hpp"

namespace torchsim::iss {

enum class FaultKind : u8 {
  decode_as,        // decoded as `sibling`
  rounding,         // mode amount / 8 rounds as mode amount % 8 (rm or frm; vxrm for fixed point)
  tail,             // elements from vl on (from `amount` on if not 0) are overwritten with ones
  masked_off,       // masked-off elements are overwritten with ones
  mask_inverted,    // v0 is read with the opposite polarity
  mask_ignored,     // a masked instruction runs unmasked
  length,           // vl is off by `amount`
  sew,              // log2 of SEW is off by `amount`
  immediate,        // the immediate is off by `amount`
  rs1,              // the value of x[rs1] is off by `amount`
  rs2,              // the value of x[rs2] is off by `amount`
  swapped,          // first and second source exchanged
  flags_dropped,    // the flags in `amount` (bit 5: vxsat) are not raised
  zero_extended,    // x[rd] is zero-extended from `amount` bits
  sign_extended,    // x[rd] is sign-extended from `amount` bits
  nan_payload,      // a NaN result is not the canonical one
  zero_sign,        // a result of -0 is +0
  flushed,          // subnormal results are zero
  unboxed,          // a narrow float result leaves the upper bits of f[rd] zero
  boxing_ignored,   // narrow float operands are taken from the low bits whether boxed or not
  last_lane,        // the last lane's vector registers and scratchpad stay as they were
  lanes_exchanged,  // lanes 0 and 1 of vs2 exchanged
  count
};

/// What the destination's elements are.
enum class FaultTarget : u8 { none, sew, twice_sew, mask, bits8, bits16, bits32, bits64 };

struct Fault {
  Op op;  // of 2 or 4 bytes; of the word as fetched
  FaultKind kind;
  Op sibling;
  i64 amount;
  FaultTarget target;
};

/// Kind, operation or target of this name, if there is one.
std::optional<FaultKind> fault_kind(std::string_view name);
std::optional<Op> operation(std::string_view name);
std::optional<FaultTarget> fault_target(std::string_view name);

/// The instruction that a decoder with this fault makes of a word: the right one with a handler that runs it wrongly, or another one.
Insn with_fault(const Fault& fault, u32 fetched, const Insn& decoded);
/// Handler of instructions at fault.
void run_faulty(Core& core, const Insn& insn);

}  // namespace torchsim::iss
