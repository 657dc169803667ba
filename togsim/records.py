"""The records of a trace as typed data: what a producer says a kernel does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from togsim import _core

SA_WEIGHTS = -1
"""Virtual buffer of the weights in a systolic array: written by preloads, read by matmuls, no bytes."""


class Direction(IntEnum):
    """Direction of a transfer."""

    LOAD = 0
    STORE = 1


class ComputeType(IntEnum):
    """Which unit executes a compute block."""

    VECTOR = 0
    MATMUL = 1
    PRELOAD = 2


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes ``[begin, begin + length)`` of one scratchpad buffer, per lane; the buffer lies at ``arena_offset``."""

    buffer: int
    arena_offset: int = 0
    begin: int = 0
    length: int = 0

    @property
    def arena(self) -> tuple[int, int]:
        """First arena byte and the byte after the last."""
        start = self.arena_offset + self.begin
        return start, start + self.length


WEIGHTS = Range(SA_WEIGHTS)


@dataclass(frozen=True, slots=True)
class TileBegin:
    """Start of work-item number ``item`` with its loop indices."""

    item: int
    iv: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TileEnd:
    """End of work-item number ``item``."""

    item: int


@dataclass(frozen=True, slots=True)
class Dma:
    """One tile transfer. Offsets and strides in elements, dimension 0 outermost; active positions are ``low <= i < high``."""

    direction: Direction
    arg_id: int
    element_offset: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    element_bits: int
    is_async: bool
    tag: int
    reads: tuple[Range, ...] = ()
    writes: tuple[Range, ...] = ()

    @property
    def indirect(self) -> bool:
        """Whether its addresses come from an index buffer: a load that reads one, a store that reads another buffer than its source."""
        buffers = {part.buffer for part in self.reads}
        return len(buffers) > (self.direction is Direction.STORE)


@dataclass(frozen=True, slots=True)
class Compute:
    """One compute block; ``block_id`` indexes the cycle table."""

    block_id: int
    compute_type: ComputeType
    reads: tuple[Range, ...] = ()
    writes: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """Wait for the ``count`` oldest transfers of a tag slot; 0 = all."""

    tag: int
    count: int


Record = TileBegin | Dma | Compute | MemoryBar | TileEnd


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a kernel in program order."""

    records: tuple[Record, ...] = field(default=())

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def work_items(self) -> list[list[Record]]:
        """Records of each work-item, TileBegin and TileEnd included."""
        items: list[list[Record]] = []
        for record in self.records:
            if isinstance(record, TileBegin):
                items.append([])
            items[-1].append(record)
        return items


def enumerate_records(kernel_fn: int, abi_fn: int, shape_args: Sequence[int] = ()) -> Records:
    """Run a producer and return everything it says.

    Args:
        kernel_fn: address of ``togsim_kernel``.
        abi_fn: address of ``togsim_abi_version``.
        shape_args: passed to the kernel.

    Raises:
        TraceError: another ABI version, a null address, a malformed record.
    """
    return records_of(_core.CompiledProducer(kernel_fn, abi_fn, list(shape_args)))


def records_of(producer: _core.Producer) -> Records:
    """All records of a producer object."""
    return Records(tuple(_from_tuple(entry) for entry in producer.records()))


def load_shared_object(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Load a compiled producer; returns the addresses of ``togsim_kernel`` and ``togsim_abi_version``.

    Raises:
        TraceError: no such file, not a shared object, a missing symbol, another ABI version.
    """
    return _core.load_shared_object(os.path.abspath(os.fspath(path)))


def synthetic_producer(records: Iterable[Record]) -> _core.SyntheticProducer:
    """A producer made from data, for tests and hand-made traces.

    Raises:
        TraceError: a malformed record, or records outside TileBegin .. TileEnd.
    """
    return _core.SyntheticProducer([_to_tuple(record) for record in records])


def _ranges(entries: Iterable[tuple[int, int, int, int]]) -> tuple[Range, ...]:
    return tuple(Range(*entry) for entry in entries)


def _from_tuple(entry: tuple[Any, ...]) -> Record:
    match entry[0]:
        case "begin":
            return TileBegin(entry[1], entry[2])
        case "end":
            return TileEnd(entry[1])
        case "dma":
            return Dma(Direction(entry[1]), *entry[2:11], reads=_ranges(entry[11]), writes=_ranges(entry[12]))
        case "compute":
            return Compute(entry[1], ComputeType(entry[2]), _ranges(entry[3]), _ranges(entry[4]))
        case _:
            return MemoryBar(entry[1], entry[2])


def _range_tuples(ranges: Iterable[Range]) -> tuple[tuple[int, int, int, int], ...]:
    return tuple((r.buffer, r.arena_offset, r.begin, r.length) for r in ranges)


def _to_tuple(record: Record) -> tuple[Any, ...]:
    match record:
        case TileBegin(item, iv):
            return ("begin", item, tuple(iv))
        case TileEnd(item):
            return ("end", item)
        case Dma():
            shape = (tuple(record.dims), tuple(record.strides), tuple(record.low), tuple(record.high))
            head = (
                "dma",
                int(record.direction),
                record.arg_id,
                record.element_offset,
                *shape,
                record.element_bits,
                record.is_async,
                record.tag,
            )
            return (*head, _range_tuples(record.reads), _range_tuples(record.writes))
        case Compute():
            return ("compute", record.block_id, int(record.compute_type), _range_tuples(record.reads), _range_tuples(record.writes))
        case MemoryBar(tag, count):
            return ("bar", tag, count)
