from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.config import load_machine
from torchsim.emit.test_support import build_or_reject, check_against_plan, pointwise_group, random_array, size_of, strides_of
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, IndexExpr, Op, TensorArg
from torchsim.plan.override import TileOverride

MACHINE = load_machine("8x8")


def _check(shape: list[int], expression: IndexExpr, dtype: DType, override: TileOverride | None = None) -> None:
    ops = [Op("index", dtype, (), expression), Op("load", dtype, (), Access("x", strides_of(shape))), Op("add", dtype, (0, 1))]
    group = pointwise_group(shape, ops, [TensorArg("x", dtype, size_of(shape), "input")], dtype)
    plan = build_or_reject(group, MACHINE, override or TileOverride())
    rng = np.random.default_rng(1)
    check_against_plan(plan, MACHINE, [random_array(arg.dtype, arg.elements, rng) for arg in plan.args])


@pytest.mark.req("C-18")
@pytest.mark.parametrize("stride", [1, 2, 4])
def test_arange(stride: int) -> None:
    """The row term counts lanes times vlane_stride."""
    _check([32], IndexExpr((1,)), DType.I64, TileOverride(vlane_stride=stride))


@pytest.mark.req("C-18", "C-21")
@pytest.mark.parametrize("dtype", [DType.I32, DType.I64])
def test_values_beyond_32_bits(dtype: DType) -> None:
    """Positions are computed in i32 only where no partial sum can leave it."""
    _check([7, 100], IndexExpr((2**33 if dtype is DType.I64 else 2**29, -3), 5), dtype)


@pytest.mark.req("C-18", "T-8")
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_any_tile(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=3))
    names = [f"i{i}" for i in range(len(shape))]
    coefficients = tuple(data.draw(st.integers(-3, 3)) for _ in shape)
    extents = {name: data.draw(st.integers(max(1, extent // 3), extent)) for name, extent in zip(names, shape)}
    override = TileOverride(
        extents, data.draw(st.sampled_from(names)), data.draw(st.sampled_from([1, 2, 8])), data.draw(st.sampled_from(names))
    )
    _check(shape, IndexExpr(coefficients, data.draw(st.integers(-9, 9))), DType.I64, override)
