"""Tiles and estimates of matmul plans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from torchsim.config import Machine, load_machine
from torchsim.errors import InvalidInputError, SpadOverflowError
from torchsim.plan.arena import leaves
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis, Group, Node, Op, TensorArg
from torchsim.plan.model import Block, KernelPlan, Transfer
from torchsim.plan.override import TileOverride
from torchsim.plan.test_build import matmul, random_case, small
from torchsim.plan.test_groups import Case, machines, matmul_cases
from torchsim.plan.test_plan_values import check_values
from torchsim.plan.validate import validate
from torchsim.templates.matmul import matmul_as_reduction, runs_on_array
from torchsim.templates.matmul_plan import MatmulPlanner
from torchsim.templates.matmul_tiles import TileModel, extents_of_interest, rows_of_interest

pytestmark = pytest.mark.unit


def transfers(plan: KernelPlan) -> list[Transfer]:
    return [item for item in leaves(plan.body) if isinstance(item, Transfer)]


@pytest.mark.req("T-3")
@settings(max_examples=60, deadline=None)
@given(matmul_cases((DType.F32, DType.F16, DType.BF16)), machines())
def test_the_estimate_covers_the_plan(case: Case, machine: Machine) -> None:
    """Over random fusions the tile choice's figure is never below the arena, and equal to it for plain operands."""
    try:
        plan = build(case.group, machine)
    except SpadOverflowError:
        return
    planner = MatmulPlanner(case.group, plan.tile, machine)
    estimate = TileModel(planner.phases(), case.group, machine).footprint(plan.tile.extents)
    assert estimate >= plan.spad_bytes_per_lane
    if all(operand.direct for operand in planner.operands) and len(plan.buffers) <= 4:
        assert estimate == plan.spad_bytes_per_lane


@pytest.mark.req("L-4", "F-8")
def test_fine_grained_loads_can_be_switched_off() -> None:
    """Without ``subtile`` each operand is one transfer, and the values stay."""
    case = random_case(matmul(30, 40, 50))
    fine = load_machine("8x8")
    coarse = fine.model_copy(update={"codegen_compiler_optimization": "none"})
    pieces = {machine.codegen_compiler_optimization: build(case.group, machine) for machine in (fine, coarse)}
    assert max(item.pieces for item in transfers(pieces["all"])) > 1
    assert all(item.pieces == 1 for item in transfers(pieces["none"]))
    for plan in pieces.values():
        validate(plan, fine)
        check_values(case, plan)


@pytest.mark.req("T-9", "T-6")
@pytest.mark.parametrize("kib", [1, 2, 3, 128])
def test_tiles_shrink_until_they_fit(kib: int) -> None:
    """mm + bias + relu at 128x128, down to a budget of 512 bytes a lane, which holds nothing."""
    machine, group = small("128x128", kib), matmul(300, 300, 300)
    if kib < 2:
        with pytest.raises(SpadOverflowError):
            build(group, machine)
        return
    plan = build(group, machine)
    validate(plan, machine)
    assert plan.spad_bytes_per_lane <= kib * 512


def test_half_operands_go_through_a_conversion_block() -> None:
    """Raw buffers in f16, operands in f32; the left one's lanes run over k."""
    plan = build(matmul(30, 40, 50, DType.F16), load_machine("8x8"))
    converting = [item for item in leaves(plan.body) if isinstance(item, Block) and any(op.name == "in_range" for op in item.ops)]
    assert sorted(block.split is None for block in converting) == [False, True]
    types = {buffer.name: buffer.dtype for buffer in plan.buffers}
    assert (types["in_x"], types["x"], types["acc"]) == (DType.F16, DType.F32, DType.F32)


def test_what_the_array_takes() -> None:
    """f32 and half types; f64 becomes a sum over k."""
    assert runs_on_array(matmul(4, 4, 4, DType.BF16))
    wide = matmul(4, 4, 4, DType.F64)
    assert not runs_on_array(wide)
    node = matmul_as_reduction(wide).nodes[0]
    assert (node.kind, node.reduction, node.ops[node.result[0]].name) == ("reduction", "sum", "mul")


@pytest.mark.req("T-8")
def test_a_batch_axis_has_tile_extent_one() -> None:
    """Batches are work-items; any other extent of the axis is refused."""
    ops = (Op("load", DType.F32, (), Access("x", (54, 6, 0, 1))), Op("load", DType.F32, (), Access("w", (30, 0, 1, 5))))
    args = (TensorArg("x", DType.F32, 162, "input"), TensorArg("w", DType.F32, 90, "input"), TensorArg("y", DType.F32, 135, "output"))
    node = Node("y", "matmul", ops, (0, 1), DType.F32, True, store=Access("y", (45, 5, 1, 0)))
    case = random_case(Group("bmm", args, (Axis("b", 3), Axis("m", 9), Axis("n", 5), Axis("k", 6, True)), (node,)))
    plan = build(case.group, load_machine("8x8"))
    assert plan.grid[0] == 3
    check_values(case, plan)
    with pytest.raises(InvalidInputError):
        build(case.group, load_machine("8x8"), TileOverride({"b": 3}))


def test_candidates() -> None:
    """Multiples of the side up to the axis rounded up; rows up to the axis."""
    assert extents_of_interest(20, 8) == [8, 16, 24]
    assert extents_of_interest(0, 8) == [8]
    assert rows_of_interest(10) == [10, 5, 4, 3, 1]
