"""Code for the logical position of every element of a vector: index expressions and the masks of ragged tiles.

The formulas are those of plan.layout; here they become instructions on the lane number.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchsim._mlir import ir
from torchsim.dialect.build import Index, add, binary, broadcast, compare_integers, floordiv, integer, materialise, mod, mul, single, splat
from torchsim.dialect.togsim import VLANE_IDX
from torchsim.emit.registers import integer_vector, register_vector
from torchsim.emit.scope import Scope
from torchsim.plan import layout
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Block, PositionExpr

_I32_LIMIT = 1 << 31


class Positions:
    """Positions of the elements ``start .. start + width`` of a block's vector loop.

    Args:
        scope: tile starts.
        block: loops and the axis over the lanes.
        outer: index of every loop but the last.
        start: index of element 0 in the last loop.
        width: elements of the vector.
    """

    def __init__(self, scope: Scope, block: Block, outer: Sequence[Index], start: Index, width: int) -> None:
        self.scope, self.block, self.width = scope, block, width
        self.loop_index = {loop.axis: index for loop, index in zip(block.loops, (*outer, start))}
        self.vector_axis = block.loops[-1].axis if block.loops else -1
        tile = scope.plan.tile
        self.split = tile.split if block.split is None else block.split
        self.stride = tile.vlane_stride if block.split is None else 1

    def index(self, expression: PositionExpr, dtype: DType) -> ir.Value:
        """The affine combination as i32 or i64."""
        bits = 32 if self._largest(expression) < _I32_LIMIT else 64
        value = self._combine(expression.coefficients, expression.offset, bits)
        if bits == dtype.bytes * 8:
            return value
        return single("arith.extsi" if bits == 32 else "arith.trunci", register_vector(dtype, self.width), [value])

    def in_range(self, expression: PositionExpr) -> ir.Value:
        """Mask of the elements whose position is inside the extents of the marked axes."""
        axes = [axis for axis, mark in enumerate(expression.coefficients) if mark and not self._covered(axis)]
        mask = None
        for axis in axes:
            unit = [int(other == axis) for other in range(len(expression.coefficients))]
            position = self._combine(unit, 0, 32)
            inside = compare_integers("ult", position, splat(self.scope.plan.axes[axis].extent, position.type))
            mask = inside if mask is None else binary("arith.andi", mask, inside)
        return mask if mask is not None else splat(True, register_vector(DType.BOOL, self.width))

    def _covered(self, axis: int) -> bool:
        """Whether whole tiles cover the axis exactly, round-up positions included."""
        total, tile = self.scope.plan.axes[axis].extent, self.scope.plan.tile.extents[axis]
        lanes = self.scope.plan.lanes
        held = layout.in_lane_extent(tile, self.stride, lanes) * lanes if axis == self.split else tile
        return total % max(tile, 1) == 0 and held == tile

    def _largest(self, expression: PositionExpr) -> int:
        """Bound of the magnitude of every partial sum, for positions in the tiles including padding."""
        plan = self.scope.plan
        largest = abs(expression.offset)
        for axis, coefficient in enumerate(expression.coefficients):
            reach = plan.axes[axis].extent + plan.tile.extents[axis] + plan.lanes * self.stride
            largest += abs(coefficient) * reach
        return largest

    def _combine(self, coefficients: Sequence[int], offset: int, bits: int) -> ir.Value:
        uniform: Index = offset
        vectors: list[ir.Value] = []
        for axis, coefficient in enumerate(coefficients):
            if coefficient:
                scalar, parts = self._position(axis, bits)
                uniform = add(uniform, mul(scalar, coefficient))
                vectors += [part if coefficient == 1 else binary("arith.muli", part, splat(coefficient, part.type)) for part in parts]
        of = integer_vector(bits, self.width)
        total = vectors[0] if vectors else None
        for vector in vectors[1:]:
            assert total is not None
            total = binary("arith.addi", total, vector)
        if total is not None and isinstance(uniform, int) and uniform == 0:
            return total
        spread = splat(uniform, of) if isinstance(uniform, int) else broadcast(_truncated(materialise(uniform), bits), of)
        return spread if total is None else binary("arith.addi", total, spread)

    def _position(self, axis: int, bits: int) -> tuple[Index, list[ir.Value]]:
        """Position of one axis as a uniform part and parts that differ between elements or lanes."""
        start = self.scope.starts[axis]
        index = self.loop_index.get(axis, 0)
        if axis != self.split:
            return add(start, index), [self._step(bits)] if axis == self.vector_axis else []
        lanes, stride = self.scope.plan.lanes, self.stride
        lane = self._lane_part(bits)
        if axis != self.vector_axis:
            row = floordiv(index, stride)
            return add(start, add(mul(row, lanes * stride), mod(index, stride))), [lane]
        if stride == 1:
            step = self._step(bits)
            return add(start, mul(index, lanes)), [binary("arith.muli", step, splat(lanes, step.type)), lane]
        of = integer_vector(bits, self.width)
        in_lane = self._step(bits)
        if not isinstance(index, int) or index:
            spread = splat(index, of) if isinstance(index, int) else broadcast(_truncated(materialise(index), bits), of)
            in_lane = binary("arith.addi", in_lane, spread)
        row = binary("arith.divui", in_lane, splat(stride, of))
        rest = binary("arith.remui", in_lane, splat(stride, of))
        return start, [binary("arith.muli", row, splat(lanes * stride, of)), rest, lane]

    def _lane_part(self, bits: int) -> ir.Value:
        lane = single(VLANE_IDX, integer_vector(bits, self.width))
        return lane if self.stride == 1 else binary("arith.muli", lane, splat(self.stride, lane.type))

    def _step(self, bits: int) -> ir.Value:
        of = integer_vector(bits, self.width)
        steps = [integer(i, bits) for i in range(self.width)]
        return single("arith.constant", of, attributes={"value": ir.DenseElementsAttr.get(steps, of)})


def _truncated(scalar: ir.Value, bits: int) -> ir.Value:
    return scalar if bits == 64 else single("arith.trunci", ir.IntegerType.get_signless(bits), [scalar])
