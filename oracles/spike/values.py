"""Register contents for instruction tests: special values of every width, mixed with random bits."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

_FLOAT = {  # per width: significand bits, exponent bits
    16: (10, 5),
    32: (23, 8),
    64: (52, 11),
}


def special_integers(bits: int) -> list[int]:
    """Bit patterns of the integers at which arithmetic turns: around 0, around the limits, lone bits."""
    top, ones = 1 << bits - 1, (1 << bits) - 1
    near = {0, 1, 2, 3, 7, bits - 1, bits, ones, ones - 1, top, top - 1, top + 1, top >> 1, ones // 3, ones // 5}
    return sorted(value & ones for value in near)


def special_floats(bits: int) -> list[int]:
    """Bit patterns of floats: zeros, subnormals, limits, infinities, NaNs of all kinds, halves, integers at type limits."""
    if bits not in _FLOAT:
        return []
    significand, exponent = _FLOAT[bits]
    one, sign = (1 << exponent - 1) - 1, 1 << bits - 1
    infinity = ((1 << exponent) - 1) << significand
    quiet = infinity | 1 << significand - 1
    smallest = 1 << significand
    powers = [
        power
        for power in (-significand - 1, significand + 1, -2, -1, 1, 7, 8, 15, 16, 24, 31, 32, 53, 63, 64)
        if 0 < one + power < (1 << exponent) - 1
    ]
    positive = [0, 1, smallest - 1, smallest, smallest + 1, infinity - 1, infinity, quiet, quiet | 5, infinity | 1, one << significand]
    positive += [one << significand | 1, one << significand | 3]  # a half to break in products with 1.5
    positive += [(one << significand) | 1 << significand - 1, (one + 1 << significand) | 1 << significand - 2, (one << significand) - 1]
    for power in powers:
        positive += [one + power << significand, (one + power << significand) - 1, (one + power << significand) + 1]
    return [value for bits_of in positive for value in (bits_of, bits_of | sign)]


@functools.cache
def _pool(bits: int) -> npt.NDArray[np.uint64]:
    """What ``mixed`` takes special values from; those that operations treat apart come more often."""
    return np.array(special_integers(bits) + special_floats(bits) * 2 + _apart(bits) * 8, dtype=np.uint64)


def _apart(bits: int) -> list[int]:
    """Zeros, smallest and largest numbers, ones, one and a half, infinities, a quiet and a signaling NaN, of both signs."""
    if bits not in _FLOAT:
        return []
    significand, exponent = _FLOAT[bits]
    one, infinity = ((1 << exponent - 1) - 1) << significand, ((1 << exponent) - 1) << significand
    half = 1 << significand - 1
    values = [0, 1, 1 << significand, one, one | half, one | 1, infinity - 1, infinity, infinity | half, infinity | 1]
    return [value for magnitude in values for value in (magnitude, magnitude | 1 << bits - 1)]


def mixed(rng: np.random.Generator, count: int, bits: int) -> npt.NDArray[np.uint8]:
    """``count`` elements of 8, 16, 32 or 64 bits as bytes: special values, moderate floats and random bits."""
    pool = _pool(bits)
    elements = pool[rng.integers(0, pool.size, count)]
    random = rng.integers(0, 1 << 63, count, dtype=np.uint64) * 2 + rng.integers(0, 2, count, dtype=np.uint64)
    elements = np.where(rng.random(count) < 0.25, random & np.uint64((1 << bits) - 1), elements)
    if bits in _FLOAT:
        moderate = (rng.standard_normal(count) * 4.0 ** rng.integers(-3, 6, count)).astype(f"f{bits // 8}").view(f"u{bits // 8}")
        elements = np.where(rng.random(count) < 0.3, moderate.astype(np.uint64), elements)
    return elements.astype(f"<u{bits // 8}").view(np.uint8)
