"""Traces made by hand: a small builder, and the tiled matrix product used by tests and benchmarks."""

from __future__ import annotations

from togsim import _core
from togsim.records import WEIGHTS, Compute, ComputeType, Direction, Dma, MemoryBar, Range, Record, TileBegin, TileEnd, synthetic_producer


class TraceBuilder:
    """Collects records of work-items. All ranges are bytes per lane at their arena place."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._items = 0
        self._open = False

    def item(self, *iv: int) -> TraceBuilder:
        """Begin the next work-item (and end the one before)."""
        self._close()
        self.records.append(TileBegin(self._items, iv))
        self._open = True
        return self

    def load(
        self, to: Range | None, elements: int, *, arg: int = 0, offset: int = 0, tag: int | None = None, index: Range | None = None
    ) -> TraceBuilder:
        """Load ``elements`` consecutive 32-bit elements; asynchronous if a tag is given."""
        self.records.append(linear(Direction.LOAD, elements, arg, offset, tag, (index,) if index else (), (to,) if to else ()))
        return self

    def store(
        self, source: Range, elements: int, *, arg: int = 0, offset: int = 0, tag: int | None = None, index: Range | None = None
    ) -> TraceBuilder:
        """Store ``elements`` consecutive 32-bit elements; an index must be another buffer than the source."""
        self.records.append(linear(Direction.STORE, elements, arg, offset, tag, (source, index) if index else (source,), ()))
        return self

    def wait(self, tag: int, count: int = 0) -> TraceBuilder:
        """Wait for the oldest transfers of a tag."""
        self.records.append(MemoryBar(tag, count))
        return self

    def vector(self, block: int, reads: tuple[Range, ...] = (), writes: tuple[Range, ...] = ()) -> TraceBuilder:
        """A block of the vector unit."""
        self.records.append(Compute(block, ComputeType.VECTOR, reads, writes))
        return self

    def preload(self, block: int, weights: Range) -> TraceBuilder:
        """Load weights into a systolic array."""
        self.records.append(Compute(block, ComputeType.PRELOAD, (weights,), (WEIGHTS,)))
        return self

    def matmul(self, block: int, left: Range, out: Range, *, accumulate: bool = True) -> TraceBuilder:
        """Multiply with the weights of the last preload."""
        reads = (left, WEIGHTS, out) if accumulate else (left, WEIGHTS)
        self.records.append(Compute(block, ComputeType.MATMUL, reads, (out,)))
        return self

    def finish(self) -> list[Record]:
        """All records."""
        self._close()
        return self.records

    def producer(self) -> _core.SyntheticProducer:
        """The records as a producer."""
        return synthetic_producer(self.finish())

    def _close(self) -> None:
        if self._open:
            self.records.append(TileEnd(self._items))
            self._items += 1
            self._open = False


def linear(
    direction: Direction, elements: int, arg: int, offset: int, tag: int | None, reads: tuple[Range, ...], writes: tuple[Range, ...]
) -> Dma:
    """A transfer of consecutive 32-bit elements."""
    is_async = tag is not None
    return Dma(direction, arg, offset, (elements,), (1,), (0,), (elements,), 32, is_async, tag or 0, reads, writes)


def gemm_trace(size: int, tile: int, lanes: int) -> tuple[list[Record], list[tuple[int, int]], list[int]]:
    """Records, cycle table and tensor addresses of a size^3 f32 matrix product in tile^3 steps, each in lanes^2 chunks.

    Blocks: 0 zeroes the accumulator, 1 preloads one chunk of weights, 2 streams tile rows through the array.
    """
    per_lane = tile * tile * 4 // lanes
    trace = TraceBuilder()
    out = Range(2, 2 * per_lane, 0, per_lane)
    for m in range(0, size, tile):
        for n in range(0, size, tile):
            trace.item(m, n).vector(0, (), (out,))
            for k in range(0, size, tile):
                trace.records.append(_square(Direction.LOAD, 0, m * size + k, size, tile, 0, Range(0, 0, 0, per_lane)))
                trace.records.append(_square(Direction.LOAD, 1, k * size + n, size, tile, 1, Range(1, per_lane, 0, per_lane)))
                trace.wait(0, 1).wait(1, 1)
                for chunk_k in range(tile // lanes):
                    for chunk_n in range(tile // lanes):
                        trace.preload(1, Range(1, per_lane, (chunk_n * tile + chunk_k * lanes) * 4, lanes * 4))
                        trace.matmul(2, Range(0, 0, chunk_k * tile * 4, tile * 4), Range(2, 2 * per_lane, chunk_n * tile * 4, tile * 4))
            trace.records.append(_square(Direction.STORE, 2, m * size + n, size, tile, 2, out))
            trace.wait(2, 1)
    table = [(max(1, per_lane // 32), 0), (lanes, lanes), (tile + 2 * lanes, 2 * lanes)]
    first = 0x10_0000_0000
    return trace.finish(), table, [first, first + 4 * size * size, first + 8 * size * size]


def _square(direction: Direction, arg: int, offset: int, pitch: int, tile: int, tag: int, place: Range) -> Dma:
    reads, writes = ((), (place,)) if direction is Direction.LOAD else ((place,), ())
    return Dma(direction, arg, offset, (tile, tile), (pitch, 1), (0, 0), (tile, tile), 32, True, tag, reads, writes)
