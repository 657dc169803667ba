from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.config import load_machine
from torchsim.emit.test_support import (
    axes_of,
    build_or_reject,
    check_against_plan,
    pointwise_group,
    random_array,
    reduction_group,
    size_of,
    strides_of,
)
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Group, Node, Op, TensorArg
from torchsim.plan.model import KernelPlan
from torchsim.plan.override import TileOverride
from torchsim.plan.poison import poisoned

MACHINE = load_machine("8x8")
F32 = DType.F32


def _softmax(rows: int, columns: int) -> Group:
    """Softmax over the last axis: two reductions and two pointwise nodes over the same rows."""
    source = Op("load", F32, (), Access("x", (columns, 1)))
    shifted = (source, Op("value", F32, (), "top"), Op("sub", F32, (0, 1)), Op("exp", F32, (2,)))
    nodes = (
        Node("top", "reduction", (source,), (0,), F32, True, reduction="max", origins=("amax",)),
        Node("total", "reduction", shifted, (3,), F32, True, reduction="sum", origins=("exp", "sum")),
        Node(
            "out", "pointwise", (*shifted, Op("value", F32, (), "total"), Op("truediv", F32, (3, 4))), (5,), F32, True,
            store=Access("z", (columns, 1)), origins=("div",),
        ),
    )  # fmt: skip
    size = rows * columns
    return Group("softmax", (TensorArg("x", F32, size, "input"), TensorArg("z", F32, size, "output")), axes_of([rows, columns], [1]), nodes)


def _check(plan: KernelPlan, rtol: float = 0.0) -> None:
    rng = np.random.default_rng(9)
    check_against_plan(plan, MACHINE, [random_array(arg.dtype, arg.elements, rng, small=True) for arg in plan.args], rtol=rtol, atol=rtol)


@pytest.mark.req("C-4", "C-20")
@pytest.mark.parametrize(("rows", "columns"), [(16, 64), (13, 29), (5, 3000)])
def test_softmax(rows: int, columns: int) -> None:
    """Rows that fit and rows that do not; padding is NaN, so a mask that fails shows."""
    _check(poisoned(build(_softmax(rows, columns), MACHINE)), rtol=1e-5)


@pytest.mark.req("L-3")
@pytest.mark.parametrize("permutation", [(5, 4, 3, 2, 1, 0), (2, 0, 5, 1, 4, 3)])
def test_six_axes_are_peeled(permutation: tuple[int, ...]) -> None:
    shape = [2, 3, 2, 3, 2, 5]
    strides = strides_of([shape[i] for i in permutation])
    transposed = tuple(strides[permutation.index(i)] for i in range(6))
    inputs = [TensorArg(name, F32, size_of(shape), "input") for name in "xy"]
    ops = [Op("load", F32, (), Access("x", transposed)), Op("load", F32, (), Access("y", strides_of(shape))), Op("sub", F32, (0, 1))]
    plan = build(pointwise_group(shape, ops, inputs, F32), MACHINE, TileOverride({f"i{i}": extent for i, extent in enumerate(shape)}))
    _check(plan)


@pytest.mark.req("C-23")
def test_nothing_to_do() -> None:
    _check(build(reduction_group("sum", F32, [5, 0], [1]), MACHINE))
    _check(build(pointwise_group([0, 4], [Op("constant", F32, (), 1.5)], [], F32), MACHINE))


@pytest.mark.req("C-23", "T-8")
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_strides_and_tiles(data: st.DataObject) -> None:
    """Permuted, broadcast and flipped operands under any tile."""
    shape = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=3))
    order = data.draw(st.permutations(range(len(shape))))
    permuted = strides_of([shape[i] for i in order])
    first = [permuted[order.index(i)] for i in range(len(shape))]
    second = [0 if data.draw(st.booleans()) else stride for stride in strides_of(shape)]
    flipped = data.draw(st.integers(0, len(shape) - 1))
    offset = first[flipped] * (shape[flipped] - 1)
    first[flipped] = -first[flipped]
    inputs = [TensorArg(name, F32, size_of(shape), "input") for name in "xy"]
    ops = [Op("load", F32, (), Access("x", tuple(first), offset)), Op("load", F32, (), Access("y", tuple(second))), Op("mul", F32, (0, 1))]
    names = [f"i{i}" for i in range(len(shape))]
    extents = {name: data.draw(st.integers(max(1, extent // 4), extent)) for name, extent in zip(names, shape)}
    override = TileOverride(
        extents, data.draw(st.sampled_from(names)), data.draw(st.sampled_from([1, 4])), data.draw(st.sampled_from(names))
    )
    _check(build_or_reject(pointwise_group(shape, ops, inputs, F32), MACHINE, override))
