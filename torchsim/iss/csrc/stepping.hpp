// Step by step: a digest of the state after every instruction, to be compared with another machine's.
#pragma once
#include <optional>
#include <vector>

#include "core.hpp"

namespace torchsim::iss {

/// After one instruction: its address, digest of all registers and of the next address, digest of all memory (of the last instruction
/// that may have written some).
struct Step {
  u64 pc, registers, memory;
};

/// Run on until the kernel ends, traps or has retired `most` instructions in all; append to *steps unless it is null.
std::optional<Stop> run_steps(Core& core, u64 most, std::vector<Step>* steps);

}  // namespace torchsim::iss
