"""Host values of the element types: how stored bits become NumPy numbers and back, and how types convert.

In arithmetic a bf16 value is a float32 that bf16 can represent, a bool is a NumPy bool, everything else is its own NumPy type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchsim.plan.dtypes import DType

Array = NDArray[Any]


def host_type(dtype: DType) -> np.dtype[Any]:
    """NumPy type in which values of an element type are computed."""
    return np.dtype(np.float32) if dtype is DType.BF16 else np.dtype(np.bool_) if dtype is DType.BOOL else dtype.numpy


def round_bf16(value: NDArray[np.float32]) -> NDArray[np.float32]:
    """Nearest bf16, ties to even; NaN becomes the canonical NaN."""
    bits = value.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(value), np.uint32(0x7FC00000), rounded).view(np.float32)


def decode(stored: Array, dtype: DType) -> Array:
    """Host values of stored elements (an array of ``dtype.numpy``)."""
    if dtype is DType.BF16:
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return stored != 0 if dtype is DType.BOOL else stored


def encode(value: Array, dtype: DType) -> Array:
    """Stored elements of host values."""
    if dtype is DType.BF16:
        return (round_bf16(np.ascontiguousarray(value, np.float32)).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return value.astype(dtype.numpy)


def constant(value: int | float | bool, dtype: DType) -> Array:
    """A 0-d host value; integers wrap, floats round."""
    if dtype is DType.BOOL:
        return np.asarray(bool(value))
    if dtype.is_float:
        return to_float(np.asarray(value, np.float64), dtype)
    return np.asarray(int(value) & ((1 << 64) - 1), np.uint64).astype(dtype.numpy)


def to_float(value: Array, dtype: DType) -> Array:
    """Round to a float type; to half types through f32, as torch converts."""
    with np.errstate(all="ignore"):
        if not dtype.is_half:
            return value.astype(dtype.numpy)
        single = np.ascontiguousarray(value.astype(np.float32))
        return round_bf16(single).reshape(value.shape) if dtype is DType.BF16 else single.astype(np.float16)


def cast(value: Array, source: DType, target: DType) -> Array:
    """Convert as torch's CPU copy.

    Floats to integers as x86-64 C does (out of range gives the least i32 or i64, then wraps); to bool is != 0.
    """
    if source is target:
        return value
    if target is DType.BOOL:
        return value != 0
    if target.is_float:
        return to_float(value, target)
    if not source.is_float:
        return value.astype(target.numpy)
    wide = np.dtype(np.int64) if target.bytes == 8 else np.dtype(np.int32)
    low, high = float(np.iinfo(wide).min), -float(np.iinfo(wide).min)
    with np.errstate(all="ignore"):
        number = np.trunc(value.astype(np.float64))
        inside = (number >= low) & (number < high)
        return np.where(inside, np.where(inside, number, 0).astype(wide), np.iinfo(wide).min).astype(wide).astype(target.numpy)


def bitcast(value: Array, source: DType, target: DType) -> Array:
    """The same bits as another type of the same width."""
    stored = np.ascontiguousarray(encode(value, source))
    return decode(stored.view(target.numpy).reshape(value.shape), target)
