"""Small operations on fx graphs."""

from __future__ import annotations

from typing import Any

import torch


def number_positions(module: Any) -> set[int]:
    """Inputs of a Dynamo graph that are Python numbers which Dynamo passes as tensors of no dimensions."""
    if not isinstance(module, torch.fx.GraphModule):
        return set()
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    return {i for i, node in enumerate(placeholders) if getattr(node.meta.get("grapharg"), "pass_arg_as_tensor", False)}


def copy_graph(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A graph module that can be rewritten without touching the original; parameters are shared, node metadata is copied."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    for new, old in zip(graph.nodes, module.graph.nodes):
        new.meta = dict(old.meta)
    copied = torch.fx.GraphModule(module, graph)
    copied.meta = dict(module.meta)
    return copied
