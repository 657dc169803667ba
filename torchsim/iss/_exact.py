"""IEEE formats over exact rationals, independent of the simulator's code: what tests compare with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

RNE, RTZ, RDN, RUP, RMM = range(5)


@dataclass(frozen=True, slots=True)
class Format:
    """A binary interchange format."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def infinity(self) -> int:
        """Bits of +infinity."""
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def nan(self) -> int:
        """Bits of the canonical NaN."""
        return self.infinity | 1 << (self.fraction_bits - 1)

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.exponent_bits + self.fraction_bits)

    def is_finite(self, bits: int) -> bool:
        """Neither infinite nor NaN."""
        return bits & ~self.sign < self.infinity

    def is_nan(self, bits: int) -> bool:
        """Any NaN."""
        return bits & ~self.sign > self.infinity

    def value(self, bits: int) -> Fraction:
        """Value of finite bits."""
        magnitude = bits & ~self.sign
        exponent, fraction = magnitude >> self.fraction_bits, magnitude & ((1 << self.fraction_bits) - 1)
        if exponent:
            fraction |= 1 << self.fraction_bits
        result = fraction * Fraction(2) ** (max(exponent, 1) - self.bias - self.fraction_bits)
        return -result if bits & self.sign else result


def round_fraction(form: Format, value: Fraction, mode: int, *, negative_zero: bool = False) -> int:
    """Bits of the value rounded to the format; overflow goes to infinity or the largest finite number as the mode says."""
    if value == 0:
        return form.sign if negative_zero else 0
    negative, magnitude = value < 0, abs(value)
    # the spacing of the format around the value
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, 1 - form.bias)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    steps = magnitude / Fraction(2) ** (exponent - form.fraction_bits)
    low = steps.numerator // steps.denominator
    rest = steps - low
    up = {
        RNE: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low & 1 == 1),
        RTZ: False,
        RDN: negative and rest > 0,
        RUP: not negative and rest > 0,
        RMM: rest >= Fraction(1, 2),
    }[mode]
    rounded = (low + up) * Fraction(2) ** (exponent - form.fraction_bits)
    sign = form.sign if negative else 0
    if rounded >= Fraction(2) ** (form.bias + 1):
        away = mode in (RNE, RMM) or (mode == RUP and not negative) or (mode == RDN and negative)
        return sign | (form.infinity if away else form.infinity - 1)
    if rounded < Fraction(2) ** (1 - form.bias):  # subnormal or zero
        return sign | int(rounded / Fraction(2) ** (1 - form.bias - form.fraction_bits))
    while rounded >= Fraction(2) ** (exponent + 1):
        exponent += 1
    fraction = int(rounded / Fraction(2) ** (exponent - form.fraction_bits)) - (1 << form.fraction_bits)
    return sign | (exponent + form.bias) << form.fraction_bits | fraction
