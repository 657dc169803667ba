"""The meaning of plan.ops in NumPy, for the plan interpreter and the direct evaluation of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchsim.errors import PlanError
from torchsim.plan.dtypes import DType
from torchsim.plan.values import Array, bitcast, cast, to_float

Function = Callable[..., Array]
_erf = np.vectorize(math.erf, otypes=[np.float64])


def _floordiv(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        mod = np.fmod(a, b)
        div = (a - mod) / b
        div = np.where((mod != 0) & ((b < 0) != (mod < 0)), div - 1, div)
        floor = np.floor(div)
        floor = np.where(div - floor > 0.5, floor + 1, floor)
        floor = np.where(div == 0, np.copysign(np.zeros_like(a), a / b), floor)
        return np.where(b == 0, a / b, floor).astype(a.dtype)
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b)).astype(a.dtype)


def _truncdiv(a: Array, b: Array) -> Array:
    safe = np.where(b == 0, 1, b).astype(a.dtype)
    floor = a // safe
    inexact = (floor * safe != a) & ((a < 0) != (safe < 0))
    return np.where(b == 0, 0, floor + inexact).astype(a.dtype)


def _mod(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        mod = np.fmod(a, b)
        return np.where((mod != 0) & ((b < 0) != (mod < 0)), mod + b, mod).astype(a.dtype)
    return np.where(b == 0, 0, a % np.where(b == 0, 1, b)).astype(a.dtype)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """One rounding for f32 and half types (f64 sum rounded to odd); f64 in extended precision."""
    if a.dtype == np.float64:
        return (a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)).astype(np.float64)
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = np.asarray(product + addend)
    part = total - product
    error = (product - (total - part)) + (addend - part)
    odd = (np.ascontiguousarray(total).view(np.int64).reshape(total.shape) & 1).astype(bool)
    move = np.isfinite(total) & (error != 0) & ~odd
    return np.where(move, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total).astype(a.dtype)


def _shift_left(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    legal = (b >= 0) & (b < bits)
    return np.where(legal, a << np.where(legal, b, 0).astype(a.dtype), 0).astype(a.dtype)


def _shift_right(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    legal = (b >= 0) & (b < bits)
    return (
        (a >> np.where(legal, b, bits - 1).astype(a.dtype))
        if a.dtype.kind == "i"
        else np.where(legal, a >> np.where(legal, b, 0).astype(a.dtype), 0).astype(a.dtype)
    )


def _maximum(a: Array, b: Array) -> Array:
    """NaN propagates and -0 < +0, as IEEE 754 maximum; NumPy leaves the order of zeros open."""
    larger = np.maximum(a, b)
    if a.dtype.kind != "f":
        return larger
    return np.where((larger == 0) & ~(np.signbit(a) & np.signbit(b)), np.abs(larger), larger).astype(a.dtype)


def _minimum(a: Array, b: Array) -> Array:
    """NaN propagates and -0 < +0, as IEEE 754 minimum."""
    return (-_maximum(-a, -b)).astype(a.dtype) if a.dtype.kind == "f" else np.minimum(a, b)


def _sign(a: Array) -> Array:
    return (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype)


def _relu(a: Array) -> Array:
    return np.where(a < 0, a.dtype.type(0), a)


def _reciprocal(a: Array) -> Array:
    return a.dtype.type(1) / a


def _rsqrt(a: Array) -> Array:
    return a.dtype.type(1) / np.sqrt(a)


def _sigmoid(a: Array) -> Array:
    one = a.dtype.type(1)
    return one / (one + _special(np.exp)(-a))


def _special(function: Callable[[Array], Array]) -> Function:
    """A special function: the double result, rounded once to the type."""
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


_FUNCTIONS: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": _floordiv, "truncdiv": _truncdiv,
    "mod": _mod, "remainder": _remainder, "neg": np.negative, "abs": np.abs, "sign": _sign, "fma": _fma, "sqrt": np.sqrt, "rsqrt": _rsqrt,
    "reciprocal": _reciprocal, "minimum": _minimum, "maximum": _maximum, "relu": _relu, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "round": np.rint, "exp": _special(np.exp), "tanh": _special(np.tanh), "erf": _special(_erf), "sin": _special(np.sin),
    "cos": _special(np.cos), "log": _special(np.log), "atan": _special(np.arctan), "sigmoid": _sigmoid, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "isnan": np.isnan, "isinf": np.isinf,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor, "logical_not": np.logical_not,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "bitwise_not": np.bitwise_not,
    "shift_left": _shift_left, "shift_right": _shift_right, "where": np.where,
}  # fmt: skip
_INTEGER_IDENTITY = ("floor", "ceil", "trunc", "round")


def apply(name: str, dtype: DType, args: Sequence[Array], types: Sequence[DType]) -> Array:
    """Result of an operation other than a leaf.

    Half types are computed in f32 and rounded once at the end.

    Raises:
        PlanError: an operation that plan.ops does not have.
    """
    if name == "cast":
        return cast(args[0], types[0], dtype)
    if name == "bitcast":
        return bitcast(args[0], types[0], dtype)
    if name not in _FUNCTIONS:
        raise PlanError(f"unknown operation {name!r}", expected="a name in torchsim.plan.ops.OPS")
    if name in _INTEGER_IDENTITY and not dtype.is_float:
        return args[0]
    wide = [arg.astype(np.float32) if kind.is_half else arg for arg, kind in zip(args, types)]
    with np.errstate(all="ignore"):
        result: Any = _FUNCTIONS[name](*wide)
    return to_float(np.asarray(result), dtype) if dtype.is_half else np.asarray(result)


def _largest(value: Array, axes: tuple[int, ...]) -> Array:
    """Maximum over axes: NaN propagates; among zeros +0 wins, whatever the order."""
    top = np.maximum.reduce(value, axis=axes, keepdims=True)
    if value.dtype.kind != "f":
        return top
    positive_zero = np.any((value == 0) & ~np.signbit(value), axis=axes, keepdims=True)
    return np.where((top == 0) & positive_zero, np.abs(top), np.where(top == 0, -np.abs(top), top)).astype(value.dtype)


def reduce(kind: str, accumulator: Array, value: Array, axes: tuple[int, ...]) -> Array:
    """combine(accumulator, value) over the axes that the accumulator has with extent 1 (NaN propagates through max and min)."""
    with np.errstate(all="ignore"):
        if kind == "max":
            partial, combine = (_largest(value, axes) if axes else value), _maximum
        elif kind == "min" and value.dtype.kind == "f":
            partial, combine = (-_largest(-value, axes) if axes else value), _minimum
        else:
            functions: dict[str, np.ufunc] = {
                "sum": np.add, "prod": np.multiply, "min": np.minimum, "any": np.logical_or, "all": np.logical_and,
            }  # fmt: skip
            combine = functions[kind]
            partial = combine.reduce(value, axis=axes, keepdims=True, dtype=value.dtype) if axes else value
        return np.asarray(combine(accumulator, partial)).astype(accumulator.dtype)
