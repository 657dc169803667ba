"""Every fault that the timing simulator's own tables name, enumerated (requirement H-12)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oracles.trace_analysis.memory_probes import DEVICES, NETWORK_FIGURES
from togsim import _core
from togsim.dram_traces import channel_config

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


@dataclass(frozen=True)
class MemoryFault(Fault):
    """A figure of a DRAM device, or of the network, off by ``step``; ``oracles.trace_analysis.memory_probes`` looks for it."""

    part: str
    figure: str
    step: int


def _memory_faults() -> Iterator[MemoryFault]:
    for device, figures in DEVICES.items():
        if sorted(figures) != sorted(_core.dram_timing(channel_config(device))):
            raise AssertionError(f"figures of {device}: the simulator has {sorted(_core.dram_timing(channel_config(device)))}")
        for figure, step in itertools.product(figures, (-1, 1)):
            yield MemoryFault(f"{device} {figure} {step:+d}", "DRAM figure off by one", {}, device, figure, step)
    for figure, step in itertools.product(NETWORK_FIGURES, (-1, 1)):
        yield MemoryFault(f"network {figure} {step:+d}", "interconnect figure off by one", {}, "network", figure, step)


def enumerate_faults() -> Iterator[Fault]:
    """Edges dropped and relabelled, figures of core, DRAM and network shifted by one either way, rules bent, wake-ups omitted."""
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
    yield from _memory_faults()
