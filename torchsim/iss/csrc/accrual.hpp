// What instructions add to fflags and vxsat.
//
// The flags are worked out element by element from the operands, apart from the results, and only in images that can look at them
// (Core::start): everything else runs the bare handlers. docs/isa.md section 1 has the rule.
#pragma once
#include <span>

#include "insn.hpp"

namespace torchsim::iss {

/// Bit of an accrual beside the five of fflags.
constexpr u8 kSaturated = 0x20;

/// Whether an instruction of this kind can raise a flag at all.
bool accrues(Op op);
/// Handler for such instructions: runs the bare one and adds the flags to the state.
void run_accruing(Core& core, const Insn& insn);
/// Whether an image holds, at any place where an instruction may start, one that reads fflags, fcsr, vxsat or vcsr.
bool observes_flags(std::span<const u8> image);

}  // namespace torchsim::iss
