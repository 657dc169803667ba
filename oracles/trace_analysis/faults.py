"""Every fault that the timing simulator's own tables name, enumerated (requirement H-12)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from togsim import _core

_PRODUCERS_CONSUMERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "read": (("load", "barrier", "vector", "matmul"), ("load", "store", "vector", "matmul", "preload")),
    "seed": (("load", "barrier", "vector"), ("matmul",)),
    "weights": (("preload",), ("matmul",)),
    "transfer": (("load", "store"), ("barrier",)),
    "stored": (("store", "barrier"), ("load",)),
}
"""Reason of a dependency -> who may write, or bring, and who may wait (docs/togsim.md, "Dependencies")."""


_OF_SEVERAL_CALLS = ("launches_together", "partitions_ignored", "granules_repeated")
"""Rules of partitions and of real index values, which one kernel call on random traces does not have; togsim/test_multicore.py and
togsim/test_properties.py bend each of them."""


@dataclass(frozen=True)
class Fault:
    """One fault: its name on the page, its kind, and what the simulator is told."""

    name: str
    kind: str
    told: dict[str, Any]


def enumerate_faults() -> Iterator[Fault]:
    """Edges dropped and relabelled, figures shifted by one either way, rules bent, wake-ups omitted."""
    names = _core.fault_names()
    if sorted(names["reasons"]) != sorted(_PRODUCERS_CONSUMERS):
        raise AssertionError(f"reasons of dependencies: the simulator has {names['reasons']}")
    for reason, (producers, consumers) in _PRODUCERS_CONSUMERS.items():
        for producer, consumer in itertools.product(producers, consumers):
            edge = f"{reason}:{producer}:{consumer}"
            yield Fault(f"drop {edge}", "edge dropped", {"drop_edges": edge})
            yield Fault(f"relabel {edge}", "edge relabelled", {"relabel_edges": edge})
    for figure in names["figures"]:
        for step in (-1, 1):
            yield Fault(f"{figure} {step:+d}", "figure off by one", {"shift": {figure: step}})
    for rule in names["rules"]:
        if rule in _OF_SEVERAL_CALLS:
            continue
        yield Fault(rule, "rule bent", {"bend_rule": rule})
    for wake in names["wakes"]:
        yield Fault(f"no wake-up: {wake}", "wake-up omitted", {"skip_dirty": wake})
