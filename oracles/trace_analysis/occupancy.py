"""Scratchpad bytes that work-items hold, replayed over the run's own order of issue and completion."""

from __future__ import annotations

from collections.abc import Sequence

from oracles.trace_analysis.work_item import Version, WorkItemAnalysis
from torchsim.errors import DivergenceError

Held = tuple[int, int, int, int, str, int]
"""(cycle, core, work-item, record, event, bytes held by the work-item afterwards); see ``togsim.Result.held``."""


class Occupancy:
    """The versions of one work-item while it runs."""

    def __init__(self, item: WorkItemAnalysis) -> None:
        self.versions = item.versions
        self.live: list[Version] = []
        self.issued: set[int] = set()

    def issue(self, record: int) -> None:
        """Its versions open; those whose last reader it is go."""
        self.issued.add(record)
        self.live += [v for v in self.versions if v.opener == record]
        self.live = [v for v in self.live if not (v.readers and set(v.readers) <= self.issued)]

    def done(self, record: int) -> None:
        """Its versions that nobody reads go."""
        self.live = [v for v in self.live if not (v.opener == record and not v.readers)]

    @property
    def bytes(self) -> int:
        """Bytes per lane of all live versions."""
        return sum(v.size for v in self.live)


def share_of(item: WorkItemAnalysis, spad: int) -> int:
    """Scratchpad bytes that a work-item may hold: half if it fits, else all."""
    return spad // 2 if item.footprint <= spad // 2 else spad


def replay(items: Sequence[WorkItemAnalysis], held: Sequence[Held], spad: int) -> None:
    """Hold the run's bookkeeping against the versions of the analysis.

    Raises:
        DivergenceError: bytes freed too early or too late, or more live than the share or the scratchpad has.
    """
    states = [Occupancy(item) for item in items]
    on_core: dict[int, set[int]] = {}
    for cycle, core, number, record, event, found in held:
        state = states[number]
        state.issue(record) if event == "ISSUE" else state.done(record)
        where = f"work-item {number}, record {record}, {event} in cycle {cycle}"
        if found != state.bytes:
            raise DivergenceError("live scratchpad bytes differ", expected=str(state.bytes), found=str(found), where=where)
        if found > share_of(items[number], spad):
            raise DivergenceError(
                "a work-item holds more than its share", expected=f"at most {share_of(items[number], spad)}", found=str(found), where=where
            )
        on_core.setdefault(core, set()).add(number)
        live = sum(states[n].bytes for n in on_core[core])
        if live > spad:
            raise DivergenceError("more live bytes than the scratchpad has", expected=f"at most {spad}", found=str(live), where=where)
    for number, state in enumerate(states):
        if state.bytes:
            raise DivergenceError("scratchpad bytes are never freed", expected="0", found=str(state.bytes), where=f"work-item {number}")
