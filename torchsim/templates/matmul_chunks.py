"""The array part of a matmul: chunks of weights preloaded, rows pushed, waits where pieces of the operands arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchsim.plan.dtypes import DType
from torchsim.plan.model import Affine, Block, ChunkLoop, Item, Range, Wait


@dataclass(frozen=True, slots=True)
class ArrayTile:
    """Names of the k and n axes, rows of X, depth of the tile along k (a multiple of the array side), and the array side."""

    k: str
    n: str
    rows: int
    depth: int
    side: int

    @property
    def k_chunk(self) -> str:
        """Loop variable over chunks of k."""
        return f"{self.k}_chunk"

    @property
    def n_chunk(self) -> str:
        """Loop variable over chunks of n."""
        return f"{self.n}_chunk"


def array_chunks(
    tile: ArrayTile, n_chunks: int, x: int, w: int, out: int, x_tag: int | None, w_tag: int | None, block_id: Callable[[], int]
) -> list[Item]:
    """All chunks of a tile, n outermost.

    The first chunk of n stands alone: it waits for the pieces of X one by one, and the later chunks find them there.

    Args:
        x, w, out: buffers, in-lane [k chunk][m], [n chunk][k] and [n chunk][m].
        x_tag, w_tag: tag of the first fine-grained piece of an operand, one per chunk; None when the operand is already there.
    """
    k_chunks = tile.depth // tile.side
    x_waits = () if x_tag is None else (Wait(Affine(x_tag, ((tile.k_chunk, 1),))),)
    items: list[Item] = [] if w_tag is None else [Wait(Affine(w_tag))]
    items.append(ChunkLoop(tile.k_chunk, 0, k_chunks, (*x_waits, *_chunk(tile, x, w, out, {}, block_id))))
    if n_chunks > 1:
        w_waits = () if w_tag is None else (Wait(Affine(w_tag, ((tile.n_chunk, 1),))),)
        inner = ChunkLoop(tile.k_chunk, 0, k_chunks, _chunk(tile, x, w, out, {tile.n_chunk: 1}, block_id))
        items.append(ChunkLoop(tile.n_chunk, 1, n_chunks, (*w_waits, inner)))
    return items


def _chunk(tile: ArrayTile, x: int, w: int, out: int, n_step: dict[str, int], block_id: Callable[[], int]) -> tuple[Block, Block]:
    """Preload and matmul of one chunk; ``n_step`` is empty in chunk 0 of n."""
    weight = _f32(w, {tile.k_chunk: tile.side, **{name: step * tile.depth for name, step in n_step.items()}}, tile.side)
    data = _f32(x, {tile.k_chunk: tile.rows}, tile.rows)
    total = _f32(out, {name: step * tile.rows for name, step in n_step.items()}, tile.rows)
    preload = Block(block_id(), "preload", (weight,), (), weight=weight)
    reads = tuple(sorted((data, total), key=lambda item: item.buffer))
    return preload, Block(block_id(), "matmul", reads, (total,), data=data, out=total, rows=tile.rows)


def _f32(buffer: int, steps: dict[str, int], elements: int) -> Range:
    """Bytes of some f32 elements that move by ``steps`` elements with loop variables."""
    size = DType.F32.bytes
    return Range(buffer, Affine(0, tuple(sorted((name, step * size) for name, step in steps.items()))), elements * size)
