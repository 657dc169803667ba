"""List the records that a plan implies, work-item by work-item, without any IR.

Third leg of the record oracle: what the plan says, against what the trace producer emits and what the machine code executes.
Fine-grained pieces and the peeling of ranks above four follow plan.model.Transfer. Scratchpad offsets count bytes from the arena
start, the same in every lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torchsim.plan import layout
from torchsim.plan.model import Block, BlockKind, ChunkLoop, Direction, Item, KernelPlan, Range, TileLoop, Transfer, TransferDim, Wait

SA_WEIGHTS = -1
"""The virtual buffer of the array's weights: written by preloads, read by matmuls, no bytes."""
MAX_RANK = 4


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes ``[begin, begin + length)`` of a buffer, which lies at ``arena_offset``; per lane."""

    buffer: int
    arena_offset: int
    begin: int
    length: int


@dataclass(frozen=True, slots=True)
class DmaRecord:
    """One MVIN or MVOUT.

    ``element_offset``: element of the argument at tile position 0. ``dims``, strides (elements), ``low``, ``high`` (logical tile
    positions): one entry per dimension, outermost first, at most four; dimensions of extent 1 are dropped, except the split
    dimension. ``spad_offset``: bytes from the arena start.
    """

    direction: Direction
    arg: int
    element_offset: int
    dims: tuple[int, ...]
    dram_strides: tuple[int, ...]
    spad_strides: tuple[int, ...]
    split_dim: int
    vlane_stride: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    element_bytes: int
    tag: int
    spad_offset: int
    reads: tuple[ByteRange, ...]
    writes: tuple[ByteRange, ...]


@dataclass(frozen=True, slots=True)
class WaitRecord:
    """A wait for everything outstanding under a tag slot."""

    tag: int


@dataclass(frozen=True, slots=True)
class ComputeRecord:
    """One execution of a block. Preloads also write, matmuls also read SA_WEIGHTS (listed last, length 0)."""

    block_id: int
    compute_type: BlockKind
    reads: tuple[ByteRange, ...]
    writes: tuple[ByteRange, ...]


Record: TypeAlias = DmaRecord | WaitRecord | ComputeRecord


@dataclass(frozen=True, slots=True)
class WorkItemRecords:
    """Tile indices of the parallel axes, in axis order, and the records of that work-item in issue order."""

    indices: tuple[int, ...]
    records: tuple[Record, ...]


def records(plan: KernelPlan) -> Iterator[WorkItemRecords]:
    """Records of every work-item, first parallel axis outermost."""
    names = [axis.name for axis in plan.axes if not axis.reduction]
    for indices in itertools.product(*(range(count) for count in plan.grid)):
        yield WorkItemRecords(indices, tuple(_walk(plan, plan.body, dict(zip(names, indices)))))


def _walk(plan: KernelPlan, items: Sequence[Item], env: dict[str, int]) -> Iterator[Record]:
    for item in items:
        if isinstance(item, TileLoop):
            for index in range(plan.tile_count(item.axis)):
                yield from _walk(plan, item.body, {**env, plan.axes[item.axis].name: index})
        elif isinstance(item, ChunkLoop):
            for index in range(item.start, item.stop):
                yield from _walk(plan, item.body, {**env, item.variable: index})
        elif isinstance(item, Transfer):
            yield from transfer_records(plan, item, env)
        elif isinstance(item, Wait):
            yield WaitRecord(item.tag.at(env))
        else:
            yield _compute(plan, item, env)


def _compute(plan: KernelPlan, block: Block, env: dict[str, int]) -> ComputeRecord:
    def ranges(declared: Sequence[Range]) -> tuple[ByteRange, ...]:
        return tuple(ByteRange(item.buffer, plan.buffers[item.buffer].offset, item.begin.at(env), item.length) for item in declared)

    weights = (ByteRange(SA_WEIGHTS, 0, 0, 0),)
    reads = ranges(block.reads) + (weights if block.kind == "matmul" else ())
    return ComputeRecord(block.id, block.kind, reads, ranges(block.writes) + (weights if block.kind == "preload" else ()))


@dataclass(frozen=True, slots=True)
class _Dim:
    """A dimension of one piece: its extent, strides, exclusive upper bound, and whether it runs over the lanes."""

    extent: int
    dram: int
    spad: int
    high: int
    split: bool


def transfer_records(plan: KernelPlan, item: Transfer, env: dict[str, int]) -> Iterator[DmaRecord]:
    """Records of one transfer: its pieces in row-major order, each peeled to at most four dimensions."""
    counts = (range(dim.extent // dim.subtile) for dim in item.dims)
    for number, piece in enumerate(itertools.product(*counts)):
        element, spad = item.element_offset.at(env), 0
        dims: list[_Dim] = []
        for place, (dim, index) in enumerate(zip(item.dims, piece)):
            start, split = index * dim.subtile, place == item.split_dim
            element += start * dim.dram_stride
            spad += (layout.in_lane(start, item.vlane_stride, plan.lanes) if split else start) * dim.spad_stride
            dims.append(_Dim(dim.subtile, dim.dram_stride, dim.spad_stride, _high(plan, dim, start, env), split))
        yield from _peel(plan, item, item.tag + number, element, spad, dims)


def _high(plan: KernelPlan, dim: TransferDim, start: int, env: dict[str, int]) -> int:
    if not dim.bounded or dim.axis is None:
        return dim.subtile
    axis = plan.axes[dim.axis]
    inside = axis.extent - env.get(axis.name, 0) * plan.tile.extents[dim.axis] - start
    return max(0, min(dim.subtile, inside))


def _peel(plan: KernelPlan, item: Transfer, tag: int, element: int, spad: int, dims: Sequence[_Dim]) -> Iterator[DmaRecord]:
    buffer = plan.buffers[item.buffer]
    kept = [dim for dim in dims if dim.extent > 1 or dim.split]
    empty = any(
        dim.extent == 1 and not dim.split and dim.high == 0 for dim in dims
    )  # a dropped dimension may be out of bounds all by itself
    surplus = max(len(kept) - MAX_RANK, 0)
    outside = [place for place, dim in enumerate(kept) if not dim.split][:surplus]
    peeled, inner = [kept[place] for place in outside], [dim for place, dim in enumerate(kept) if place not in outside]
    rows = [layout.in_lane_extent(dim.extent, item.vlane_stride, plan.lanes) if dim.split else dim.extent for dim in inner]
    length = layout.hull_elements(rows, [dim.spad for dim in inner]) * buffer.dtype.bytes
    for index in itertools.product(*(range(dim.extent) for dim in peeled)):
        out = empty or any(position >= dim.high for position, dim in zip(index, peeled))
        begin = (spad + sum(position * dim.spad for position, dim in zip(index, peeled))) * buffer.dtype.bytes
        touched = (ByteRange(item.buffer, buffer.offset, begin, length),)
        load = item.direction == "load"
        yield DmaRecord(
            direction=item.direction,
            arg=item.arg,
            element_offset=element + sum(position * dim.dram for position, dim in zip(index, peeled)),
            dims=tuple(dim.extent for dim in inner),
            dram_strides=tuple(dim.dram for dim in inner),
            spad_strides=tuple(dim.spad for dim in inner),
            split_dim=next(place for place, dim in enumerate(inner) if dim.split),
            vlane_stride=item.vlane_stride,
            low=(0,) * len(inner),
            high=tuple(0 if out else dim.high for dim in inner),
            element_bytes=buffer.dtype.bytes,
            tag=tag,
            spad_offset=buffer.offset + begin,
            reads=() if load else touched,
            writes=touched if load else (),
        )
