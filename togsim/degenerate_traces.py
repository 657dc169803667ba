"""Traces that are wrong in exactly one way, after a legal beginning, and the error that each must give."""

from __future__ import annotations

from collections.abc import Callable

from togsim.random_traces import ARENA, Choose, extend
from togsim.records import WEIGHTS, Compute, ComputeType, Range, Record
from togsim.synthetic import TraceBuilder

_A, _B, _C = (Range(k, ARENA + 64 * k, 0, 64) for k in range(3))
"""Places that the legal beginning does not use."""
_NEW_TAG = 9


def _raw(trace: TraceBuilder, record: Record) -> None:
    trace.load(_A, 16).records.append(record)


DEGENERATE: dict[str, list[Callable[[TraceBuilder], object]]] = {
    "preload without consumer": [
        lambda t: t.load(_A, 16).preload(1, _A),
        lambda t: t.load(_A, 16).preload(1, _A).preload(1, _A).matmul(1, _A, _B),
        lambda t: t.load(_A, 16).preload(1, _A).matmul(1, _A, _B).preload(1, _A),
    ],
    "preload that writes no weights": [lambda t: _raw(t, Compute(1, ComputeType.PRELOAD, (_A,), ()))],
    "matmul that reads no weights": [lambda t: _raw(t, Compute(1, ComputeType.MATMUL, (_A,), (_B,)))],
    "wait without transfer": [lambda t: t.wait(_NEW_TAG), lambda t: t.load(_A, 16, tag=_NEW_TAG).wait(_NEW_TAG + 1).wait(_NEW_TAG)],
    "wait for more transfers than there are": [lambda t: t.load(_A, 16, tag=_NEW_TAG).wait(_NEW_TAG, 2)],
    "transfer that is never waited for": [
        lambda t: t.load(_A, 16, tag=_NEW_TAG),
        lambda t: t.vector(1, (), (_A,)).store(_A, 16, offset=1 << 20, tag=_NEW_TAG),
    ],
    "store of an unwritten buffer": [lambda t: t.store(_C, 16), lambda t: t.vector(1, (), (_A,)).store(_B, 16)],
    "work-item does not fit the scratchpad": [
        lambda t: t.vector(1, (), (Range(0, 0, 0, 1025),)),
        lambda t: t.vector(1, (), (Range(0, 2000, 0, 600),)).vector(1, (), (Range(1, 4000, 0, 600),)),
    ],
    "unknown compute block": [lambda t: t.vector(99, (), (_A,)), lambda t: t.vector(-1, (), (_A,))],
    "unknown tensor argument": [lambda t: t.load(_A, 16, arg=7)],
    "wait for some of the transfers that interleave": [
        lambda t: t.load(_A, 16, tag=_NEW_TAG).load(_A, 16, tag=_NEW_TAG).wait(_NEW_TAG, 1).wait(_NEW_TAG)
    ],
    "bytes read while their load is in flight": [lambda t: t.load(_A, 16, tag=_NEW_TAG).vector(1, (_A,), (_B,)).wait(_NEW_TAG)],
    "bytes written while a load into them is in flight": [
        lambda t: t.load(_A, 16, tag=_NEW_TAG).vector(1, (), (_A,)).wait(_NEW_TAG),
        lambda t: t.load(_A, 16, tag=_NEW_TAG).load(_A, 16, tag=_NEW_TAG + 1).wait(_NEW_TAG).wait(_NEW_TAG + 1),
    ],
    "load of DRAM bytes whose store is in flight": [
        lambda t: t.vector(1, (), (_A,)).store(_A, 16, offset=1 << 20, tag=_NEW_TAG).load(_B, 16, offset=(1 << 20) + 15).wait(_NEW_TAG)
    ],
    "transfer below address 0": [lambda t: t.load(_A, 16, offset=-(2**40))],
}
"""Error -> defects that must give it, for a scratchpad of 1 KiB per lane."""


def degenerate_trace(defect: Callable[[TraceBuilder], object], choose: Choose, *, steps: int = 6) -> list[Record]:
    """A legal work-item, then one that begins legally and has the defect."""
    trace = TraceBuilder().item(0)
    extend(trace, choose, steps)
    extend(trace.item(1), choose, steps)
    defect(trace)
    return trace.finish()


def unpinned_matmul() -> list[Record]:
    """A matmul before any preload of its work-item, whatever an earlier work-item preloaded."""
    trace = TraceBuilder().item(0).load(_A, 16).preload(1, _A).matmul(1, _A, _B)
    trace.item(1).load(_A, 16).records.append(Compute(1, ComputeType.MATMUL, (_A, WEIGHTS), (_B,)))
    return trace.finish()
