"""Live ranges of buffers and their places in the scratchpad arena."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchsim.plan.model import Block, ChunkLoop, Item, SpadBuffer, TileLoop, Transfer, Wait


def leaves(body: Sequence[Item]) -> Iterator[Transfer | Wait | Block]:
    """Transfers, waits and blocks in textual order; their positions are what live ranges count."""
    for item in body:
        if isinstance(item, TileLoop | ChunkLoop):
            yield from leaves(item.body)
        else:
            yield item


def wait_targets(wait: Wait, transfers: Sequence[Transfer]) -> list[Transfer]:
    """Transfers whose tags a wait may name (its constant part lies in their tag range)."""
    return [item for item in transfers if item.tag <= wait.tag.constant < item.tag + item.pieces]


def accesses(body: Sequence[Item]) -> list[tuple[int, set[int], set[int]]]:
    """(position, buffers read, buffers written) of every leaf; a wait touches the buffers of the transfers that it completes."""
    items = list(leaves(body))
    transfers = [item for item in items if isinstance(item, Transfer)]
    found: list[tuple[int, set[int], set[int]]] = []
    for position, item in enumerate(items):
        if isinstance(item, Block):
            found.append((position, {r.buffer for r in item.reads}, {r.buffer for r in item.writes}))
            continue
        for transfer in [item] if isinstance(item, Transfer) else wait_targets(item, transfers):
            load = transfer.direction == "load"
            found.append((position, set() if load else {transfer.buffer}, {transfer.buffer} if load else set()))
    return found


def live_ranges(body: Sequence[Item]) -> dict[int, tuple[int, int]]:
    """First and last position at which each buffer is live.

    What is touched inside a loop and outside of it, or read in a loop before it is written there, is live through the whole loop.
    """
    touched = accesses(body)
    ranges: dict[int, tuple[int, int]] = {}
    for position, reads, writes in touched:
        for buffer in reads | writes:
            first, _ = ranges.get(buffer, (position, position))
            ranges[buffer] = (first, position)
    for begin, end in reversed(list(_loops(body))):  # inner loops first, so that what they widen reaches the outer ones
        for buffer, (first, last) in ranges.items():
            if last < begin or first > end:
                continue
            inside = [(reads, writes) for position, reads, writes in touched if begin <= position <= end and buffer in reads | writes]
            if first < begin or last > end or buffer in inside[0][0]:
                ranges[buffer] = (min(first, begin), max(last, end))
    return ranges


def _loops(body: Sequence[Item], start: int = 0) -> Iterator[tuple[int, int]]:
    """First and last position of every loop, outer loops before those inside them."""
    position = start
    for item in body:
        if isinstance(item, TileLoop | ChunkLoop):
            size = sum(1 for _ in leaves(item.body))
            yield position, position + size - 1
            yield from _loops(item.body, position)
            position += size
        else:
            position += 1


def place(buffers: Sequence[SpadBuffer], body: Sequence[Item]) -> tuple[SpadBuffer, ...]:
    """Give every buffer its live range and an offset; buffers that are never live together may share bytes.

    First fit, largest first; buffers that nothing touches keep the range (0, 0).
    """
    ranges = live_ranges(body)
    placed: dict[int, SpadBuffer] = {}
    for index in sorted(range(len(buffers)), key=lambda i: (-buffers[i].bytes_per_lane, i)):
        first, last = ranges.get(index, (0, 0))
        size = buffers[index].bytes_per_lane
        taken = sorted(
            (other.offset, other.offset + other.bytes_per_lane) for other in placed.values() if other.first <= last and first <= other.last
        )
        offset = 0
        for begin, end in taken:
            if begin - offset >= size:
                break
            offset = max(offset, end)
        placed[index] = replace(buffers[index], offset=offset, first=first, last=last)
    return tuple(placed[index] for index in range(len(buffers)))
