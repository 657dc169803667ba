"""The VCIX intrinsics of the NPU instructions; encodings come from the instruction table.

The plain form is pure for LLVM (merged, hoisted, dropped when unused): special functions and the lane number. The ``.se`` form keeps its
order against all memory accesses: the systolic array.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect import rvv
from torchsim.dialect.build import constant
from torchsim.errors import InternalError
from torchsim.target.isa.table import BY_NAME

MAX_BITS = 2048


def fields(instruction: str) -> tuple[int, int]:
    """(opcode, immediate) of a VCIX instruction of the table."""
    match = BY_NAME[instruction].match
    return match >> 26 & 3, match >> 15 & 31


def unary(instruction: str, value: ir.Value) -> ir.Value:
    """A pure function of one vector, e.g. ``npu.exp``."""
    wide = _checked(rvv.widen(value))
    opcode, immediate = fields(instruction)
    operands = [constant(opcode), wide, constant(immediate), constant(value.type.shape[0])]
    result = rvv.intrinsic("llvm.riscv.sf.vc.v.iv", operands, wide.type)
    assert result is not None
    return rvv.narrow(result, value.type.shape[0])


def lane_index(of: ir.VectorType) -> ir.Value:
    """The lane number in every element."""
    count = of.shape[0]
    opcode, immediate = fields("npu.lane_index")
    wide = rvv.vector(rvv.power_of_two(count), of.element_type)
    result = rvv.intrinsic("llvm.riscv.sf.vc.v.i", [constant(opcode), constant(0), constant(immediate), constant(count)], wide)
    assert result is not None
    return rvv.narrow(_checked(result), count)


def push(instruction: str, value: ir.Value, count: int) -> None:
    """``npu.input_push`` or ``npu.weight_push`` of the first ``count`` elements."""
    opcode, immediate = fields(instruction)
    operands = [constant(opcode), constant(0), _checked(rvv.widen(value)), constant(immediate), constant(count)]
    rvv.intrinsic("llvm.riscv.sf.vc.iv.se", operands)


def compute() -> None:
    """Run the array on all queued rows."""
    opcode, immediate = fields("npu.compute")
    element_width, log2_lmul, length = 32, 0, 8
    operands = [opcode, 0, 0, immediate, element_width, log2_lmul, length]
    rvv.intrinsic("llvm.riscv.sf.vc.i.se", [constant(one) for one in operands])


def pop(count: int, width: int) -> ir.Value:
    """The ``count`` oldest results in a vector of ``width`` f32."""
    opcode, immediate = fields("npu.pop")
    wide = rvv.vector(rvv.power_of_two(width), ir.F32Type.get())
    result = rvv.intrinsic("llvm.riscv.sf.vc.v.i.se", [constant(opcode), constant(0), constant(immediate), constant(count)], wide)
    assert result is not None
    return rvv.narrow(_checked(result), width)


def _checked(value: ir.Value) -> ir.Value:
    bits = value.type.shape[0] * value.type.element_type.width
    if bits > MAX_BITS:
        raise InternalError("a vector is too wide for a custom instruction", expected=f"at most {MAX_BITS} bits", found=f"{value.type}")
    return value
