"""Names of compiled graphs, and the one announcement of each to the runtime."""

from __future__ import annotations

import itertools
from typing import Any

from torchsim.runtime import hooks

_counter = itertools.count()
_ATTRIBUTE = "_torchsim_graph_id"


def graph_id(graph: Any) -> str:
    """Name of a GraphLowering, unique in the process; the first call announces its post-grad fx graph."""
    known = getattr(graph, _ATTRIBUTE, None)
    if known is None:
        known = f"graph{next(_counter)}"
        setattr(graph, _ATTRIBUTE, known)
        hooks.graph_started(graph.orig_gm, known)
    return known
