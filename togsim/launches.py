"""What a machine with several partitions runs, and where the addresses of indirect transfers come from."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from togsim import _core
from togsim.errors import TraceError
from togsim.records import Dma, records_of

SUPPLIED = "supplied"
"""Source of index values that the program really uses."""


@dataclass(frozen=True, slots=True)
class IndexValues:
    """Addresses of the indirect transfers of one kernel call.

    Attributes:
        offsets: (work-item, record within it) -> elements that are added to the DRAM address of every tile position, row-major,
            one per position of the tile whether active or not: index value times index stride.
        source: ``"supplied"`` for the values of a functional run or of the author of a trace; else the distribution they were drawn
            from, and the result is marked approximate.
    """

    offsets: Mapping[tuple[int, int], Sequence[int]] = field(default_factory=dict[tuple[int, int], Sequence[int]])
    source: str = SUPPLIED


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel call on one partition.

    Attributes:
        producer: its trace.
        bases: device address of every tensor argument. Partitions share one memory: what is not the same tensor needs its own addresses.
        cycle_table: latency and overlapping cycles of every block id.
        partition: where it runs. Launches of one partition run one after another in the order given.
        earliest: core cycle before which it does not begin (its arrival).
        indices: addresses of its indirect transfers. Without them they are timed as dense ones, and the result says so.
    """

    producer: _core.Producer
    bases: Sequence[int]
    cycle_table: Sequence[tuple[int, int]]
    partition: int = 0
    earliest: int = 0
    indices: IndexValues = IndexValues()

    def to_core(self) -> tuple[_core.Producer, list[int], list[tuple[int, int]], dict[tuple[int, int], list[int]], int, int]:
        """The form that the native module reads."""
        offsets = {place: list(values) for place, values in self.indices.offsets.items()}
        return self.producer, list(self.bases), list(self.cycle_table), offsets, self.partition, self.earliest


@dataclass(frozen=True, slots=True)
class LaunchStats:
    """When a launch was on the cores of its partition, in core cycles: ``begin`` <= cycle < ``end``."""

    partition: int
    begin: int
    end: int
    work_items: int

    @property
    def cycles(self) -> int:
        """Core cycles from the first admission to the last retirement."""
        return self.end - self.begin


def uniform_indices(producer: _core.Producer, extent: int, stride: int, seed: int = 0) -> IndexValues:
    """Index values for a run without tensor data: each index is drawn uniformly from ``range(extent)``, in order of the records.

    Args:
        producer: the trace; every indirect transfer gets values.
        extent: length of the indexed dimension.
        stride: elements between neighbours of that dimension.
        seed: of the generator (Python's Mersenne Twister, the same in every process).

    Raises:
        TraceError: ``extent`` is not positive.
    """
    if extent < 1:
        raise TraceError("no index to draw from", expected="an extent >= 1", found=str(extent), where="uniform_indices")
    draw = random.Random(seed)
    offsets: dict[tuple[int, int], Sequence[int]] = {}
    for item, records in enumerate(records_of(producer).work_items()):
        for number, record in enumerate(records[1:-1]):
            if isinstance(record, Dma) and record.indirect:
                offsets[item, number] = [draw.randrange(extent) * stride for _ in range(prod(record.dims))]
    return IndexValues(offsets, f"uniform over {extent}, seed {seed}")
