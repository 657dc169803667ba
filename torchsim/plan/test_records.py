"""What a plan's records say: every output element once, loads exactly what the accesses name, the places that the interpreter uses."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.config import Machine, load_machine
from torchsim.errors import SpadOverflowError
from torchsim.plan import layout
from torchsim.plan.arena import leaves
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.enumerate import SA_WEIGHTS, ComputeRecord, DmaRecord, WaitRecord, records
from torchsim.plan.group import Access, Axis, Group, Node, Op, TensorArg
from torchsim.plan.group_numpy import elements
from torchsim.plan.interpreter import pieces
from torchsim.plan.model import Block, KernelPlan, Transfer
from torchsim.plan.override import TileOverride
from torchsim.plan.schedule import loads
from torchsim.plan.test_groups import Case, machines, matmul_cases, overrides, vector_cases

pytestmark = pytest.mark.unit
Place = tuple[int, int, int]  # lane, byte in the lane, DRAM element (-1: fill)


def places(record: DmaRecord, lanes: int) -> Counter[Place]:
    """Every place of a record, spelled out position by position from docs/isa.md."""
    found: Counter[Place] = Counter()
    boxes = [list(range(extent)) for extent in record.dims]
    extent = record.dims[record.split_dim]
    boxes[record.split_dim] = list(range(layout.rows(extent, record.vlane_stride, lanes) * record.vlane_stride * lanes))
    for position in itertools.product(*boxes):
        split = position[record.split_dim]
        inside = [layout.in_lane(split, record.vlane_stride, lanes) if d == record.split_dim else p for d, p in enumerate(position)]
        active = all(low <= p < high for p, low, high in zip(position, record.low, record.high))
        element = record.element_offset + sum(p * stride for p, stride in zip(position, record.dram_strides))
        byte = record.spad_offset + record.element_bytes * sum(p * stride for p, stride in zip(inside, record.spad_strides))
        found[layout.lane(split, record.vlane_stride, lanes), byte, element if active else -1] += 1
    return found


def plan_of(case: Case, machine: Machine, data: st.DataObject) -> KernelPlan | None:
    override = data.draw(overrides(case.group)) if case.group.nodes[0].kind != "matmul" else None
    try:
        return build(case.group, machine, override)
    except SpadOverflowError:
        return None


@pytest.mark.req("H-4", "L-3", "S-2")
@settings(max_examples=40, deadline=None)
@given(st.data(), vector_cases(600) | matmul_cases(), machines())
def test_records_move_what_the_interpreter_moves(data: st.DataObject, case: Case, machine: Machine) -> None:
    """Pieces and peeled parts together touch the same lanes, bytes and elements as the interpreter's transfers, tag by tag."""
    plan = plan_of(case, machine, data)
    if plan is None:
        return
    names = [axis.name for axis in plan.axes if not axis.reduction]
    for item in itertools.islice(records(plan), 2):
        env = dict(zip(names, item.indices))
        found: dict[tuple[str, int], Counter[Place]] = {}
        for record in item.records:
            if isinstance(record, DmaRecord):
                assert len(record.dims) == len(record.low) <= 4
                touched = places(record, plan.lanes)
                found.setdefault((record.direction, record.tag), Counter()).update(touched)
                (declared,) = record.reads + record.writes
                assert (declared in record.writes) == (record.direction == "load")
                first, last = min(byte for _, byte, _ in touched), max(byte for _, byte, _ in touched) + record.element_bytes
                assert (declared.arena_offset + declared.begin, declared.length) == (first, last - first)
        expected: dict[tuple[str, int], Counter[Place]] = {}
        for transfer, inner in _executions(plan, env):
            for piece in pieces(plan, transfer, inner):
                spots = np.where(piece.active, piece.element, -1)
                key = (transfer.direction, piece.tag)
                expected.setdefault(key, Counter()).update(zip(piece.lane.tolist(), piece.address.tolist(), spots.tolist()))
        assert found == expected


def _executions(plan: KernelPlan, env: dict[str, int]) -> list[tuple[Transfer, dict[str, int]]]:
    """Transfers of one work-item with their tile indices, in order of reduction tiles."""
    looped = [index for index, axis in enumerate(plan.axes) if axis.reduction and plan.tile_count(index) > 1]
    found: list[tuple[Transfer, dict[str, int]]] = []
    for item in leaves(plan.body):
        if isinstance(item, Transfer):
            inside = _is_in_loop(plan, item)
            for index in itertools.product(*(range(plan.tile_count(axis)) for axis in looped)) if inside else [()]:
                found.append((item, {**env, **{plan.axes[axis].name: value for axis, value in zip(looped, index)}}))
    return found


def _is_in_loop(plan: KernelPlan, transfer: Transfer) -> bool:
    return all(item is not transfer for item in plan.body if isinstance(item, Transfer))


@pytest.mark.req("C-15", "H-4")
@settings(max_examples=60, deadline=None)
@given(st.data(), vector_cases(1500) | matmul_cases(), machines())
def test_tiles_cover_the_domain_once(data: st.DataObject, case: Case, machine: Machine) -> None:
    """Each element of an output is stored exactly once, and no load touches an element that the group does not name."""
    plan = plan_of(case, machine, data)
    if plan is None:
        return
    stored: Counter[tuple[str, int]] = Counter()
    loaded: set[tuple[str, int]] = set()
    for item in records(plan):
        for record in item.records:
            if isinstance(record, DmaRecord):
                name = plan.args[record.arg].name
                spots = Counter({(name, spot): n for (_, _, spot), n in places(record, plan.lanes).items() if spot >= 0})
                if record.direction == "store":
                    stored.update(spots)
                else:
                    loaded |= set(spots)
    expected: Counter[tuple[str, int]] = Counter()
    named: set[tuple[str, int]] = set()
    for node in case.group.nodes:
        on_all = node.full and node.kind == "pointwise"
        extents = [axis.extent if on_all or not axis.reduction else 1 for axis in case.group.axes]
        if node.store is not None:
            expected.update((node.store.tensor, int(spot)) for spot in elements(case.group, node.store, extents).ravel())
        for access in loads(node):
            named |= {(access.tensor, int(spot)) for spot in elements(case.group, access).ravel()}
    assert stored == expected
    assert loaded <= named


@pytest.mark.req("C-6", "L-3")
def test_six_dimensions_are_peeled() -> None:
    """A tile of six axes plus nothing to merge becomes parts of four dimensions, out-of-bounds ones with high 0."""
    extents, order = (3, 2, 3, 2, 3, 2), (5, 3, 1, 4, 2, 0)
    axes = tuple(Axis(f"a{i}", extent) for i, extent in enumerate(extents))
    step, coefficients = 1, [0] * 6
    for axis in order:
        coefficients[axis] = step
        step *= extents[axis] + 1
    load = Access("x", tuple(coefficients))
    dense = Access("y", (72, 36, 12, 6, 2, 1))
    ops = (Op("load", DType.F32, (), load),)
    group = Group(
        "peel",
        (TensorArg("x", DType.F32, step, "input"), TensorArg("y", DType.F32, 216, "output")),
        axes,
        (Node("y", "pointwise", ops, (0,), DType.F32, False, store=dense),),
    )
    plan = build(group, load_machine("8x8"), TileOverride({"a0": 2, "a1": 2, "a2": 3, "a3": 2, "a4": 3, "a5": 2}, split="a5"))
    item = list(records(plan))[1]
    parts = [record for record in item.records if isinstance(record, DmaRecord) and record.direction == "load"]
    assert all(len(part.dims) == 4 and part.dims[part.split_dim] == 2 for part in parts)
    assert len({part.tag for part in parts}) == 1
    empty = [part for part in parts if not any(part.high)]
    assert len(empty) == len(parts) // 2, "a0 has one position left in its second tile"


@pytest.mark.req("L-4", "G-8")
def test_a_matmul_waits_piece_by_piece() -> None:
    """Pieces of X and W arrive under tags of their own; preloads and matmuls meet at the virtual weights."""
    load = {name: Op("load", DType.F32, (), Access(name, row)) for name, row in (("x", (24, 0, 1)), ("w", (0, 1, 16)))}
    args = (
        TensorArg("x", DType.F32, 16 * 24, "input"),
        TensorArg("w", DType.F32, 24 * 16, "input"),
        TensorArg("y", DType.F32, 256, "output"),
    )
    node = Node("y", "matmul", tuple(load.values()), (0, 1), DType.F32, True, store=Access("y", (16, 1, 0)))
    group = Group("mm", args, (Axis("m", 16), Axis("n", 16), Axis("k", 24, True)), (node,))
    plan = build(group, load_machine("8x8"), TileOverride({"m": 16, "n": 16, "k": 24}))
    (item,) = records(plan)
    transfers = [record for record in item.records if isinstance(record, DmaRecord)]
    assert Counter((plan.args[record.arg].name, record.direction) for record in transfers) == {
        ("x", "load"): 3,
        ("w", "load"): 2,
        ("y", "store"): 1,
    }
    assert len({record.tag for record in transfers}) == 6
    assert sorted(record.tag for record in item.records if isinstance(record, WaitRecord)) == sorted(record.tag for record in transfers)
    computes = [record for record in item.records if isinstance(record, ComputeRecord) and record.compute_type != "vector"]
    assert [record.compute_type for record in computes] == ["preload", "matmul"] * 6
    for preload, matmul in zip(computes[::2], computes[1::2]):
        assert preload.writes[-1].buffer == matmul.reads[-1].buffer == SA_WEIGHTS
    assert sum(isinstance(block, Block) for block in leaves(plan.body)) == 5, (
        "init, and preload and matmul for the first and the other chunks"
    )
