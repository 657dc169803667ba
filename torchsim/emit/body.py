"""A block's body at one place of its loops: vectors of the values of all its ops."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from torchsim._mlir import ir
from torchsim.dialect import rvv, spad
from torchsim.dialect.build import Index, add, mul, splat
from torchsim.emit.ops import emit_op, widest_bits
from torchsim.emit.position import Positions
from torchsim.emit.registers import from_memory, memory_element, register_bits, register_vector, to_memory
from torchsim.emit.scope import Scope
from torchsim.errors import InternalError
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Block, BlockOp, BufferRef, PositionExpr

MIN_WIDTH = 2
"""Vectors of one element would become scalar code; one element is computed in a vector of two and loaded and stored alone."""
MAX_BITS = 2048
"""Register group of eight at VLEN 256; LLVM splits wider vectors, and odd ones into scalars."""


@dataclass(frozen=True, slots=True)
class Place:
    """``outer``: index of every loop but the last; ``start``: index in the last loop; ``count``: elements that are meant."""

    outer: tuple[Index, ...]
    start: Index
    count: int

    @property
    def width(self) -> int:
        """Elements of the vectors; those beyond ``count`` are undefined."""
        return max(self.count, MIN_WIDTH)


def vector_limit(block: Block, buffers: Sequence[DType], most_bits: int = MAX_BITS) -> int:
    """Elements per vector: the plan's, as long as the widest type of the body fits ``most_bits`` (a register group of eight)."""
    bits = max([register_bits(dtype) for dtype in buffers] + [widest_bits(op, _arg_types(block, op)) for op in block.ops])
    return max(MIN_WIDTH, min(block.vector_length, most_bits // bits))


Values: TypeAlias = dict[int, ir.Value]
"""Register vectors by the number of their op."""


def evaluate(scope: Scope, block: Block, place: Place, known: Values | None = None, wanted: Collection[int] | None = None) -> Values:
    """Register vectors of the ops that the block's results need.

    Args:
        scope: where the block stands.
        block: its ops and loops.
        place: indices, first element and width of the vectors.
        known: values computed before, at least as wide.
        wanted: ops to evaluate instead of what is stored or reduced.
    """
    return evaluate_together(scope, block, [place], known, wanted)[0]


def evaluate_together(
    scope: Scope, block: Block, places: Sequence[Place], known: Values | None = None, wanted: Collection[int] | None = None
) -> list[Values]:
    """``evaluate`` at several places that do not depend on each other, one op at all of them after the other.

    The core issues in order: while an op at one place waits for its arguments, the same op at the others can run.
    """
    found: list[Values] = [{index: rvv.narrow(value, place.width) for index, value in (known or {}).items()} for place in places]
    positions = [Positions(scope, block, place.outer, place.start, place.width) for place in places]
    for index in sorted(_needed(block, known or {}, results(block) if wanted is None else wanted)):
        for values, place, position in zip(found, places, positions):
            values[index] = _evaluate_op(scope, block, block.ops[index], place, values, position)
    return found


def _evaluate_op(scope: Scope, block: Block, op: BlockOp, place: Place, values: Values, positions: Positions) -> ir.Value:
    attribute = op.attribute
    if op.name == "load":
        assert isinstance(attribute, BufferRef)
        return load(scope, attribute, place)
    if op.name == "constant":
        assert isinstance(attribute, (int, float))
        return constant(attribute, op.dtype, place.width)
    if op.name in ("index", "in_range"):
        assert isinstance(attribute, PositionExpr)
        return positions.index(attribute, op.dtype) if op.name == "index" else positions.in_range(attribute)
    return emit_op(op, [values[arg] for arg in op.args], _arg_types(block, op), place.width)


def results(block: Block) -> set[int]:
    """Ops whose values leave the block."""
    return {store.value for store in block.stores} | {reduce.value for reduce in block.reduces}


def _needed(block: Block, known: Values, wanted: Collection[int]) -> set[int]:
    needed: set[int] = set()
    open_ops = [index for index in wanted if index not in known]
    while open_ops:
        index = open_ops.pop()
        if index not in needed:
            needed.add(index)
            open_ops += [arg for arg in block.ops[index].args if arg not in known]
    return needed


def load(scope: Scope, ref: BufferRef, place: Place) -> ir.Value:
    """A register vector from a buffer."""
    dtype = scope.plan.buffers[ref.buffer].dtype
    raw = spad.load(address(scope, ref, place), memory_element(dtype), _step(ref), place.count, place.width)
    return from_memory(raw, dtype)


def store(scope: Scope, ref: BufferRef, place: Place, value: ir.Value) -> None:
    """A register vector into a buffer, ``place.count`` elements of it."""
    if place.count > 1 and _step(ref) == 0:
        raise InternalError(
            "a store has stride 0 along the vector axis", expected="one element per place", where=f"kernel {scope.plan.name}"
        )
    dtype = scope.plan.buffers[ref.buffer].dtype
    spad.store(to_memory(value, dtype), address(scope, ref, place), _step(ref), place.count)


def address(scope: Scope, ref: BufferRef, place: Place) -> Index:
    """Arena byte offset of the first element."""
    buffer = scope.plan.buffers[ref.buffer]
    element: Index = ref.offset
    for stride, index in zip(ref.strides, (*place.outer, place.start), strict=True):
        element = add(element, mul(index, stride))
    return add(mul(element, buffer.dtype.bytes), buffer.offset)


def constant(value: float, dtype: DType, width: int) -> ir.Value:
    """A splat; bf16 is rounded here because registers hold it as f32."""
    if dtype is DType.BF16:
        value = round_constant_to_bf16(value)
    return splat(value, register_vector(dtype, width))


def round_constant_to_bf16(value: float) -> float:
    """Nearest bf16, ties to even."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if np.isnan(single):
        return float("nan")
    bits = int(single.view(np.uint32))
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return float(np.uint32(rounded).view(np.float32))


def _step(ref: BufferRef) -> int:
    return ref.strides[-1] if ref.strides else 1


def _arg_types(block: Block, op: BlockOp) -> list[DType]:
    return [block.ops[arg].dtype for arg in op.args] or [op.dtype]
