"""Abstract values of integer registers: which memory an address can point into."""

from __future__ import annotations

from enum import IntEnum

from torchsim.target.address_map import SPAD_BASE, SPAD_END


class Region(IntEnum):
    """ABSOLUTE: a known number. The others: a pointer into that memory; STACK counts from sp at function entry."""

    ABSOLUTE = 0
    IMAGE = 1
    SPAD = 2
    STACK = 3
    ARGUMENTS = 4


Value = tuple[Region, int | None] | None
"""Region and offset from its base (None: unknown offset); None: nothing is known. Absolute values always have their number."""

_WRAP = (1 << 64) - 1


def signed64(value: int) -> int:
    """The number that 64 bits hold as a signed integer."""
    value &= _WRAP
    return value - (1 << 64) if value >> 63 else value


def sign_extended32(value: Value) -> Value:
    """The low 32 bits of a known number, sign-extended, as ``addiw`` leaves them."""
    if value is None or value[0] is not Region.ABSOLUTE or value[1] is None:
        return None
    low = value[1] & 0xFFFF_FFFF
    return (Region.ABSOLUTE, low - (1 << 32) if low >> 31 else low)


class Domain:
    """Arithmetic on abstract values for an image that occupies [first, last)."""

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last

    def region(self, value: Value) -> Region | None:
        """The memory that a value points into; None when unknown or a plain number."""
        if value is None:
            return None
        region, offset = value
        if region is not Region.ABSOLUTE:
            return region
        assert offset is not None
        if self.first <= offset < self.last:
            return Region.IMAGE
        if SPAD_BASE <= offset < SPAD_END:
            return Region.SPAD
        return None

    def loosened(self, value: Value) -> Value:
        """The same pointer with its offset forgotten."""
        region = self.region(value)
        return None if region is None else (region, None)

    def joined(self, a: Value, b: Value) -> Value:
        """The value where two paths meet."""
        if a == b:
            return a
        region = self.region(a)
        return (region, None) if region is not None and region is self.region(b) else None

    def plus(self, value: Value, number: int) -> Value:
        """``value + number``."""
        if value is None:
            return None
        region, offset = value
        if offset is None:
            return value
        return (region, signed64(offset + number))

    def sum(self, a: Value, b: Value) -> Value:
        """``a + b``: a pointer plus a number points into the same memory; two pointers make nothing known."""
        if a is not None and a[0] is Region.ABSOLUTE and a[1] is not None and (b is None or b[1] is not None):
            a, b = b, a
        if b is not None and b[0] is Region.ABSOLUTE and b[1] is not None and a is not None and a[1] is not None:
            return self.plus(a, b[1])
        region_a, region_b = self.region(a), self.region(b)
        if region_a is not None and region_b is not None:
            return None
        region = region_a if region_a is not None else region_b
        return None if region is None else (region, None)

    def difference(self, a: Value, b: Value) -> Value:
        """``a - b``."""
        if b is not None and b[0] is Region.ABSOLUTE and b[1] is not None and a is not None and a[1] is not None:
            return self.plus(a, -b[1])
        return self.loosened(a) if self.region(b) is None else None

    def product(self, a: Value, b: Value) -> Value:
        """``a * b``: known for numbers only."""
        if a is None or b is None or a[0] is not Region.ABSOLUTE or b[0] is not Region.ABSOLUTE:
            return None
        assert a[1] is not None and b[1] is not None
        return (Region.ABSOLUTE, signed64(a[1] * b[1]))
