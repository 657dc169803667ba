from __future__ import annotations

import numpy as np
import pytest

from torchsim.config import load_machine
from torchsim.emit.test_support import check_against_plan, random_array, reduction_group
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.override import TileOverride
from torchsim.plan.poison import poisoned

MACHINE = load_machine("8x8")
EXACT = [DType.I64, DType.I32, DType.U8, DType.BOOL]
INNER, OUTER, ALL = ([37, 29], [1]), ([29, 37], [0]), ([3, 50, 7], [0, 1, 2])


def _check(
    kind: str, dtype: DType, shape: list[int], reduced: list[int], override: TileOverride | None = None, *, poison: bool = False
) -> None:
    accumulate = DType.F32 if dtype.is_half and kind in ("sum", "prod") else None
    plan = build(reduction_group(kind, dtype, shape, reduced, accumulate), MACHINE, override)
    rng = np.random.default_rng(3)
    arrays = [random_array(arg.dtype, arg.elements, rng, small=True) for arg in plan.args]
    rounds = dtype.is_float and kind in ("sum", "prod")
    # padding that is not masked shows as NaN
    check_against_plan(poisoned(plan) if poison else plan, MACHINE, arrays, rtol=1e-4 if rounds else 0.0, atol=1e-4 if rounds else 0.0)


@pytest.mark.req("C-4", "C-22")
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.BOOL])
def test_along_the_vector(kind: str, dtype: DType) -> None:
    """Row-wise: chunks, a ragged tail and the halving tree."""
    _check(kind, dtype, *INNER, poison=True)


@pytest.mark.req("C-4", "C-6")
@pytest.mark.parametrize(("kind", "dtype"), [("sum", DType.F16), ("prod", DType.F64), ("max", DType.BF16), ("min", DType.I16)])
@pytest.mark.parametrize(("shape", "reduced"), [OUTER, ALL], ids=["outer", "all"])
def test_other_axes(kind: str, dtype: DType, shape: list[int], reduced: list[int]) -> None:
    _check(kind, dtype, shape, reduced, poison=True)


@pytest.mark.req("C-4")
@pytest.mark.parametrize("kind", ["any", "all", "max", "min"])
@pytest.mark.parametrize(("shape", "reduced"), [INNER, OUTER], ids=["inner", "outer"])
def test_bool(kind: str, shape: list[int], reduced: list[int]) -> None:
    _check(kind, DType.BOOL, shape, reduced)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 16, 33, 100])
@pytest.mark.parametrize(("kind", "dtype"), [("sum", DType.I64), ("max", DType.F32)])
def test_lengths(kind: str, dtype: DType, length: int) -> None:
    _check(kind, dtype, [24, length], [1], poison=True)


@pytest.mark.req("C-22")
@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16, DType.F64])
@pytest.mark.parametrize(("reduced", "length", "tile"), [(1, 37, 37), (1, 300, 300), (1, 300, 64), (0, 37, 37), (0, 37, 8)])
def test_nan_propagates(kind: str, dtype: DType, reduced: int, length: int, tile: int) -> None:
    """A NaN anywhere makes its row NaN, in a vector, beside one, or in an earlier tile; infinities and zeros of both signs do not."""
    shape = [16, length] if reduced else [length, 16]
    plan = build(reduction_group(kind, dtype, shape, [reduced]), MACHINE, TileOverride({f"i{reduced}": tile}))
    rng = np.random.default_rng(5)
    source, out = (random_array(arg.dtype, arg.elements, rng, small=True) for arg in plan.args)
    nan, inf, minus_inf, zero, minus_zero = {DType.BF16: (0x7FC0, 0x7F80, 0xFF80, 0, 0x8000)}.get(
        dtype, (np.nan, np.inf, -np.inf, 0.0, -0.0)
    )
    rows = source.reshape(shape) if reduced else source.reshape(shape).T
    for row, value in ((1, nan), (2, inf), (3, minus_inf), (4, nan)):
        rows[row, (row * 9) % length] = value
    rows[5, length - 1] = rows[6, 0] = nan
    rows[7], rows[8] = minus_zero, zero
    rows[7, length // 2], rows[8, length // 2] = zero, minus_zero
    check_against_plan(plan, MACHINE, [source, out])


@pytest.mark.req("C-20", "T-8")
@pytest.mark.parametrize("extents", [{"i1": 7}, {"i0": 11, "i1": 16}, {"i0": 1, "i1": 29}])
def test_tiles_of_the_reduced_axis(extents: dict[str, int]) -> None:
    """The accumulator outlives the tile loop, and the last tile is ragged."""
    _check("sum", DType.F32, *INNER, TileOverride(extents), poison=True)
