"""One work-item from first principles: which bytes each record touches, under which name, and who wrote them.

The scratchpad is cut into *cells*, the stretches between all range boundaries of the work-item; inside a cell all bytes fare alike. Each
write of a cell gives its bytes a new name (a version), as register renaming does. Everything else is read off the list of touches.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from togsim import SA_WEIGHTS, Compute, ComputeType, Direction, Dma, MemoryBar, Range, Record

Addresses = NDArray[np.int64]
Event = tuple[int, str]
"""(record, "ISSUE" or "DONE")."""


@dataclass(frozen=True)
class Write:
    """One write of a cell. ``writer`` is the record that makes it readable: the barrier, for an asynchronous load."""

    position: int
    writer: int
    joins: bool
    """A matmul that adds to what is there."""


@dataclass
class Version:
    """What one record puts into one cell, and who reads it."""

    opener: int
    size: int
    readers: list[int] = field(default_factory=list)


class WorkItemAnalysis:
    """The records of one work-item (without TileBegin and TileEnd), and the address of every tensor argument."""

    def __init__(self, records: Sequence[Record], bases: Sequence[int]) -> None:
        self.records = records
        self.bases = bases
        self.transfers_of: dict[int, list[int]] = {}
        """Barrier -> transfers that it takes."""
        self.barrier_of: dict[int, int] = {}
        self._match_waits()
        edges = sorted({edge for r in records for part in _ranges(r) for edge in part.arena})
        self.cells = list(itertools.pairwise(edges))
        self.instructions = [i for i, r in enumerate(records) if not isinstance(r, MemoryBar) or i in self.transfers_of]
        self.reads = [self._cells(r.reads) if isinstance(r, (Dma, Compute)) else set[int]() for r in records]
        self.writes = [self._cells(r.writes) if isinstance(r, (Dma, Compute)) else set[int]() for r in records]

    def _match_waits(self) -> None:
        """A barrier takes the oldest transfers of its tag that nobody has taken."""
        for position, record in enumerate(self.records):
            if not isinstance(record, MemoryBar):
                continue
            waiting = [
                i
                for i, r in enumerate(self.records[:position])
                if isinstance(r, Dma) and r.is_async and r.tag == record.tag and i not in self.barrier_of
            ]
            taken = waiting[: record.count] if record.count else waiting
            if taken:
                self.transfers_of[position] = taken
                self.barrier_of.update(dict.fromkeys(taken, position))

    def _cells(self, ranges: Sequence[Range]) -> set[int]:
        places = [r.arena for r in ranges if r.buffer != SA_WEIGHTS]
        return {c for c, (start, end) in enumerate(self.cells) if any(a <= start and end <= b for a, b in places)}

    @property
    def footprint(self) -> int:
        """Distinct bytes per lane."""
        return sum(self.size(c) for c in set[int]().union(*self.reads, *self.writes))

    def size(self, cell: int) -> int:
        """Bytes of a cell."""
        start, end = self.cells[cell]
        return end - start

    def is_matmul(self, i: int) -> bool:
        """Record i is a matmul."""
        record = self.records[i]
        return isinstance(record, Compute) and record.compute_type is ComputeType.MATMUL

    def on_array(self, i: int) -> bool:
        """Record i is a matmul or a preload."""
        record = self.records[i]
        return isinstance(record, Compute) and record.compute_type is not ComputeType.VECTOR

    def accumulates(self, i: int, cell: int) -> bool:
        """Record i is a matmul that adds to the cell."""
        return self.is_matmul(i) and cell in self.reads[i] and cell in self.writes[i]

    # -- who made the bytes that a record sees ---------------------------------------------------------------------------
    @cached_property
    def history(self) -> list[list[Write]]:
        """Writes of each cell in order of the position at which they take effect."""
        history: list[list[Write]] = [[] for _ in self.cells]
        for i, record in enumerate(self.records):
            for load in self.transfers_of.get(i, []):
                for cell in self.writes[load]:
                    history[cell].append(Write(i, i, joins=False))
            if not (isinstance(record, Dma) and record.is_async):
                for cell in self.writes[i]:
                    history[cell].append(Write(i, i, self.accumulates(i, cell)))
        return history

    def makers(self, position: int, cell: int) -> set[int]:
        """Records whose work is in the cell just before ``position``: the last overwriting one, and all matmuls that added to it since."""
        made: set[int] = set()
        for write in reversed([w for w in self.history[cell] if w.position < position]):
            made.add(write.writer)
            if not write.joins:
                break
        return made

    @cached_property
    def needs(self) -> dict[int, set[Event]]:
        """Record -> events that must come before its issue."""
        return {i: self._needs(i) for i in self.instructions}

    def _needs(self, i: int) -> set[Event]:
        record = self.records[i]
        needs = {(t, "ISSUE") for t in self.transfers_of.get(i, [])}
        for cell in self.reads[i]:
            for maker in self.makers(i, cell):
                if self.accumulates(i, cell) and self.is_matmul(maker):
                    continue
                needs.add((maker, "ISSUE" if self.on_array(i) and self.on_array(maker) else "DONE"))
        if self.is_matmul(i):
            needs.add((max(p for p in range(i) if self.on_array(p) and not self.is_matmul(p)), "ISSUE"))
        if isinstance(record, Dma) and record.direction is Direction.LOAD:
            for s, stored in enumerate(self.records[:i]):
                if isinstance(stored, Dma) and stored.direction is Direction.STORE and self._overlap(s, i):
                    needs.add((self.barrier_of.get(s, s), "DONE"))
        return needs

    def granules(self, i: int, size: int) -> int:
        """DRAM granules of ``size`` bytes that the active elements of a transfer lie in."""
        ascending = self._dram_bytes[i] // size
        return int(np.count_nonzero(np.diff(ascending))) + (ascending.size > 0)

    def _overlap(self, i: int, j: int) -> bool:
        one, other = self._dram_bytes[i], self._dram_bytes[j]
        if not (one.size and other.size) or one[-1] < other[0] or other[-1] < one[0]:
            return False
        return bool(np.intersect1d(one, other, assume_unique=True).size)

    @cached_property
    def _dram_bytes(self) -> dict[int, Addresses]:
        return {i: active_bytes(r, self.bases[r.arg_id]) for i, r in enumerate(self.records) if isinstance(r, Dma)}

    # -- scratchpad versions ---------------------------------------------------------------------------------------------
    @cached_property
    def versions(self) -> list[Version]:
        """All versions. A block that reads the cell it writes passes the version on; parts of one tag that interleave share one."""
        made: list[Version] = []
        for cell in range(len(self.cells)):
            current: Version | None = None
            for i in self.instructions:
                if cell in self.reads[i] and current is not None:
                    current.readers.append(i)
                passed_on = isinstance(self.records[i], Compute) and cell in self.reads[i] and current is not None
                if cell in self.writes[i] and not passed_on and not self._lands_with(current, i):
                    current = Version(i, self.size(cell))
                    made.append(current)
        return made

    def _lands_with(self, version: Version | None, i: int) -> bool:
        """An asynchronous load into bytes that another one, under the same barrier, is still bringing."""
        if version is None or version.opener not in self.barrier_of or i not in self.barrier_of:
            return False
        return self.barrier_of[version.opener] == self.barrier_of[i]


def active_bytes(record: Dma, base: int) -> Addresses:
    """Addresses of all bytes of the active elements, each once, ascending."""
    width = record.element_bits // 8
    elements = np.array(record.element_offset)
    for low, high, stride in zip(record.low, record.high, record.strides, strict=True):
        elements = elements[..., None] + stride * np.arange(low, high)
    return np.unique(base + width * elements[..., None] + np.arange(width))


def _ranges(record: Record) -> list[Range]:
    if not isinstance(record, (Dma, Compute)):
        return []
    return [r for r in (*record.reads, *record.writes) if r.buffer != SA_WEIGHTS]
