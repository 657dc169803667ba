"""Run a plan in NumPy on host arrays: an oracle between the group and the machine code.

Written from docs/isa.md (layout, transfers, array) and plan.model alone; shares nothing with emission or passes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from torchsim.errors import PlanError
from torchsim.plan import layout
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Block, BlockOp, BufferRef, ChunkLoop, Item, KernelPlan, PositionExpr, Range, TileLoop, Transfer, Wait
from torchsim.plan.numpy_ops import apply, reduce
from torchsim.plan.rounding import RoundingNoise
from torchsim.plan.values import Array, constant, decode, encode

Order = Literal["early", "late"]
_POISON = 0xA5


def run(plan: KernelPlan, arrays: Sequence[Array], order: Order = "late", noise: RoundingNoise | None = None) -> None:
    """Execute every work-item in order.

    Args:
        arrays: one 1-d array of stored elements (``dtype.numpy``) per argument; outputs are written in place.
        order: when transfers complete: at issue, or at their wait (load targets hold poison until then).
        noise: random rounding errors after every float operation, to learn how far roundings move the outputs.

    Raises:
        PlanError: an element outside of its tensor, a transfer never waited for, an array of the wrong type.
    """
    for arg, array in zip(plan.args, arrays, strict=True):
        if array.dtype != arg.dtype.numpy or array.ndim != 1 or array.size < arg.elements:
            raise PlanError(
                f"argument {arg.name!r} of {plan.name!r}",
                expected=f"{arg.elements} x {arg.dtype.numpy}",
                found=f"{array.shape} {array.dtype}",
            )
    names = [axis.name for axis in plan.axes if not axis.reduction]
    for indices in itertools.product(*(range(count) for count in plan.grid)):
        _WorkItem(plan, arrays, order, dict(zip(names, indices)), noise).run()


@dataclass(frozen=True)
class Piece:
    """One fine-grained piece of a transfer, by element in row-major order: lane, byte address in the lane, DRAM element, activity."""

    load: bool
    arg: int
    tag: int
    size: int
    lane: NDArray[np.int64]
    address: NDArray[np.int64]
    element: NDArray[np.int64]
    active: NDArray[np.bool_]
    fill: NDArray[np.uint8]


def pieces(plan: KernelPlan, item: Transfer, env: dict[str, int]) -> Iterator[Piece]:
    """The fine-grained pieces of a transfer for given tile indices, element by element."""
    buffer, stride, lanes = plan.buffers[item.buffer], item.vlane_stride, plan.lanes
    fill = encode(constant(item.fill, buffer.dtype), buffer.dtype).reshape(1).view(np.uint8)
    starts = itertools.product(*(range(0, dim.extent, dim.subtile) for dim in item.dims))
    for number, start in enumerate(starts):
        boxes: list[NDArray[np.int64]] = []
        for place, dim in enumerate(item.dims):
            split = place == item.split_dim
            count = layout.rows(dim.subtile, stride, lanes) * stride * lanes if split else dim.subtile
            boxes.append(start[place] + np.arange(count, dtype=np.int64))
        grids = [grid.ravel() for grid in np.meshgrid(*boxes, indexing="ij")]
        element = np.full(grids[0].shape, item.element_offset.at({**{axis.name: 0 for axis in plan.axes}, **env}), np.int64)
        place_in_lane, active = np.zeros_like(element), np.ones(element.shape, np.bool_)
        for place, (dim, grid) in enumerate(zip(item.dims, grids)):
            high = dim.extent
            if dim.bounded and dim.axis is not None:
                axis = plan.axes[dim.axis]
                high = max(min(dim.extent, axis.extent - env.get(axis.name, 0) * plan.tile.extents[dim.axis]), 0)
            active &= (grid < high) & (grid < start[place] + dim.subtile)
            element += grid * dim.dram_stride
            place_in_lane += (layout.in_lane(grid, stride, lanes) if place == item.split_dim else grid) * dim.spad_stride
        size = buffer.dtype.bytes
        lane = layout.lane(grids[item.split_dim], stride, lanes)
        yield Piece(
            item.direction == "load", item.arg, item.tag + number, size, lane, buffer.offset + place_in_lane * size, element, active, fill
        )


class _WorkItem:
    def __init__(self, plan: KernelPlan, arrays: Sequence[Array], order: Order, env: dict[str, int], noise: RoundingNoise | None) -> None:
        self.plan, self.arrays, self.order, self.env, self.noise = plan, arrays, order, env, noise
        self.spad = np.full((plan.lanes, max(plan.spad_bytes_per_lane, 1)), _POISON, np.uint8)
        self.waiting: dict[int, list[Piece]] = {}
        self.weights: NDArray[np.float32] = np.zeros((plan.lanes, 0), np.float32)

    def run(self) -> None:
        self._items(self.plan.body)
        if any(self.waiting.values()):
            raise PlanError(
                f"{self.plan.name}: a transfer was never waited for", found=f"tags {[tag for tag, queue in self.waiting.items() if queue]}"
            )

    def _items(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, TileLoop):
                self._loop(self.plan.axes[item.axis].name, range(self.plan.tile_count(item.axis)), item.body)
            elif isinstance(item, ChunkLoop):
                self._loop(item.variable, range(item.start, item.stop), item.body)
            elif isinstance(item, Transfer):
                for piece in pieces(self.plan, item, self.env):
                    self._issue(piece)
            elif isinstance(item, Wait):
                for piece in self.waiting.pop(item.tag.at(self.env), []):
                    self._complete(piece)
            elif item.kind == "vector":
                self._vector(item)
            else:
                self._array(item)

    def _loop(self, variable: str, values: range, body: Sequence[Item]) -> None:
        for value in values:
            self.env[variable] = value
            self._items(body)
        self.env.pop(variable, None)

    # -- transfers

    def _issue(self, piece: Piece) -> None:
        if self.order == "early":
            self._complete(piece)
            self.waiting.setdefault(piece.tag, [])
            return
        if piece.load:
            self.spad[piece.lane[:, None], piece.address[:, None] + np.arange(piece.size)] = _POISON
        self.waiting.setdefault(piece.tag, []).append(piece)

    def _complete(self, piece: Piece) -> None:
        memory = self.arrays[piece.arg].view(np.uint8)
        spots = piece.element[piece.active]
        if spots.size and not (0 <= spots.min() and spots.max() < self.plan.args[piece.arg].elements):
            raise PlanError(
                f"{self.plan.name}: transfer outside of {self.plan.args[piece.arg].name!r}", found=f"elements {spots.min()}..{spots.max()}"
            )
        byte = np.arange(piece.size)
        dram = spots[:, None] * piece.size + byte
        spad = piece.address[:, None] + byte
        if not piece.load:
            memory[dram] = self.spad[piece.lane[:, None], spad][piece.active]
            return
        values = np.tile(piece.fill, (piece.lane.size, 1))
        values[piece.active] = memory[dram]
        self.spad[piece.lane[:, None], spad] = values

    # -- blocks

    def _view(self, index: int) -> Array:
        """All elements of a buffer, [lanes, elements]."""
        buffer = self.plan.buffers[index]
        return self.spad[:, buffer.offset : buffer.offset + buffer.bytes_per_lane].view(buffer.dtype.numpy)

    def _vector(self, block: Block) -> None:
        extents = [loop.extent for loop in block.loops]
        grids = np.indices(extents, dtype=np.int64)
        values: list[Array] = []
        for op in block.ops:
            values.append(self._op(block, op, values, grids))
        shape = (self.plan.lanes, *extents)

        def place(ref: BufferRef) -> NDArray[np.int64]:
            return ref.offset + sum((stride * grid for stride, grid in zip(ref.strides, grids)), np.zeros(extents, np.int64))

        for store in block.stores:
            dtype = self.plan.buffers[store.ref.buffer].dtype
            self._view(store.ref.buffer)[:, place(store.ref)] = encode(np.broadcast_to(values[store.value], shape), dtype)
        for item in block.reduces:
            dtype = self.plan.buffers[item.ref.buffer].dtype
            axes = tuple(place for place, stride in enumerate(item.ref.strides) if stride == 0)
            spots = place(item.ref)[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(len(extents)))]
            view = self._view(item.ref.buffer)
            value = np.broadcast_to(values[item.value], shape)
            total = reduce(item.kind, decode(view[:, spots], dtype), value, tuple(axis + 1 for axis in axes))
            terms = math.prod(extents[axis] for axis in axes) if item.kind in ("sum", "prod") else 1
            view[:, spots] = encode(self._rounded(total, dtype, terms), dtype)

    def _op(self, block: Block, op: BlockOp, values: Sequence[Array], grids: NDArray[np.int64]) -> Array:
        attribute = op.attribute
        if isinstance(attribute, BufferRef):
            spots = attribute.offset + sum(
                (stride * grid for stride, grid in zip(attribute.strides, grids)), np.zeros(grids.shape[1:], np.int64)
            )
            return decode(self._view(attribute.buffer)[:, spots], op.dtype)
        if isinstance(attribute, PositionExpr):
            return self._positions(block, op, attribute, grids)
        if op.name == "constant":
            assert attribute is not None
            return constant(attribute, op.dtype)
        return self._rounded(
            apply(op.name, op.dtype, [values[arg] for arg in op.args], [block.ops[arg].dtype for arg in op.args]), op.dtype
        )

    def _rounded(self, value: Array, dtype: DType, terms: int = 1) -> Array:
        return value if self.noise is None else self.noise(value, dtype, terms)

    def _positions(self, block: Block, op: BlockOp, expr: PositionExpr, grids: NDArray[np.int64]) -> Array:
        """Logical positions by lane and loop index."""
        tile, axes = self.plan.tile, self.plan.axes
        split = tile.split if block.split is None else block.split
        lanes = np.arange(self.plan.lanes).reshape(-1, *[1] * len(block.loops))
        total: Array = np.full((1,) * (len(block.loops) + 1), expr.offset, np.int64)
        inside: Array = np.ones_like(total, dtype=np.bool_)
        for axis, coefficient in enumerate(expr.coefficients):
            if coefficient == 0:
                continue
            index: Array = sum((grids[place][None] for place, loop in enumerate(block.loops) if loop.axis == axis), np.zeros(1, np.int64))
            if axis == split:
                index = layout.position(lanes, index, tile.vlane_stride, self.plan.lanes)
            logical = self.env.get(axes[axis].name, 0) * tile.extents[axis] + index
            total = total + coefficient * logical
            inside = inside & (logical < axes[axis].extent)
        return inside if op.name == "in_range" else total.astype(op.dtype.numpy)

    def _array(self, block: Block) -> None:
        def words(item: Range | None) -> NDArray[np.float32]:
            assert item is not None
            begin = self.plan.buffers[item.buffer].offset + item.begin.at(self.env)
            return self.spad[:, begin : begin + item.length].view(np.float32)

        if block.kind == "preload":
            self.weights = words(block.weight).copy()
            return
        rows, total = words(block.data), np.zeros((self.plan.lanes, block.rows), np.float32)
        with np.errstate(all="ignore"):
            for k in range(self.plan.lanes):
                total = _step(self.weights[:, k], rows[k], total)
            words(block.out)[...] += self._rounded(total, DType.F32, self.plan.lanes)


def _step(weights: NDArray[np.float32], row: NDArray[np.float32], total: NDArray[np.float32]) -> NDArray[np.float32]:
    """One fused multiply-add per lane and row; the f64 sum of an exact product is rounded to f32."""
    return (total.astype(np.float64) + weights[:, None].astype(np.float64) * row[None, :].astype(np.float64)).astype(np.float32)
