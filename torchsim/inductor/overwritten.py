"""Keeps results apart from inputs that are overwritten later.

Inductor runs a scatter in the buffer of a graph input when the input gets other contents at the end of the graph ("it will be
overwritten anyways"), also when the scatter's result lives longer than that, which then reads the new contents. Such a scatter gets a
copy of the input to work in. This pass runs before Inductor decides what works in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass

aten = torch.ops.aten
_BASE: dict[Any, int] = {
    aten.slice_scatter.default: 0,
    aten.select_scatter.default: 0,
    aten.as_strided_scatter.default: 0,
    aten.diagonal_scatter.default: 0,
    aten.index_put.default: 0,
    aten._unsafe_index_put.default: 0,
    aten.scatter.src: 0,
    aten.scatter.value: 0,
    aten.scatter_add.default: 0,
    aten.scatter_reduce.two: 0,
}
"""Functional ops that Inductor may run in place, and which argument they then overwrite."""


class CopyOverwrittenInputs(CustomGraphPass):
    """Post-grad pass; see the module."""

    def __call__(self, graph: fx.Graph) -> None:
        order = {node: place for place, node in enumerate(graph.nodes)}
        overwritten = {node.args[0]: node for node in reversed(graph.nodes) if node.target is aten.copy_.default}
        for node in list(graph.nodes):
            if node.target not in _BASE:
                continue
            base = node.args[_BASE[node.target]]
            source = _input_behind(base)
            copy = overwritten.get(source)
            if copy is None or _is_behind(copy.args[1], node):
                continue  # the input is not overwritten, or by this very result: in place is right
            if any(order[user] >= order[copy] for user in _uses(node)):
                with graph.inserting_before(node):
                    clone = graph.call_function(aten.clone.default, (base,))
                clone.meta.update(base.meta)
                node.update_arg(_BASE[node.target], clone)

    def uuid(self) -> Any:
        """No cache key: these graphs are not cached by Inductor."""
        return None


def _is_view(node: fx.Node) -> bool:
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and bool(target.is_view)


def _input_behind(node: fx.Node) -> fx.Node:
    """The node that owns the storage that a chain of views shows."""
    while node.op == "call_function" and _is_view(node):
        node = node.all_input_nodes[0]
    return node


def _is_behind(view: fx.Node, node: fx.Node) -> bool:
    while view is not node and view.op == "call_function" and (_is_view(view) or view.target in _BASE):
        view = view.all_input_nodes[0]
    return view is node


def _uses(node: fx.Node) -> Iterator[fx.Node]:
    """Nodes that read the result or a view of it."""
    for user in node.users:
        yield user
        if user.op == "call_function" and (_is_view(user) or user.target in _BASE):
            yield from _uses(user)
