"""All op emitters by name, and the treatment of half types around them. The leaves (load, constant, index, in_range) are in ``body``."""

from __future__ import annotations

from collections.abc import Sequence

from torchsim._mlir import ir
from torchsim.dialect.build import single
from torchsim.emit import ops_arith, ops_divide, ops_logic, ops_special
from torchsim.emit.ops_cast import bitcast, cast, cast_bits
from torchsim.emit.registers import register_bits, register_vector, round_to_bf16
from torchsim.emit.site import Half, OpEmitter, Site
from torchsim.errors import UnsupportedError
from torchsim.plan.dtypes import DType
from torchsim.plan.model import BlockOp

EMITTERS: dict[str, OpEmitter] = {**ops_arith.EMITTERS, **ops_special.EMITTERS, **ops_logic.EMITTERS, **ops_divide.EMITTERS}
CONVERSIONS = ("cast", "bitcast")
_FLOAT_ONLY = ("truediv", "sqrt", "rsqrt", "reciprocal", *ops_special.EMITTERS)
_INTEGER_ONLY = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right")


def emit_op(op: BlockOp, args: Sequence[ir.Value], types: Sequence[DType], width: int) -> ir.Value:
    """One op of a body on register vectors of ``width`` elements; ``types``: of the arguments.

    Raises:
        UnsupportedError: the op is unknown or has no form for the types.
    """
    if op.name == "cast":
        return cast(args[0], types[0], op.dtype)
    if op.name == "bitcast":
        return bitcast(args[0], types[0], op.dtype)
    emitter = EMITTERS.get(op.name)
    if emitter is None:
        raise UnsupportedError(f"no code for op {op.name!r}", expected=f"one of {', '.join(sorted(EMITTERS))}", found=op.name)
    dtype = types[-1]  # the first argument of ``where`` is bool, the last one has the op's type
    _check(op.name, dtype)
    computed = _computed(dtype, emitter.half)
    if computed is not dtype:
        args = [_extend(arg, of, width) for arg, of in zip(args, types)]
    result = _computed(op.dtype, emitter.half)
    value = emitter.emit(Site(tuple(args), computed, result, width))
    if op.dtype is DType.BF16:
        return value if emitter.half is Half.EXACT else round_to_bf16(value)
    if result is not op.dtype:
        return single("arith.truncf", register_vector(op.dtype, width), [value])
    return value


def widest_bits(op: BlockOp, types: Sequence[DType]) -> int:
    """Widest register element that an op uses, for the choice of vector length."""
    bits = [register_bits(dtype) for dtype in (op.dtype, *types)]
    if op.name == "cast":
        bits.append(cast_bits(types[0], op.dtype))
    emitter = EMITTERS.get(op.name)
    if emitter is not None:
        bits.append(emitter.scratch_bits(types[-1]))
        bits.append(register_bits(_computed(types[-1], emitter.half)))
    return max(bits)


def _computed(dtype: DType, half: Half) -> DType:
    if dtype is DType.BF16 or dtype is DType.F16 and half is Half.WIDEN:
        return DType.F32
    return dtype


def _extend(value: ir.Value, dtype: DType, width: int) -> ir.Value:
    return single("arith.extf", register_vector(DType.F32, width), [value]) if dtype is DType.F16 else value


def _check(name: str, dtype: DType) -> None:
    if name in _FLOAT_ONLY and not dtype.is_float or name in _INTEGER_ONLY and dtype.is_float:
        kind = "floating point" if name in _FLOAT_ONLY else "integer or bool"
        raise UnsupportedError(
            f"op {name!r} on {dtype.value}", expected=f"{kind} arguments", found=dtype.value, hint="cast the arguments first"
        )
