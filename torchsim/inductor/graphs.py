"""Small operations on fx graphs."""

from __future__ import annotations

import torch


def copy_graph(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A graph module that can be rewritten without touching the original; parameters are shared, node metadata is copied."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    for new, old in zip(graph.nodes, module.graph.nodes):
        new.meta = dict(old.meta)
    copied = torch.fx.GraphModule(module, graph)
    copied.meta = dict(module.meta)
    return copied
