// Kinds of instructions.
#ifndef TOGSIM_OP_H
#define TOGSIM_OP_H

#include <array>
#include <cstdint>

namespace togsim {

enum class Op : uint8_t { Load, Store, Vector, Matmul, Preload, Barrier };
inline constexpr std::array<const char*, 6> kOpNames{"load", "store", "vector", "matmul", "preload", "barrier"};

// As the trace log prints it.
const char* opcode(Op op);

inline bool is_array_op(Op op) { return op == Op::Matmul || op == Op::Preload; }

}  // namespace togsim
#endif
