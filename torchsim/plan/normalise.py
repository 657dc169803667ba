"""Bring a group's domain to its smallest form: no axis of extent 1, contiguous axes merged, at least one parallel axis."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from torchsim.plan.group import Access, Axis, Group, IndexExpr, Node, Op

Coefficients = tuple[int, ...]


def normalise(group: Group, *, merge: bool, keep: Collection[str] = ()) -> Group:
    """The same computation on a smaller domain.

    Nodes that nothing stored depends on go away, and axes of extent 1, except those named in ``keep``; a group left without
    parallel axis gets one of extent 1. With ``merge`` two axes of a kind become one (named ``outer_inner``) where every access and
    index expression steps through them contiguously.
    """
    group = _without_dead_nodes(group)
    for index in reversed(range(len(group.axes))):
        if group.axes[index].extent == 1 and group.axes[index].name not in keep:
            group = _rewrite(group, _without(group.axes, index), lambda c, i=index: c[:i] + c[i + 1 :])
    if not group.reductions:
        group = replace(group, nodes=tuple(_of_one_element(node) for node in group.nodes))
    while merge and (pair := _mergeable(group)) is not None:
        group = _merge(group, *pair)
    if not group.parallel:
        name = "one"
        while any(axis.name == name for axis in group.axes):
            name += "_"
        group = _rewrite(group, (Axis(name, 1), *group.axes), lambda c: (0, *c))
    return group


def _without_dead_nodes(group: Group) -> Group:
    live: set[str] = set()
    for node in reversed(group.nodes):
        if node.store is not None or node.name in live:
            live |= {node.name} | {str(op.attribute) for op in node.ops if op.name == "value"}
    return replace(group, nodes=tuple(node for node in group.nodes if node.name in live))


def _of_one_element(node: Node) -> Node:
    """A reduction over a single element is the element."""
    return replace(node, kind="pointwise", reduction=None) if node.kind == "reduction" else node


def coefficient_rows(group: Group) -> Iterator[Coefficients]:
    """Coefficients of every access and index expression."""
    for node in group.nodes:
        if node.store is not None:
            yield node.store.coefficients
        for op in node.ops:
            if isinstance(op.attribute, Access | IndexExpr):
                yield op.attribute.coefficients


def _mergeable(group: Group) -> tuple[int, int] | None:
    rows = set(coefficient_rows(group))
    for outer, outer_axis in enumerate(group.axes):
        for inner, inner_axis in enumerate(group.axes):
            if outer == inner or outer_axis.reduction != inner_axis.reduction or 0 in (outer_axis.extent, inner_axis.extent):
                continue
            if all(row[outer] == row[inner] * inner_axis.extent for row in rows):
                return outer, inner
    return None


def _merge(group: Group, outer: int, inner: int) -> Group:
    first, second = group.axes[outer], group.axes[inner]
    merged = Axis(f"{first.name}_{second.name}", first.extent * second.extent, first.reduction)
    axes = list(group.axes)
    axes[inner] = merged
    return _rewrite(group, _without(tuple(axes), outer), lambda c: c[:outer] + c[outer + 1 :])


def _without(axes: tuple[Axis, ...], index: int) -> tuple[Axis, ...]:
    return axes[:index] + axes[index + 1 :]


def _rewrite(group: Group, axes: tuple[Axis, ...], change: Callable[[Coefficients], Coefficients]) -> Group:
    def op(old: Op) -> Op:
        if isinstance(old.attribute, Access | IndexExpr):
            return replace(old, attribute=replace(old.attribute, coefficients=change(old.attribute.coefficients)))
        return old

    def node(old: Node) -> Node:
        store = replace(old.store, coefficients=change(old.store.coefficients)) if old.store else None
        return replace(old, ops=tuple(op(item) for item in old.ops), store=store)

    return replace(group, axes=axes, nodes=tuple(node(item) for item in group.nodes))
