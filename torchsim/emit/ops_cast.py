"""Conversions between element types, as torch's CPU copy converts.

Float to integer follows x86-64: through i32 (i64 for i64), truncated toward zero, the most negative value when out of range or NaN,
then wrapped to narrower types. Conversions to and from 16-bit floats pass through f32.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect import rvv
from torchsim.dialect.build import binary, compare_floats, compare_integers, single, splat
from torchsim.emit.registers import integer_vector, is_unsigned, register_vector, round_to_bf16
from torchsim.emit.site import choose
from torchsim.errors import UnsupportedError
from torchsim.plan.dtypes import DType


def cast(value: ir.Value, source: DType, target: DType) -> ir.Value:
    """Convert a register vector of ``source`` to one of ``target``."""
    if source is target:
        return value
    if target is DType.BOOL:
        zero = splat(0, value.type)
        return compare_floats("une", value, zero) if source.is_float else compare_integers("ne", value, zero)
    if source.is_float:
        return _float_to_float(value, source, target) if target.is_float else _float_to_int(value, source, target)
    return _int_to_float(value, source, target) if target.is_float else _int_to_int(value, source, target)


def cast_bits(source: DType, target: DType) -> int:
    """Widest element inside a conversion."""
    return 32 if source.is_half or target.is_half or source.is_float and not target.is_float else 0


def bitcast(value: ir.Value, source: DType, target: DType) -> ir.Value:
    """The same bits as another type of the same width.

    Raises:
        UnsupportedError: the widths differ.
    """
    if source.bytes != target.bytes:
        raise UnsupportedError(
            f"bitcast from {source.value} to {target.value}", expected="types of one width", hint="view both tensors as bytes"
        )
    width = value.type.shape[0]
    if source is target:
        return value
    bits = integer_vector(source.bytes * 8, width)
    if source is DType.BOOL:
        raw = single("arith.extui", bits, [value])
    elif source is DType.BF16:
        wide = integer_vector(32, width)
        raw = single("arith.trunci", bits, [binary("arith.shrui", single("arith.bitcast", wide, [value]), splat(16, wide))])
    else:
        raw = single("arith.bitcast", bits, [value]) if source.is_float else value
    if target is DType.BOOL:
        return compare_integers("ne", raw, splat(0, bits))
    if target is DType.BF16:
        wide = integer_vector(32, width)
        shifted = binary("arith.shli", single("arith.extui", wide, [raw]), splat(16, wide))
        return single("arith.bitcast", register_vector(DType.BF16, width), [shifted])
    return single("arith.bitcast", register_vector(target, width), [raw]) if target.is_float else raw


def _float_to_float(value: ir.Value, source: DType, target: DType) -> ir.Value:
    single_precision = register_vector(DType.F32, value.type.shape[0])
    if source is DType.F16:
        value = single("arith.extf", single_precision, [value])
    elif source is DType.F64:
        value = single("arith.truncf", single_precision, [value])
    if target is DType.F16:
        return single("arith.truncf", register_vector(target, value.type.shape[0]), [value])
    if target is DType.F64:
        return single("arith.extf", register_vector(target, value.type.shape[0]), [value])
    return round_to_bf16(value) if target is DType.BF16 else value


def _float_to_int(value: ir.Value, source: DType, target: DType) -> ir.Value:
    width = value.type.shape[0]
    if source is DType.F16:
        value = single("arith.extf", register_vector(DType.F32, width), [value])
    bits = 64 if target is DType.I64 else 32
    between = integer_vector(bits, width)
    limit = 2.0 ** (bits - 1)
    # fptosi is poison out of range; the saturating form is defined everywhere, and the select brings x86's result
    saturated = _saturating(value, between)
    lowest = splat(-(1 << (bits - 1)), between)
    # above the range saturation gives the largest value, below it the lowest, which is right already; NaN compares false
    converted = choose(compare_floats("olt", value, splat(limit, value.type)), saturated, lowest)
    return converted if target.bytes * 8 == bits else single("arith.trunci", integer_vector(target.bytes * 8, width), [converted])


def _saturating(value: ir.Value, result: ir.VectorType) -> ir.Value:
    converted = rvv.intrinsic("llvm.fptosi.sat", [value], result)
    assert converted is not None
    return converted


def _int_to_float(value: ir.Value, source: DType, target: DType) -> ir.Value:
    width = value.type.shape[0]
    name = "arith.uitofp" if is_unsigned(source) else "arith.sitofp"
    if target is DType.F64:
        return single(name, register_vector(target, width), [value])
    converted = single(name, register_vector(DType.F32, width), [value])
    return converted if target is DType.F32 else _float_to_float(converted, DType.F32, target)


def _int_to_int(value: ir.Value, source: DType, target: DType) -> ir.Value:
    result = register_vector(target, value.type.shape[0])
    source_bits, target_bits = 1 if source is DType.BOOL else source.bytes * 8, target.bytes * 8
    if source_bits == target_bits:
        return value
    if source_bits > target_bits:
        return single("arith.trunci", result, [value])
    return single("arith.extui" if is_unsigned(source) else "arith.extsi", result, [value])
