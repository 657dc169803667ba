"""Builds the op list of one body: operand types are brought together, equal ops are shared, half constants stay exact."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from torchsim.inductor.analysis.body import RawLoad, RawOp
from torchsim.inductor.analysis.expr import Expr
from torchsim.inductor.analysis.types import promote
from torchsim.plan.dtypes import DType
from torchsim.plan.ops import OPS

Number = int | float | bool

FLOAT_ONLY = frozenset(("exp", "tanh", "erf", "sin", "cos", "log", "atan", "sigmoid", "sqrt", "rsqrt", "reciprocal", "truediv"))
"""Ops that make no sense on integers: integer operands are converted to f32 first (C-3)."""

_WIDE_CONSTANT = frozenset(("mul", "truediv"))
"""Ops whose Python number eager keeps in f32 beside a half operand; in all others (add, compares, ..) it is rounded first."""


@dataclass(frozen=True, slots=True)
class Value:
    """Result of an op: its position and type; ``constant`` when it is a number."""

    op: int
    dtype: DType
    constant: Number | None = None


class BodyBuilder:
    """Grows ``ops``; every method returns the Value of the op it added (or of an equal earlier one)."""

    def __init__(self) -> None:
        self.ops: list[RawOp] = []
        self._known: dict[Any, int] = {}

    def emit(self, name: str, dtype: DType, args: tuple[int, ...] = (), attribute: RawLoad | Expr | Number | None = None) -> Value:
        """Append one op as it is."""
        key = (name, dtype, args, repr(attribute), type(attribute))
        position = self._known.get(key)
        if position is None:
            position = self._known[key] = len(self.ops)
            self.ops.append(RawOp(name, dtype, args, attribute))
        return Value(position, dtype)

    def constant(self, number: Number, dtype: DType) -> Value:
        """A number of the given type."""
        if dtype is DType.BOOL:
            number = bool(number)
        elif dtype.is_float:
            number = float(number)
        else:
            number = _wrap(int(number), dtype)
        emitted = self.emit("constant", dtype, (), number)
        return Value(emitted.op, dtype, number)

    def cast(self, value: Value, dtype: DType) -> Value:
        """Conversion with torch's rules; nothing when the type is right already."""
        if value.dtype is dtype:
            return value
        if value.constant is not None and not (value.dtype.is_float and not dtype.is_float):
            return self.constant(value.constant, dtype)
        return self.emit("cast", dtype, (value.op,))

    def unify(self, *values: Value) -> tuple[Value, ...]:
        """Operands in one type: a constant follows the others, otherwise torch's promotion."""
        free = [value for value in values if value.constant is None] or list(values)
        dtype = free[0].dtype
        for value in free[1:]:
            dtype = promote(dtype, value.dtype)
        for value in values:
            if value.constant is not None and value.dtype.is_float and not dtype.is_float:
                dtype = promote(dtype, value.dtype)
        return tuple(self.cast(value, dtype) for value in values)

    def op(self, name: str, *values: Value) -> Value:
        """An op of the vocabulary on operands of any types: unified, result by the op's rule."""
        if name == "where":
            condition, left, right = values[0], *self.unify(*values[1:])
            return self.emit("where", left.dtype, (self.as_bool(condition).op, left.op, right.op))
        operands = self.unify(*values)
        if name in FLOAT_ONLY and not operands[0].dtype.is_float:
            operands = tuple(self.cast(value, DType.F32) for value in operands)
        dtype = operands[0].dtype
        if dtype.is_half and name in _WIDE_CONSTANT and any(not _exact(value) for value in operands):
            return self.cast(self.op(name, *(self.cast(value, DType.F32) for value in operands)), dtype)
        result = DType.BOOL if OPS[name].result == "bool" else dtype
        return self.emit(name, result, tuple(value.op for value in operands))

    def as_bool(self, value: Value) -> Value:
        """Truth value: != 0."""
        return self.cast(value, DType.BOOL)


def _exact(value: Value) -> bool:
    """Whether a constant is representable in its half type (non-constants are)."""
    if value.constant is None:
        return True
    number = float(value.constant)
    if number != number or number in (float("inf"), float("-inf")):
        return True
    if value.dtype is DType.F16:
        try:
            return struct.unpack("e", struct.pack("e", number))[0] == number
        except OverflowError:
            return False
    try:
        single = struct.pack("<f", number)
    except OverflowError:
        return False
    return struct.unpack("<f", single)[0] == number and single[:2] == b"\0\0"


def _wrap(number: int, dtype: DType) -> int:
    """Two's complement wrap into an integer type."""
    bits = 8 * dtype.bytes
    number &= (1 << bits) - 1
    return number - (1 << bits) if dtype is not DType.U8 and number >> (bits - 1) else number
