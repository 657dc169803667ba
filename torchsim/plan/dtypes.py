"""Element types of tensors and scratchpad buffers."""

from __future__ import annotations

from enum import StrEnum

import numpy as np


class DType(StrEnum):
    """An element type; the value is its short name. ``bool`` is stored as a byte that holds 0 or 1."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U8 = "u8"
    BOOL = "bool"

    @property
    def bytes(self) -> int:
        """Bytes of one element in DRAM and in the scratchpad."""
        return _BYTES[self]

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self in (DType.F64, DType.F32, DType.F16, DType.BF16)

    @property
    def is_half(self) -> bool:
        """Whether values are 16-bit floats."""
        return self in (DType.F16, DType.BF16)

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy type of the *stored* bits; bf16 is stored as uint16 (NumPy has no bf16)."""
        return _NUMPY[self]

    @property
    def accumulator(self) -> DType:
        """Type in which a sum or product of this type is carried: f32 for half types, else itself."""
        return DType.F32 if self.is_half else self


_BYTES = {
    DType.F64: 8, DType.F32: 4, DType.F16: 2, DType.BF16: 2, DType.I64: 8, DType.I32: 4, DType.I16: 2,
    DType.I8: 1, DType.U8: 1, DType.BOOL: 1,
}  # fmt: skip
_NUMPY: dict[DType, np.dtype[np.generic]] = {
    DType.F64: np.dtype(np.float64), DType.F32: np.dtype(np.float32), DType.F16: np.dtype(np.float16), DType.BF16: np.dtype(np.uint16),
    DType.I64: np.dtype(np.int64), DType.I32: np.dtype(np.int32), DType.I16: np.dtype(np.int16), DType.I8: np.dtype(np.int8),
    DType.U8: np.dtype(np.uint8), DType.BOOL: np.dtype(np.uint8),
}  # fmt: skip
