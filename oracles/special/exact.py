"""Values of the special functions to 200 bits, and their rounding to binary32: slow, for the few inputs that need it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from oracles.special.functions import Function

BITS = 200
_CONTEXT = mpmath.MPContext()
_CONTEXT.prec = BITS
_LARGE = 200.0  # tanh and erf equal +-1 and exp is 0 or infinite in every format here long before


def value(function: Function, x: float) -> Fraction | float:
    """f(x) as a fraction with a relative error below 2^-150; NaN, infinities and results beyond binary64's range as a float."""
    if np.isnan(x):
        return float("nan")
    if function == "log" and x <= 0:
        return float("-inf") if x == 0 else float("nan")
    if function in ("sin", "cos") and np.isinf(x):
        return float("nan")
    if function == "log" and np.isinf(x):
        return x
    if function in ("exp", "tanh", "erf") and abs(x) > _LARGE:
        if function == "exp":
            return _exp_far(x)
        return Fraction(1 if x > 0 else -1) * (1 - Fraction(1, 1 << 180))
    if x == 0:
        return {"exp": 1.0, "cos": 1.0}.get(function, x)  # keeps the sign of zero
    if np.isinf(x):  # atan
        return _fraction(_CONTEXT.pi / 2) * (1 if x > 0 else -1)
    return _fraction(getattr(_CONTEXT, function)(_CONTEXT.mpf(x)))


def _exp_far(x: float) -> Fraction | float:
    if abs(x) > 1000:
        return float("inf") if x > 0 else 0.0
    return _fraction(_CONTEXT.exp(_CONTEXT.mpf(x)))


def _fraction(number: Any) -> Fraction:
    sign, mantissa, exponent, _ = number._mpf_
    return Fraction(-int(mantissa) if sign else int(mantissa)) * _power_of_two(exponent)


def ulp(exact: Fraction, mantissa_bits: int, least_exponent: int) -> Fraction:
    """Spacing of the format at ``exact``: ``mantissa_bits`` 24 and ``least_exponent`` -149 for binary32, 53 and -1074 for binary64."""
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if _power_of_two(exponent) > magnitude:
        exponent -= 1
    return _power_of_two(max(exponent - mantissa_bits + 1, least_exponent))


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def error_in_ulps(found: float, exact: Fraction | float, mantissa_bits: int = 24, least_exponent: int = -149) -> float:
    """|found - exact| in units in the last place of the exact value; 0 when both are the same special value, infinite when only one is."""
    if not isinstance(exact, Fraction):
        same = bool(np.isnan(found) and np.isnan(exact)) or (found == exact and np.signbit(found) == np.signbit(exact))
        return 0.0 if same else float("inf")
    spacing = ulp(exact, mantissa_bits, least_exponent)
    if np.isinf(found):
        largest = (1 - Fraction(1, 1 << mantissa_bits)) * (1 << (128 if mantissa_bits == 24 else 1024))
        limit = largest + ulp(largest, mantissa_bits, least_exponent) / 2
        return 0.0 if abs(exact) >= limit and (found > 0) == (exact > 0) else float("inf")
    if np.isnan(found) or (found == 0 and bool(np.signbit(found)) != (exact < 0)):
        return float("inf")
    return float(abs(Fraction(found) - exact) / spacing)


def rounded(exact: Fraction | float) -> np.float32:
    """The nearest binary32, ties to even."""
    if not isinstance(exact, Fraction):
        return np.float32(exact)
    spacing = ulp(exact, 24, -149)
    steps = round(exact / spacing)  # Fraction rounds half to even
    magnitude = abs(steps) * spacing
    size = float("inf") if magnitude >= 1 << 128 else float(magnitude)  # at most 24 bits: exact
    return np.float32(-size if exact < 0 else size)
