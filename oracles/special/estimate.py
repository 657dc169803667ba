"""The special functions in binary64 arithmetic with a known error, from series and reductions of our own: no library function is called.

An estimate decides the rounding to binary32 wherever the exact value cannot lie on the other side of a rounding boundary, which is all but
about one input in a million; ``oracles.special.exact`` decides the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial

import mpmath
import numpy as np
import numpy.typing as npt

from oracles.special.functions import Function

Doubles = npt.NDArray[np.float64]
RELATIVE_ERROR = 2.0**-45
"""Bound on every estimate here; the arithmetic below stays under 2^-48, which test_special.py measures."""

_CONTEXT = mpmath.MPContext()
_CONTEXT.prec = 400
_LN2 = float(_CONTEXT.ln2)
_LN2_HIGH = float(np.float64(np.float32(_LN2)))  # 24 bits: products with the exponent are exact
_LN2_LOW = float(_CONTEXT.ln2 - _CONTEXT.mpf(_LN2_HIGH))
_PI_HALF, _PI_QUARTER = float(_CONTEXT.pi / 2), float(_CONTEXT.pi / 4)
_TWO_PI = float(2 * _CONTEXT.pi)
_TWO_OVER_ROOT_PI = float(2 / _CONTEXT.sqrt(_CONTEXT.pi))


def _horner(coefficients: list[Fraction], x: Doubles) -> Doubles:
    """Polynomial with the coefficient of the lowest power first."""
    total = np.full_like(x, float(coefficients[-1]))
    for coefficient in reversed(coefficients[:-1]):
        total *= x
        total += float(coefficient)
    return total


_EXP = [Fraction(1, factorial(k)) for k in range(15)]  # |r| <= 0.347: remainder below 2^-62
_SIN = [Fraction((-1) ** k, factorial(2 * k + 1)) for k in range(10)]  # |r| <= pi/4: below 2^-70
_COS = [Fraction((-1) ** k, factorial(2 * k)) for k in range(11)]
_ATANH = [Fraction(1, 2 * k + 1) for k in range(12)]  # s^2 <= 0.0295: below 2^-60
_ATAN = [Fraction((-1) ** k, 2 * k + 1) for k in range(22)]  # u^2 <= 0.172: below 2^-55
_ERF_SMALL = [Fraction((-1) ** k, factorial(k) * (2 * k + 1)) for k in range(22)]  # |x| <= 1: below 2^-70
_DOUBLE_FACTORIAL = [Fraction(1)]
for _k in range(1, 135):
    _DOUBLE_FACTORIAL.append(_DOUBLE_FACTORIAL[-1] * Fraction(2, 2 * _k + 1))
_TANH_TOP = [Fraction(n) for n in (34459425, 4729725, 135135, 990, 1)]  # x P(x^2) / Q(x^2): ninth convergent of Lambert's fraction
_TANH_BOTTOM = [Fraction(n) for n in (34459425, 16216200, 945945, 13860, 45)]


def _apply(where: npt.NDArray[np.bool_], to: Doubles, function: Callable[[Doubles], Doubles], x: Doubles) -> None:
    """to[where] = function(x[where]), without copies when that is everything or nothing."""
    if where.all():
        to[:] = function(x)
    elif where.any():
        to[where] = function(x[where])


def _exp(x: Doubles) -> Doubles:
    """|x| <= 700."""
    n = np.rint(x * (1 / _LN2))
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    return _horner(_EXP, r) * ((n.astype(np.int64) + 1023) << 52).view(np.float64)


def exp(x: Doubles) -> Doubles:
    """exp of widened binary32."""
    y = np.where(x > 0, np.inf, 2.0**-200)  # beyond +-105 every binary32 result is infinite or zero
    _apply(np.abs(x) < 105, y, _exp, x)
    return y


def tanh(x: Doubles) -> Doubles:
    """tanh of widened binary32."""

    def small(t: Doubles) -> Doubles:
        square = t * t
        return t * (_horner(_TANH_TOP, square) / _horner(_TANH_BOTTOM, square))

    a = np.abs(x)
    y = np.full_like(a, 1 - 2.0**-52)  # 1 - tanh(18) is below 2^-50
    _apply(a < 0.55, y, small, a)
    _apply((a >= 0.55) & (a < 18), y, lambda t: 1 - 2 / (_exp(2 * t) + 1), a)
    return np.copysign(y, x)


def erf(x: Doubles) -> Doubles:
    """erf of widened binary32."""

    def middle(t: Doubles) -> Doubles:  # 2 / sqrt(pi) exp(-t^2) sum 2^k t^(2k+1) / (2k+1)!!: every term is positive
        square = t * t
        return _TWO_OVER_ROOT_PI * t * _exp(-square) * _horner(_DOUBLE_FACTORIAL, square)

    a = np.abs(x)
    y = np.full_like(a, 1 - 2.0**-56)  # 1 - erf(6) is below 2^-55
    _apply(a <= 1, y, lambda t: _TWO_OVER_ROOT_PI * t * _horner(_ERF_SMALL, t * t), a)
    _apply((a > 1) & (a < 6), y, middle, a)
    return np.copysign(y, x)


def log(x: Doubles) -> Doubles:
    """log of widened binary32."""

    def positive(t: Doubles) -> Doubles:
        bits = t.view(np.int64)
        exponent = (bits - 0x3FE6_A09E_667F_3BCD) >> 52  # mantissa in [sqrt(1/2), sqrt(2))
        m = (bits - (exponent << 52)).view(np.float64)
        s = (m - 1) / (m + 1)
        return exponent * _LN2_HIGH + (exponent * _LN2_LOW + 2 * s * _horner(_ATANH, s * s))

    y = np.where(x == 0, -np.inf, np.nan)
    _apply((x > 0) & (x < np.inf), y, positive, x)
    y[x == np.inf] = np.inf
    return y


def atan(x: Doubles) -> Doubles:
    """atan of widened binary32."""
    a = np.abs(x)
    far = a > 1
    t = np.where(far, 1 / np.maximum(a, 1), a)
    turned = t > 0.41421356
    u = np.where(turned, (t - 1) / (t + 1), t)
    y = u * _horner(_ATAN, u * u)
    y += np.where(turned, _PI_QUARTER, 0.0)
    y = np.where(far, _PI_HALF - y, y)
    return np.copysign(y, x)


_CHUNK = 25


def _turn_table() -> list[Doubles]:
    """2^e / (2 pi) modulo 1 for e = -25..104 as four numbers, three of 25 bits each (fixed point) and the rest rounded."""
    columns: list[list[float]] = [[], [], [], []]
    for exponent in range(-25, 105):
        turn = _CONTEXT.ldexp(1, exponent) / (2 * _CONTEXT.pi)
        rest = turn - _CONTEXT.floor(turn)
        for part in range(3):
            scale = _CONTEXT.ldexp(1, _CHUNK * (part + 1))
            digits = _CONTEXT.floor(rest * scale) / scale
            columns[part].append(float(digits))
            rest -= digits
        columns[3].append(float(rest))
    return [np.array(column) for column in columns]


_TURNS = _turn_table()


def _reduce(x: Doubles) -> tuple[Doubles, npt.NDArray[np.int64]]:
    """x = quarter * pi / 2 + angle, |angle| a little over pi/4 at most; |x| >= 0.5, a binary32. The angle's relative error is below 2^-50.

    x = m 2^e with an integer m of 24 bits: m times a 25-bit part is exact, and so are the sums that drop whole turns.
    """
    bits = x.view(np.int64)
    exponent = ((bits >> 52) & 0x7FF) - 1023 - 23
    m = np.copysign(((bits & 0xF_FFFF_FFFF_FFFF) | (1 << 52)).astype(np.float64) * 2.0**-29, x)
    place = exponent + 25
    first, second, third, rest = (m * part[place] for part in _TURNS)
    turns = (first - np.rint(first)) + second
    quarter = np.rint(turns * 4)
    angle = (turns - quarter * 0.25) + third + rest
    return angle * _TWO_PI, quarter.astype(np.int64)


def _circular(x: Doubles, ahead: int) -> Doubles:
    """sin(x + ahead * pi / 2)."""
    y = np.full_like(x, np.nan)

    def near(t: Doubles) -> Doubles:
        return _horner(_COS, t * t) if ahead else t * _horner(_SIN, t * t)

    def away(t: Doubles) -> Doubles:
        angle, quarter = _reduce(t)
        quarter += ahead
        square = angle * angle
        value = np.where(quarter & 1, _horner(_COS, square), angle * _horner(_SIN, square))
        return np.where(quarter & 2, -value, value)

    a = np.abs(x)
    _apply(a < 0.5, y, near, x)
    _apply((a >= 0.5) & (a < np.inf), y, away, x)
    return y


def sin(x: Doubles) -> Doubles:
    """sin of widened binary32."""
    return _circular(x, 0)


def cos(x: Doubles) -> Doubles:
    """cos of widened binary32."""
    return _circular(x, 1)


ESTIMATES: dict[Function, Callable[[Doubles], Doubles]] = {
    "erf": erf,
    "tanh": tanh,
    "sin": sin,
    "cos": cos,
    "log": log,
    "atan": atan,
    "exp": exp,
}


def rounded(function: Function, x: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """(f(x) to nearest even binary32, whether that is certain)."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        y = np.where(np.isnan(wide), np.nan, ESTIMATES[function](wide))
        low = (y * (1 - RELATIVE_ERROR)).astype(np.float32)
        high = (y * (1 + RELATIVE_ERROR)).astype(np.float32)
    same = (low.view(np.uint32) == high.view(np.uint32)) | np.isnan(y)
    return low, same
