"""Random legal traces for property tests and fuzzing: any source of choices in, records out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from togsim.records import Direction, Dma, Range, Record
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
    peeled: set[int] = field(default_factory=set[int])
    """Tags with loads that interleave: a wait takes all of them."""
    queues: dict[int, list[tuple[str, Range, tuple[int, int, int]]]] = field(default_factory=lambda: {tag: [] for tag in range(_TAGS)})


def random_trace(choose: Choose, *, items: int = 3, steps: int = 12) -> list[Record]:
    """A legal trace of up to ``items`` work-items of up to ``steps`` steps each, for ``BASES`` and ``BLOCKS``.

    It has asynchronous and synchronous transfers, strided and masked ones, indirect ones, subtile loads, loads that interleave under one
    tag, stores of parts, waits by count and for all, in-place and zero-cycle blocks, overlaid buffers, ragged sizes, accumulation chains
    over several arrays into seeded and unseeded outputs, preloads with several consumers, and loads of DRAM bytes that were stored before.
    """
    trace = TraceBuilder()
    for number in range(1 + choose(items)):
        extend(trace.item(number), choose, steps)
    return trace.finish()


def extend(trace: TraceBuilder, choose: Choose, steps: int) -> None:
    """Add up to ``steps`` legal steps to an empty work-item, and wait for all its transfers."""
    state = _Item()
    for _ in range(1 + choose(steps)):
        _STEPS[choose(len(_STEPS))](trace, state, choose)
    for tag in range(_TAGS):
        _wait(trace, state, tag, 0)


def _range(choose: Choose, buffers: int = 8) -> Range:
    """A stretch of the arena; different buffer numbers may name the same bytes."""
    start = choose(ARENA // _GRAIN) * _GRAIN
    length = min(ARENA - start, (1 + choose(6)) * _GRAIN // 2)
    inner = choose(2) * (length // 2)
    ragged = choose(4) if length > inner + 4 else 0
    return Range(choose(buffers), start, inner, length - inner - ragged)


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
    count = 0 if tag in state.peeled else count
    state.peeled.discard(tag)
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
    arg, offset, elements = choose(len(BASES)), choose(64) * 4, 3 + choose(400)
    for tag, queue in state.queues.items():  # a load of bytes whose store is in flight would be a race
        if any(kind == "store" and region[0] == arg and region[1] < offset + elements and offset < region[2] for kind, _, region in queue):
            _wait(trace, state, tag, 0)
    tag = choose(_TAGS + 1)
    index = _range(choose) if choose(5) == 0 else None
    if index is not None and not _readable(state, index):
        index = None
    if choose(3) == 0:
        rows, low = 1 + choose(4), choose(3)
        pitch = elements // (rows + 2)
        box = ((rows, 3), (pitch, 1), (0, low), (rows, 3 - choose(4 - low)), 32)
        trace.records.append(Dma(Direction.LOAD, arg, offset, *box, tag < _TAGS, tag % _TAGS, (), (place,)))
    else:
        trace.load(place, elements, arg=arg, offset=offset, tag=None if tag == _TAGS else tag, index=index)
    for b in _bytes(place):
        state.written[b] = True
        state.in_flight[b] = tag < _TAGS
    if tag < _TAGS:
        state.queues[tag].append(("load", place, (arg, offset, offset + elements)))


def _step_peeled(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    """The parts of one transfer, whose hulls overlap: one tag, and one wait for all of them."""
    tag = choose(_TAGS)
    first = _range(choose)
    parts = [Range(first.buffer, first.arena_offset, first.begin + 4 * k, first.length) for k in range(2 + choose(2))]
    if parts[-1].arena[1] > ARENA or not all(_quiet(state, part) for part in parts):
        return
    for other, queue in state.queues.items():
        if any(kind == "store" for kind, *_ in queue):
            _wait(trace, state, other, 0)
    state.peeled.add(tag)
    for k, part in enumerate(parts):
        trace.load(part, 16, offset=64 * k, tag=tag)
        state.queues[tag].append(("load", part, (0, 64 * k, 64 * k + 16)))
    for b in {b for part in parts for b in _bytes(part)}:
        state.written[b] = state.in_flight[b] = True


def _step_store(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    place = _range(choose)
    if not _readable(state, place):
        return
    arg, offset, elements = choose(len(BASES)), choose(64) * 4, 1 + choose(200)
    tag = choose(_TAGS + 1)
    index = _range(choose) if choose(5) == 0 else None
    if index is not None and (index.buffer == place.buffer or not _readable(state, index)):
        index = None
    trace.store(place, elements, arg=arg, offset=offset, tag=None if tag == _TAGS else tag, index=index)
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


def _step_chain(trace: TraceBuilder, state: _Item, choose: Choose) -> None:
    """A sum over K: several preloads in a row, each with matmuls into the tiles of one output, then somebody who reads the sum."""
    weights, left, out = _range(choose), _range(choose), _range(choose)
    if not (_readable(state, weights) and _readable(state, left) and _quiet(state, out)):
        return
    if choose(2):
        trace.vector(choose(len(BLOCKS)), (), (out,))
    half = out.length // 2
    tiles = [Range(out.buffer, out.arena_offset, out.begin, half), Range(out.buffer, out.arena_offset, out.begin + half, out.length - half)]
    for _ in range(2 + choose(4)):
        trace.preload(choose(len(BLOCKS)), weights)
        for tile in tiles if choose(2) else [out]:
            trace.matmul(choose(len(BLOCKS)), left, tile)
    for b in _bytes(out):
        state.written[b] = True
    if choose(2):
        trace.vector(choose(len(BLOCKS)), (out,), (out,))
    trace.store(tiles[choose(2)], 1 + choose(30), arg=1, offset=4096)


_STEPS = (
    *(_step_load, _step_load, _step_load, _step_peeled, _step_wait, _step_vector, _step_vector),
    *(_step_matmul, _step_matmul, _step_chain, _step_store),
)
