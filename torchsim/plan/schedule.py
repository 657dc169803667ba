"""Order the nodes of a group into passes over the reduction axes, before any tile is known.

A *pass* iterates over all axes: it carries reductions and stores results that live on all axes. Between passes lie *levels*: nodes on the
parallel axes alone. Level k is computed before pass k and may use the results of the passes before it. Values on all axes never
cross from one pass to the next; a later pass computes them again.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchsim.errors import PlanError, UnsupportedError
from torchsim.plan.group import Access, Group, Node


@dataclass(frozen=True, slots=True)
class Pass:
    """One iteration over all axes."""

    reductions: tuple[Node, ...]
    stores: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """Nodes on the parallel axes that are put into buffers between two passes (others are computed inside those that use them)."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """``levels`` has one entry more than ``passes``: level 0, pass 0, level 1, .., last level."""

    passes: tuple[Pass, ...]
    levels: tuple[Level, ...]


def accumulates_in_result_type(node: Node) -> bool:
    """Whether the accumulator of a reduction holds the node's own type, so that it can be stored as it is."""
    return node.dtype.accumulator is node.dtype


def used_values(node: Node) -> tuple[str, ...]:
    """Names of the earlier nodes that a body uses."""
    return tuple(dict.fromkeys(str(op.attribute) for op in node.ops if op.name == "value"))


def loads(node: Node) -> tuple[Access, ...]:
    """Distinct loads of a body."""
    return tuple(dict.fromkeys(op.attribute for op in node.ops if op.name == "load" and isinstance(op.attribute, Access)))


def needed_loads(group: Group, node: Node) -> tuple[Access, ...]:
    """Loads of a body and of the bodies on all axes that it brings in."""
    by_name = {item.name: item for item in group.nodes}
    found: dict[Access, None] = {}

    def visit(item: Node) -> None:
        found.update(dict.fromkeys(loads(item)))
        for name in used_values(item):
            if by_name[name].kind == "pointwise" and by_name[name].full:
                visit(by_name[name])

    visit(node)
    return tuple(found)


def schedule(group: Group) -> Schedule:
    """Assign every node of a group without matmul to a pass or a level.

    Raises:
        PlanError: a node uses a later or an unknown node, or a node on the parallel axes uses one on all axes.
    """
    if not group.reductions:
        kept = tuple(node for node in group.nodes if node.store is not None)
        _ready_stages(group)
        return Schedule((), (Level(kept),))
    ready = _ready_stages(group)
    stage = {node.name: ready[node.name] - (node.kind == "reduction") for node in group.nodes}
    pass_of = _place_stores(group, stage)
    count = max(
        [stage[node.name] + 1 for node in group.nodes if node.kind == "reduction"] + [place + 1 for place in pass_of.values()], default=0
    )
    passes = tuple(
        Pass(
            tuple(node for node in group.nodes if node.kind == "reduction" and stage[node.name] == index),
            tuple(node for node in group.nodes if pass_of.get(node.name) == index),
        )
        for index in range(count)
    )
    kept = {node.name for node in group.nodes if _needs_buffer(group, node, ready)}
    levels = tuple(
        Level(tuple(node for node in group.nodes if node.name in kept and ready[node.name] == index)) for index in range(count + 1)
    )
    return Schedule(passes, levels)


def _ready_stages(group: Group) -> dict[str, int]:
    """Number of passes that must be over before a node's value is known (for values on all axes: before its pass may begin)."""
    ready: dict[str, int] = {}
    full = {node.name: node.full and node.kind == "pointwise" and bool(group.reductions) for node in group.nodes}
    for node in group.nodes:
        for name in used_values(node):
            if name not in ready:
                raise PlanError(f"node {node.name!r} uses {name!r}, which is not an earlier node", where=group.name)
            if full[name] and not (node.full or node.kind == "reduction"):
                raise PlanError(f"node {node.name!r} on the parallel axes uses {name!r}, which lives on all axes", where=group.name)
        ready[node.name] = max((ready[name] for name in used_values(node)), default=0) + (node.kind == "reduction")
    return ready


def _place_stores(group: Group, stage: dict[str, int]) -> dict[str, int]:
    """Pass of every stored node on all axes: its own stage, or later while a later pass still loads what it overwrites."""
    stored = [node for node in group.nodes if node.kind == "pointwise" and node.full and node.store is not None]
    place = {node.name: stage[node.name] for node in stored}
    changed = True
    while changed:
        changed = False
        readers = [(stage[node.name], node) for node in group.nodes if node.kind == "reduction"] + [
            (place[node.name], node) for node in stored
        ]
        for node in stored:
            assert node.store is not None
            last = max(
                (index for index, reader in readers if any(load.tensor == node.store.tensor for load in needed_loads(group, reader))),
                default=0,
            )
            if last > place[node.name]:
                place[node.name], changed = last, True
    return place


def _needs_buffer(group: Group, node: Node, ready: dict[str, int]) -> bool:
    """Whether a node on the parallel axes is put into a buffer of its own by a level (a reduction has its accumulator already)."""
    if node.kind == "reduction":
        return node.store is not None and not accumulates_in_result_type(node)
    if node.full:
        return False
    users = [user for user in group.nodes if node.name in used_values(user)]
    return node.store is not None or any(user.full or user.kind == "reduction" or ready[user.name] > ready[node.name] for user in users)


def check_in_place(group: Group) -> None:
    """A kernel may write a tensor that it reads only element for element (rule 10).

    Raises:
        UnsupportedError: a load and a store touch the same tensor through different maps whose element intervals meet.
    """
    extents = tuple(axis.extent for axis in group.axes)

    def significant(access: Access) -> tuple[int, tuple[int, ...]]:
        return access.offset, tuple(c for c, extent in zip(access.coefficients, extents) if extent > 1)

    def interval(access: Access) -> tuple[int, int]:
        spans = [c * (extent - 1) for c, extent in zip(access.coefficients, extents)]
        return access.offset + sum(s for s in spans if s < 0), access.offset + sum(s for s in spans if s > 0)

    for writer in group.nodes:
        if writer.store is None:
            continue
        for reader in group.nodes:
            for load in loads(reader):
                if load.tensor != writer.store.tensor or significant(load) == significant(writer.store):
                    continue
                (low, high), (first, last) = interval(load), interval(writer.store)
                if low <= last and first <= high:
                    raise UnsupportedError(
                        f"a kernel reads and writes {load.tensor!r} at different places",
                        expected="equal access maps",
                        found=f"load {load}, store {writer.store}",
                        where=group.name, hint="write into another tensor, or split the kernel",
                    )  # fmt: skip
