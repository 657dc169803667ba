"""KernelPlan: everything about a kernel before the first MLIR op. Frozen data; prints, compares, serialises, hashes.

A plan is a small program for one work-item (``body``) plus the grid of work-items. Numbers that vary are affine in loop
variables: ``Affine.terms`` maps a variable to a coefficient. Variables are the tile index of an axis, spelled as the axis name
(work-item loops and TileLoop both count tiles 0, 1, ..), and chunk variables of ChunkLoop.

In-lane geometry: axis a != split has in-lane extent ``tile.extents[a]``; the split axis has ``rows * vlane_stride``
(plan.layout). A buffer holds the axes it depends on, outermost first; a buffer without the split axis is replicated in all lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from torchsim.plan.dtypes import DType
from torchsim.plan.group import Axis, TensorArg

BlockKind = Literal["vector", "preload", "matmul"]
Direction = Literal["load", "store"]


@dataclass(frozen=True, slots=True)
class Affine:
    """``constant + sum(coefficient * variable)``; terms sorted by variable name, no zero coefficients."""

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def at(self, env: dict[str, int]) -> int:
        """Value under an assignment of all variables."""
        return self.constant + sum(coefficient * env[name] for name, coefficient in self.terms)


@dataclass(frozen=True, slots=True)
class Tile:
    """Tile extent per axis, the split axis (index, parallel), vlane_stride, and the axis along which compute vectors run."""

    extents: tuple[int, ...]
    split: int
    vlane_stride: int
    vector_axis: int


@dataclass(frozen=True, slots=True)
class SpadBuffer:
    """A buffer in the arena: ``axes`` outermost first, ``shape`` and ``strides`` (elements) in-lane, ``offset`` bytes from the arena start.

    ``bytes_per_lane`` is the allocation (>= 2 elements, 64-byte aligned). ``first``/``last``: positions in the flattened body
    between which it is live
    (transfers, waits and blocks count in textual order, loops do not).
    """

    name: str
    dtype: DType
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    bytes_per_lane: int
    offset: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TransferDim:
    """One dimension of a transfer, outermost first.

    ``axis``: group axis index, or None for the lane-replication dimension (extent = lanes, DRAM stride 0, vlane_stride 1).
    ``bounded``: high = min(extent, axis extent - tile start), clamped to >= 0; otherwise high = extent. ``subtile``: extent of a
    fine-grained piece
    (divides ``extent``; equal to it when the dimension is not cut).
    """

    axis: int | None
    extent: int
    dram_stride: int
    spad_stride: int
    bounded: bool
    subtile: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """DRAM tile <-> buffer. ``element_offset``: of tile position 0 from the argument's base. Rank may exceed 4: the peel pass cuts it.

    Fine-grained pieces are issued in row-major order over the subtile counts; piece i uses tag ``tag + i``. A piece of rank > 4
    after dropping
    dimensions of extent 1 (the split dimension is kept) is peeled: its outermost non-split dimensions become loops, row-major,
    until four are left; all
    peeled parts share the piece's tag. A part whose peeled position is out of bounds is issued with high = 0 everywhere.
    """

    id: int
    direction: Direction
    arg: int
    buffer: int
    element_offset: Affine
    dims: tuple[TransferDim, ...]
    split_dim: int
    vlane_stride: int
    tag: int
    fill: float | int | bool = 0
    accumulate: bool = False

    @property
    def pieces(self) -> int:
        """Number of fine-grained pieces (and tags)."""
        count = 1
        for dim in self.dims:
            count *= dim.extent // dim.subtile
        return count


@dataclass(frozen=True, slots=True)
class Wait:
    """Complete every outstanding transfer of tag slot ``tag`` (WAIT with count 0)."""

    tag: Affine


@dataclass(frozen=True, slots=True)
class Range:
    """In-lane bytes of a buffer that a block reads or writes: ``[begin, begin + length)`` relative to the buffer."""

    buffer: int
    begin: Affine
    length: int


@dataclass(frozen=True, slots=True)
class BufferRef:
    """Element ``offset + sum(strides[i] * loop_i)`` of a buffer inside a block's loops; stride 0 broadcasts."""

    buffer: int
    strides: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class PositionExpr:
    """``offset + sum(coefficients[a] * logical position of axis a)``; for ``in_range`` the coefficients mark the checked axes with 1.

    Logical position of axis a = tile start (tile index times tile extent) + position in the tile: the loop index, or for the axis over
    the lanes plan.layout.position(lane, loop index). An axis without a loop in the block has loop index 0.
    """

    coefficients: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class BlockOp:
    """As group.Op, over buffers: attribute BufferRef (load), number (constant), PositionExpr (index, in_range)."""

    name: str
    dtype: DType
    args: tuple[int, ...] = ()
    attribute: BufferRef | PositionExpr | int | float | bool | None = None


@dataclass(frozen=True, slots=True)
class BlockStore:
    """Store op ``value`` at ``ref`` (the buffer's dtype equals the op's)."""

    ref: BufferRef
    value: int


@dataclass(frozen=True, slots=True)
class BlockReduce:
    """Combine op ``value`` into the accumulator at ``ref`` (stride 0 on reduction loops): acc = combine(acc, value)."""

    ref: BufferRef
    kind: str
    value: int


@dataclass(frozen=True, slots=True)
class BlockLoop:
    """One in-lane loop of a vector block: axis and in-lane extent.

    Adjacent loops whose references are contiguous and whose positions no op asks for are merged: the extent is then the product and
    ``axis`` the innermost of them. In a reducing block the loops whose accumulator stride is 0 are the reduction loops.
    """

    axis: int
    extent: int


@dataclass(frozen=True, slots=True)
class Block:
    """One compute block; ``id`` is unique in the plan and indexes the cycle table.

    vector: ``loops`` outermost first, the last one runs in vectors of ``vector_length`` elements (static shorter tail); ``ops``
    and either ``stores`` or
    ``reduces``. preload: push L rows of the weight chunk at byte ``weight.begin`` of ``weight.buffer``. matmul: push ``rows`` rows of
    ``data`` (f32, contiguous), compute, pop, add into ``out`` (f32, contiguous). ``reads``/``writes``: declared byte ranges, the
    trace's contract.
    ``split``: the axis over the lanes in this block when it is not ``tile.split`` (k in the prologue of a matmul's left operand,
    whose vlane_stride is 1).
    """

    id: int
    kind: BlockKind
    reads: tuple[Range, ...]
    writes: tuple[Range, ...]
    loops: tuple[BlockLoop, ...] = ()
    vector_length: int = 0
    ops: tuple[BlockOp, ...] = ()
    stores: tuple[BlockStore, ...] = ()
    reduces: tuple[BlockReduce, ...] = ()
    weight: Range | None = None
    data: Range | None = None
    out: Range | None = None
    rows: int = 0
    split: int | None = None


@dataclass(frozen=True, slots=True)
class TileLoop:
    """Sequential loop over the tiles of a reduction axis inside the work-item; the variable is the axis name."""

    axis: int
    body: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class ChunkLoop:
    """Sequential loop ``variable`` = start .. stop-1 over array chunks."""

    variable: str
    start: int
    stop: int
    body: tuple[Item, ...]


Item: TypeAlias = "TileLoop | ChunkLoop | Transfer | Wait | Block"


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """A complete kernel. Work-items: all combinations of tile indices of the parallel axes, first axis outermost."""

    name: str
    lanes: int
    args: tuple[TensorArg, ...]
    axes: tuple[Axis, ...]
    tile: Tile
    buffers: tuple[SpadBuffer, ...]
    body: tuple[Item, ...]
    origins: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    """(argument written, name of the group node that computes it)."""

    @property
    def spad_bytes_per_lane(self) -> int:
        """Arena size: end of the highest buffer."""
        return max((buffer.offset + buffer.bytes_per_lane for buffer in self.buffers), default=0)

    def tile_count(self, axis: int) -> int:
        """Tiles along an axis: ceil(extent / tile extent); 0 for an empty axis."""
        extent, tile = self.axes[axis].extent, self.tile.extents[axis]
        return -(-extent // tile) if extent else 0

    @property
    def grid(self) -> tuple[int, ...]:
        """Work-item counts per parallel axis, in axis order."""
        return tuple(self.tile_count(i) for i, axis in enumerate(self.axes) if not axis.reduction)
