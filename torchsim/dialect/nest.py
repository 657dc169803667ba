"""Loop nests of a vector block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchsim.dialect.build import Index, add, loop


def nest(extents: Sequence[int], body: Callable[[tuple[Index, ...]], None], index: tuple[Index, ...] = ()) -> None:
    """Nested loops 0 .. extent-1, first outermost."""
    if not extents:
        body(index)
        return
    loop(0, extents[0], 1, lambda i: nest(extents[1:], body, (*index, i)))


def chunks(extent: int, length: int, body: Callable[[Index, int], None]) -> None:
    """``body(start, count)`` over vectors of ``length`` elements, then once for the shorter rest: no masks, nothing beyond the extent."""
    main = extent - extent % length
    loop(0, main, length, lambda start: body(start, length))
    if main < extent:
        body(main, extent - main)


def interleaved_chunks(extent: int, length: int, together: int, body: Callable[[list[Index], int], None]) -> None:
    """As ``chunks``, ``together`` vectors in one iteration: ``body(starts, count)``; then the vectors that are left, one by one."""
    main = extent - extent % (length * together)
    loop(0, main, length * together, lambda start: body([add(start, i * length) for i in range(together)], length))
    loop(main, extent - extent % length, length, lambda start: body([start], length))
    if extent % length:
        body([extent - extent % length], extent % length)
