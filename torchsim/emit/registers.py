"""How element types live in vector registers and in memory.

bf16 has no instructions: a register holds its value widened to f32 (low 16 bits zero), memory holds the 16 bits. bool is a mask
(i1) in registers and a byte in memory, because masks cannot be stored per element.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect.build import binary, compare_floats, compare_integers, single, splat
from torchsim.dialect.rvv import vector
from torchsim.plan.dtypes import DType

_FLOATS = {DType.F64: "f64", DType.F32: "f32", DType.F16: "f16", DType.BF16: "f32"}
QUIET_NAN_F32 = 0x7FC0_0000


def register_bits(dtype: DType) -> int:
    """Width of an element in a register; masks count as one byte, what they are widened to."""
    return 32 if dtype is DType.BF16 else dtype.bytes * 8


def register_element(dtype: DType) -> ir.Type:
    """Element type in registers."""
    if dtype.is_float:
        return ir.Type.parse(_FLOATS[dtype])
    return ir.IntegerType.get_signless(1 if dtype is DType.BOOL else dtype.bytes * 8)


def memory_element(dtype: DType) -> ir.Type:
    """Element type in the scratchpad."""
    if dtype.is_float and dtype is not DType.BF16:
        return register_element(dtype)
    return ir.IntegerType.get_signless(dtype.bytes * 8)


def register_vector(dtype: DType, width: int) -> ir.VectorType:
    """Vector type in registers."""
    return vector(width, register_element(dtype))


def integer_vector(bits: int, width: int) -> ir.VectorType:
    """Vector of signless integers."""
    return vector(width, ir.IntegerType.get_signless(bits))


def is_unsigned(dtype: DType) -> bool:
    """Whether integers compare, divide, shift and extend without a sign."""
    return dtype in (DType.U8, DType.BOOL)


def from_memory(value: ir.Value, dtype: DType) -> ir.Value:
    """A loaded vector as registers hold it."""
    width = value.type.shape[0]
    if dtype is DType.BOOL:
        return compare_integers("ne", value, splat(0, value.type))
    if dtype is DType.BF16:
        wide = integer_vector(32, width)
        bits = binary("arith.shli", single("arith.extui", wide, [value]), splat(16, wide))
        return single("arith.bitcast", register_vector(DType.F32, width), [bits])
    return value


def to_memory(value: ir.Value, dtype: DType) -> ir.Value:
    """A register vector as memory holds it; a bf16 register must already be rounded."""
    width = value.type.shape[0]
    if dtype is DType.BOOL:
        return single("arith.extui", integer_vector(8, width), [value])
    if dtype is DType.BF16:
        wide = integer_vector(32, width)
        bits = binary("arith.shrui", single("arith.bitcast", wide, [value]), splat(16, wide))
        return single("arith.trunci", integer_vector(16, width), [bits])
    return value


def round_to_bf16(value: ir.Value) -> ir.Value:
    """Round an f32 vector to bf16 (nearest even, NaN canonical), still held as f32."""
    wide = integer_vector(32, value.type.shape[0])
    bits = single("arith.bitcast", wide, [value])
    odd = binary("arith.andi", binary("arith.shrui", bits, splat(16, wide)), splat(1, wide))
    rounded = binary("arith.addi", binary("arith.addi", bits, splat(0x7FFF, wide)), odd)
    kept = binary("arith.andi", rounded, splat(-0x10000, wide))
    is_nan = compare_floats("uno", value, value)
    chosen = single("arith.select", wide, [is_nan, splat(QUIET_NAN_F32, wide), kept])
    return single("arith.bitcast", value.type, [chosen])
