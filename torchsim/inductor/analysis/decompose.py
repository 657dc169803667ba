"""Inductor's pointwise ops in terms of the plan's vocabulary.

f32 and half functions without an instruction are computed in f64 from those that have one, so that the result is within one
ulp after the final rounding. In f64 itself there is no wider type to hide the error in: such a function is unsupported there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torchsim.errors import UnsupportedError
from torchsim.inductor.analysis.builder import BodyBuilder, Number, Value
from torchsim.plan.dtypes import DType

Decomposition = Callable[..., Value]


def _in_f64(name: str) -> Callable[[Decomposition], Decomposition]:
    """Compute in f64 and round once; refuse f64 input."""

    def wrap(function: Decomposition) -> Decomposition:
        def decomposed(b: BodyBuilder, *values: Value) -> Value:
            operands = b.unify(*values)
            dtype = operands[0].dtype if operands[0].dtype.is_float else DType.F32
            if dtype is DType.F64:
                raise UnsupportedError(
                    f"{name} on float64",
                    expected="float32, float16 or bfloat16",
                    found="float64",
                    where=name,
                    hint="compute it in float32, or allow fallback='cpu'",
                )
            return b.cast(function(b, *(b.cast(value, DType.F64) for value in operands)), dtype)

        return decomposed

    return wrap


def _number(b: BodyBuilder, like: Value, number: Number) -> Value:
    return b.constant(number, like.dtype)


@_in_f64("exp2")
def exp2(b: BodyBuilder, x: Value) -> Value:
    """2**x."""
    return b.op("exp", b.op("mul", x, _number(b, x, math.log(2.0))))


@_in_f64("expm1")
def expm1(b: BodyBuilder, x: Value) -> Value:
    """exp(x) - 1; the series where the subtraction cancels."""
    series = b.op("fma", b.op("mul", x, x), _number(b, x, 0.5), x)
    small = b.op("lt", b.op("abs", x), _number(b, x, 1e-5))
    return b.op("where", small, series, b.op("sub", b.op("exp", x), _number(b, x, 1.0)))


@_in_f64("log1p")
def log1p(b: BodyBuilder, x: Value) -> Value:
    """log(1 + x); the series where 1 + x loses digits."""
    series = b.op("fma", b.op("mul", x, x), _number(b, x, -0.5), x)
    small = b.op("lt", b.op("abs", x), _number(b, x, 1e-5))
    return b.op("where", small, series, b.op("log", b.op("add", x, _number(b, x, 1.0))))


def _logarithm(base: float) -> Decomposition:
    @_in_f64(f"log{base:g}")
    def log(b: BodyBuilder, x: Value) -> Value:
        return b.op("truediv", b.op("log", x), _number(b, x, math.log(base)))

    return log


@_in_f64("erfc")
def erfc(b: BodyBuilder, x: Value) -> Value:
    """1 - erf(x); beyond 2 the continued fraction of Abramowitz and Stegun 7.1.14, 24 terms (relative error below 1e-12)."""
    tail = b.op("maximum", x, _number(b, x, 2.0))
    fraction = tail
    for k in range(24, 0, -1):
        fraction = b.op("add", tail, b.op("truediv", _number(b, x, k / 2), fraction))
    gauss = b.op("exp", b.op("neg", b.op("mul", tail, tail)))
    far = b.op("truediv", gauss, b.op("mul", fraction, _number(b, x, math.sqrt(math.pi))))
    near = b.op("sub", _number(b, x, 1.0), b.op("erf", x))
    return b.op("where", b.op("gt", x, _number(b, x, 2.0)), far, near)


@_in_f64("tan")
def tan(b: BodyBuilder, x: Value) -> Value:
    """sin(x) / cos(x)."""
    return b.op("truediv", b.op("sin", x), b.op("cos", x))


def pow_(b: BodyBuilder, base: Value, exponent: Value) -> Value:
    """base ** exponent: small constant integer exponents multiply, others go through exp(y log|x|) with the special cases of C's pow."""
    if exponent.constant is not None and float(exponent.constant).is_integer() and 0 <= exponent.constant <= 32:
        return _integer_power(b, base, int(exponent.constant))
    if not base.dtype.is_float and not exponent.dtype.is_float:
        raise UnsupportedError(
            "integer power with a run-time exponent",
            expected="a constant exponent from 0 to 32",
            where="pow",
            hint="convert to floating point first",
        )
    return _general_power(b, base, exponent)


def _integer_power(b: BodyBuilder, base: Value, exponent: int) -> Value:
    if exponent == 0:
        return b.constant(1, base.dtype)
    result: Value | None = None
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is None else b.op("mul", result, square)
        exponent >>= 1
        if exponent:
            square = b.op("mul", square, square)
    assert result is not None
    return result


@_in_f64("pow")
def _general_power(b: BodyBuilder, x: Value, y: Value) -> Value:
    zero, one, nan = (_number(b, x, number) for number in (0.0, 1.0, math.nan))
    magnitude = b.op("abs", x)
    power = b.op("exp", b.op("mul", y, b.op("log", magnitude)))
    power = b.op("where", b.op("logical_or", b.op("eq", y, zero), b.op("eq", magnitude, one)), one, power)
    whole = b.op("eq", b.op("trunc", y), y)
    negative = signbit(b, x)
    finite = b.op("lt", magnitude, _number(b, x, math.inf))
    undefined = b.op("logical_and", b.op("logical_and", b.op("lt", x, zero), finite), b.op("logical_not", whole))
    odd = b.op("eq", b.op("remainder", y, _number(b, x, 2.0)), one)
    signed = b.op("where", b.op("logical_and", negative, odd), b.op("neg", power), power)
    return b.op("where", undefined, nan, signed)


def signbit(b: BodyBuilder, x: Value) -> Value:
    """Whether the sign bit is set (-0.0 and negative NaN included)."""
    if not x.dtype.is_float:
        return b.op("lt", x, b.constant(0, x.dtype))
    integer = {8: DType.I64, 4: DType.I32, 2: DType.I16}[x.dtype.bytes]
    bits = b.emit("bitcast", integer, (x.op,))
    return b.op("lt", bits, b.constant(0, integer))


def copysign(b: BodyBuilder, x: Value, sign: Value) -> Value:
    """|x| with the sign of ``sign``."""
    magnitude = b.op("abs", x)
    return b.op("where", signbit(b, sign), b.op("neg", magnitude), magnitude)


def rsqrt(b: BodyBuilder, x: Value) -> Value:
    """1 / sqrt(x); half types through f32, so that they are rounded once as in eager."""
    return b.cast(b.op("rsqrt", b.cast(x, DType.F32)), x.dtype) if x.dtype.is_half else b.op("rsqrt", x)


def square(b: BodyBuilder, x: Value) -> Value:
    """x * x."""
    return b.op("mul", x, x)


def int_truediv(b: BodyBuilder, x: Value, y: Value) -> Value:
    """True division of integers, in f32."""
    return b.op("truediv", b.cast(x, DType.F32), b.cast(y, DType.F32))


def isnan(b: BodyBuilder, x: Value) -> Value:
    """False for integers."""
    return b.op("isnan", x) if x.dtype.is_float else b.constant(False, DType.BOOL)


def isinf(b: BodyBuilder, x: Value) -> Value:
    """False for integers."""
    return b.op("isinf", x) if x.dtype.is_float else b.constant(False, DType.BOOL)


def _identity_on_integers(name: str) -> Decomposition:
    def rounded(b: BodyBuilder, x: Value) -> Value:
        return b.op(name, x) if x.dtype.is_float else x

    return rounded


def _logical(name: str) -> Decomposition:
    def logical(b: BodyBuilder, *values: Value) -> Value:
        return b.op(name, *(b.as_bool(value) for value in values))

    return logical


def _bitwise(name: str, on_bool: str) -> Decomposition:
    def bitwise(b: BodyBuilder, *values: Value) -> Value:
        operands = b.unify(*values)
        return b.op(on_bool if operands[0].dtype is DType.BOOL else name, *operands)

    return bitwise


def _direct(name: str) -> Decomposition:
    def direct(b: BodyBuilder, *values: Value) -> Value:
        return b.op(name, *values)

    return direct


_SAME_NAME = (
    "sub",
    "truediv",
    "floordiv",
    "truncdiv",
    "mod",
    "remainder",
    "neg",
    "abs",
    "sign",
    "fma",
    "sqrt",
    "reciprocal",
    "relu",
    "exp",
    "tanh",
    "erf",
    "sin",
    "cos",
    "log",
    "atan",
    "sigmoid",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
)

DECOMPOSITIONS: dict[str, Decomposition] = {
    **{name: _direct(name) for name in _SAME_NAME},
    **{name: _identity_on_integers(name) for name in ("floor", "ceil", "trunc", "round")},
    **{name: _logical(name) for name in ("logical_and", "logical_or", "logical_xor", "logical_not")},
    "add": _bitwise("add", "logical_or"),
    "mul": _bitwise("mul", "logical_and"),
    "minimum": _bitwise("minimum", "logical_and"),
    "maximum": _bitwise("maximum", "logical_or"),
    "bitwise_and": _bitwise("bitwise_and", "logical_and"),
    "bitwise_or": _bitwise("bitwise_or", "logical_or"),
    "bitwise_xor": _bitwise("bitwise_xor", "logical_xor"),
    "bitwise_not": _bitwise("bitwise_not", "logical_not"),
    "and_": _bitwise("bitwise_and", "logical_and"),
    "or_": _bitwise("bitwise_or", "logical_or"),
    "xor": _bitwise("bitwise_xor", "logical_xor"),
    "invert": _bitwise("bitwise_not", "logical_not"),
    "bitwise_left_shift": _direct("shift_left"),
    "bitwise_right_shift": _direct("shift_right"),
    "lshift": _direct("shift_left"),
    "rshift": _direct("shift_right"),
    "fmod": _direct("mod"),
    "mul_rn": _direct("mul"),
    "div_rn": _direct("truediv"),
    "rsqrt": rsqrt,
    "isnan": isnan,
    "isinf": isinf,
    "square": square,
    "int_truediv": int_truediv,
    "signbit": signbit,
    "copysign": copysign,
    "exp2": exp2,
    "expm1": expm1,
    "log1p": log1p,
    "log2": _logarithm(2.0),
    "log10": _logarithm(10.0),
    "erfc": erfc,
    "tan": tan,
    "pow": pow_,
}
"""Inductor op name -> function that builds it."""
