"""Matmul on the weight-stationary array, with pointwise prologues and epilogues.

Axes (batch.., m, n | k), array side L. X tile: k over the lanes, in-lane [k chunk][m]. W tile: n over the lanes, in-lane
[n chunk][k]. Y tile (f32 accumulator): n over the lanes, in-lane [n chunk][m]. For each chunk of W: push L weight rows, push m
rows of X, pop, add into Y. Columns of k beyond the axis must be zero on both sides: plain operands get them as the fill,
prologues by a position mask.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace

from torchsim.config import Machine
from torchsim.errors import InvalidInputError, UnsupportedError
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Group, Op
from torchsim.plan.model import KernelPlan, Tile
from torchsim.plan.overflow import overflow
from torchsim.plan.override import TileOverride, check_override
from torchsim.templates.matmul_plan import MatmulPlanner, matmul_node
from torchsim.templates.matmul_tiles import TileModel, extents_of_interest, rows_of_interest

_TRIES = 8
_ARRAY_TYPES = (DType.F32, DType.F16, DType.BF16)


def runs_on_array(group: Group) -> bool:
    """Whether the operands and the result are of types that the f32 array takes."""
    node = matmul_node(group)
    return node.dtype in _ARRAY_TYPES and all(node.ops[index].dtype in _ARRAY_TYPES for index in node.result)


def matmul_as_reduction(group: Group) -> Group:
    """The vector form for f64 and integers: sum over k of lhs * rhs."""
    node = matmul_node(group)
    ops = list(node.ops)

    def add(op: Op) -> int:
        ops.append(op)
        return len(ops) - 1

    sides = [index if ops[index].dtype is node.dtype else add(Op("cast", node.dtype, (index,))) for index in node.result]
    product = add(Op("mul", node.dtype, tuple(sides)))
    changed = replace(node, kind="reduction", reduction="sum", ops=tuple(ops), result=(product,), full=True)
    return replace(group, nodes=tuple(changed if item is node else item for item in group.nodes))


def plan_matmul(group: Group, machine: Machine, override: TileOverride | None) -> KernelPlan:
    """Plan a matmul group for the array.

    Raises:
        UnsupportedError: a node that is neither the matmul nor pointwise on (m, n), or axes that are not (.., m, n | k).
        InvalidInputError, SpadOverflowError: as ``build``.
    """
    _check_form(group)
    override = override or TileOverride()
    *_, m, n = group.parallel
    k = group.reductions[0]
    _check_matmul_override(override, group, group.axes[m].name, group.axes[n].name, group.axes[k].name, machine.lanes)
    model = TileModel(MatmulPlanner(group, _tile(group, {m: 1, n: machine.lanes, k: machine.lanes}), machine).phases(), group, machine)
    sized = [(model.footprint(extents), extents) for extents in _tiles(group, machine.lanes, override)]
    fitting = [(model.cycles(extents), size, extents) for size, extents in sized if size <= machine.dispatch_budget_bytes]
    ranked = [extents for _, _, extents in heapq.nsmallest(_TRIES, fitting)]
    # The last try is the smallest tile: its plan, or its overflow, is the answer when nothing else fits.
    planned: KernelPlan | None = None
    for extents in (*ranked, min(sized)[1]):
        planned = MatmulPlanner(group, Tile(extents, n, 1, m), machine).plan()
        if planned.spad_bytes_per_lane <= machine.dispatch_budget_bytes:
            return planned
    assert planned is not None
    raise overflow(planned, machine)


def _check_form(group: Group) -> None:
    if len(group.reductions) != 1 or len(group.parallel) < 2 or group.nodes[0].kind != "matmul":
        raise UnsupportedError(
            "a matmul group needs axes (.., m, n | k) and the matmul first",
            found=", ".join(axis.name for axis in group.axes),
            where=group.name,
        )
    for node in group.nodes[1:]:
        if node.kind != "pointwise" or node.full:
            raise UnsupportedError(
                "only pointwise epilogues run behind the array",
                expected="pointwise on (m, n)",
                found=f"{node.name}: {node.kind}",
                where=group.name,
            )


def _check_matmul_override(override: TileOverride, group: Group, m: str, n: str, k: str, lanes: int) -> None:
    unknown = override.names - {axis.name for axis in group.axes}
    if unknown:
        known = ", ".join(axis.name for axis in group.axes)
        raise InvalidInputError(
            "a tile override names an unknown axis", expected=f"axes {known}", found=", ".join(sorted(unknown)), where=group.name
        )
    check_override(override, group, {n: lanes, k: lanes})
    for what, value, only in (
        ("split", override.split, n),
        ("vlane_stride", override.vlane_stride, 1),
        ("vector_axis", override.vector_axis, m),
    ):
        if value not in (None, only):
            raise InvalidInputError(f"a matmul fixes {what}", expected=str(only), found=str(value), where=group.name)
    for axis in group.axes:
        if axis.name not in (m, n, k) and override.extents.get(axis.name, 1) != 1:
            raise InvalidInputError(
                "a batch axis of a matmul has tile extent 1", expected="1", found=str(override.extents[axis.name]), where=group.name
            )


def _tile(group: Group, extents: dict[int, int]) -> Tile:
    *_, m, n = group.parallel
    return Tile(tuple(extents.get(axis, 1) for axis in range(len(group.axes))), n, 1, m)


def _tiles(group: Group, lanes: int, override: TileOverride) -> Iterator[tuple[int, ...]]:
    fixed = {index: override.extents[axis.name] for index, axis in enumerate(group.axes) if axis.name in override.extents}
    *_, m, n = group.parallel
    k = group.reductions[0]
    axes = group.axes
    for rows in [fixed[m]] if m in fixed else rows_of_interest(axes[m].extent):
        for columns in [fixed[n]] if n in fixed else extents_of_interest(axes[n].extent, lanes):
            for depth in [fixed[k]] if k in fixed else extents_of_interest(axes[k].extent, lanes):
                yield _tile(group, {m: rows, n: columns, k: depth}).extents
