"""Random legal traces for property tests and fuzzing: any source of choices in, records out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from togsim.records import Range, Record
from togsim.synthetic import TraceBuilder

BLOCKS: list[tuple[int, int]] = [(0, 0), (7, 0), (40, 12), (5, 5), (90, 60), (130, 2)]
"""Cycle table of the random traces: block 0 is the zero-cycle one."""
BASES: list[int] = [0x10_0000_0000, 0x10_0000_4000]
ARENA = 512
"""Arena bytes per lane that the traces use."""
_GRAIN = 32
_TAGS = 3

Choose = Callable[[int], int]
"""choose(n) gives an integer in 0..n-1."""


@dataclass
class _Item:
    """What one work-item has done so far, byte by byte."""

    written: list[bool] = field(default_factory=lambda: [False] * ARENA)
    in_flight: list[bool] = field(default_factory=lambda: [False] * ARENA)
    queues: dict[int, list[tuple[str, Range, tuple[int, int, int]]]] = field(default_factory=lambda: {tag: [] for tag in range(_TAGS)})


def random_trace(choose: Choose, *, items: int = 3, steps: int = 12) -> list[Record]:
    """A legal trace of up to ``items`` work-items of up to ``steps`` steps each, for ``BASES`` and ``BLOCKS``.

    It has asynchronous and synchronous transfers, subtile loads, waits by count and for all, in-place and zero-cycle blocks,
    overlaid buffers, accumulation into seeded and unseeded outputs, preloads with several consumers, and loads of DRAM
    bytes that were stored before.
    """
    trace = TraceBuilder()
    for number in range(1 + choose(items)):
        trace.item(number)
        state = _Item()
        for _ in range(1 + choose(steps)):
            _STEPS[choose(len(_STEPS))](trace, state, choose)
        for tag in range(_TAGS):
            _wait(trace, state, tag, 0)
    return trace.finish()


def _range(choose: Choose, buffers: int = 8) -> Range:
    """A stretch of the arena; different buffer numbers may name the same bytes."""
    start = choose(ARENA // _GRAIN) * _GRAIN
    length = min(ARENA - start, (1 + choose(6)) * _GRAIN // 2)
    inner = choose(2) * (length // 2)
    return Range(choose(buffers), start, inner, length - inner)


def _bytes(place: Range) -> range:
    return range(*place.arena)


def _quiet(state: _Item, place: Range) -> bool:
    return not any(state.in_flight[b] for b in _bytes(place))


def _readable(state: _Item, place: Range) -> bool:
    return _quiet(state, place) and any(state.written[b] for b in _bytes(place))


def _wait(trace: TraceBuilder, state: _Item, tag: int, count: int) -> None:
    queue = state.queues[tag]
    if not queue:
        return
    done, state.queues[tag] = (queue, []) if count == 0 else (queue[:count], queue[count:])
    trace.wait(tag, count)
    for kind, place, _ in done:
        if kind == "load":
            for b in _bytes(place):
                state.in_flight[b] = False


def _step_wait(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    tag = choose(_TAGS)
    _wait(trace, state, tag, choose(1 + len(state.queues[tag])))


def _step_load(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    place = _range(choose)
    if not _quiet(state, place):
        return
    arg, offset, elements = choose(len(BASES)), choose(64) * 4, 1 + choose(400)
    for tag, queue in state.queues.items():  # a load of bytes whose store is in flight would be a race
        if any(kind == "store" and region[0] == arg and region[1] < offset + elements and offset < region[2] for kind, _, region in queue):
            _wait(trace, state, tag, 0)
    tag = choose(_TAGS + 1)
    trace.load(place, elements, arg=arg, offset=offset, tag=None if tag == _TAGS else tag)
    for b in _bytes(place):
        state.written[b] = True
        state.in_flight[b] = tag < _TAGS
    if tag < _TAGS:
        state.queues[tag].append(("load", place, (arg, offset, offset + elements)))


def _step_store(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    place = _range(choose)
    if not _readable(state, place):
        return
    arg, offset, elements = choose(len(BASES)), choose(64) * 4, 1 + choose(200)
    tag = choose(_TAGS + 1)
    trace.store(place, elements, arg=arg, offset=offset, tag=None if tag == _TAGS else tag)
    if tag < _TAGS:
        state.queues[tag].append(("store", place, (arg, offset, offset + elements)))


def _step_vector(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    reads = tuple(place for place in (_range(choose) for _ in range(choose(3))) if _readable(state, place))
    out = reads[0] if reads and choose(2) else _range(choose)
    if not _quiet(state, out):
        return
    trace.vector(choose(len(BLOCKS)), reads, (out,))
    for b in _bytes(out):
        state.written[b] = True


def _step_matmul(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    weights, left = _range(choose), _range(choose)
    if not (_readable(state, weights) and _readable(state, left)):
        return
    outs = [place for place in (_range(choose) for _ in range(1 + choose(3))) if _quiet(state, place)]
    if not outs:
        return
    trace.preload(choose(len(BLOCKS)), weights)
    for out in outs:
        trace.matmul(choose(len(BLOCKS)), left, out, accumulate=choose(4) > 0)
        for b in _bytes(out):
            state.written[b] = True


_STEPS = (_step_load, _step_load, _step_wait, _step_vector, _step_vector, _step_matmul, _step_matmul, _step_store)
