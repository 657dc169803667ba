from __future__ import annotations

import math

import pytest

from torchsim.emit.transfers import raw_bits
from torchsim.plan.dtypes import DType
from torchsim.plan.identity import identity


@pytest.mark.req("C-5")
@pytest.mark.parametrize(
    ("value", "dtype", "bits"),
    [
        (-math.inf, DType.F32, 0xFF80_0000),
        (math.nan, DType.BF16, 0x7FC0),
        (math.inf, DType.F16, 0x7C00),
        (1.0, DType.F64, 0x3FF0_0000_0000_0000),
        (1 + 2**-8, DType.BF16, 0x3F80),
        (1 + 3 * 2**-8, DType.BF16, 0x3F82),
        (-1, DType.I16, 0xFFFF),
        (identity("max", DType.I64), DType.I64, 1 << 63),
        (identity("min", DType.U8), DType.U8, 0xFF),
        (True, DType.BOOL, 1),
    ],
)
def test_fill_bits(value: float, dtype: DType, bits: int) -> None:
    assert raw_bits(value, dtype) == bits
