"""Reductions inside a block. Per-lane values stay in vectors from the first element to the stored result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TypeAlias

from torchsim._mlir import ir
from torchsim.dialect import rvv, spad
from torchsim.dialect.build import Index, add, binary, carried_loop, compare_floats, single, splat
from torchsim.dialect.nest import chunks, nest
from torchsim.emit.body import MAX_BITS, MIN_WIDTH, Place, address, constant, evaluate, evaluate_together, load, store, vector_limit
from torchsim.emit.interleave import vectors_together
from torchsim.emit.ops import emit_op
from torchsim.emit.ops_cast import cast
from torchsim.emit.registers import integer_vector, memory_element
from torchsim.emit.scope import Scope
from torchsim.emit.site import choose
from torchsim.plan.dtypes import DType
from torchsim.plan.identity import identity
from torchsim.plan.model import Block, BlockOp, BlockReduce

_CarriedBody: TypeAlias = Callable[[tuple[Index, ...], list[ir.Value]], list[ir.Value]]
Running: TypeAlias = tuple[ir.Value, ...]
_TREE_BITS = 1024
"""Register group of four: running values, identities and both halves of the tree stay in registers."""
_OPS = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
_BOOL_OPS = {"any": "arith.ori", "max": "arith.ori", "sum": "arith.ori", "all": "arith.andi", "min": "arith.andi", "prod": "arith.andi"}


class Accumulator:
    """One ``BlockReduce`` while its block runs. bool travels as bytes, because masks cannot be sliced."""

    def __init__(self, scope: Scope, block: Block, reduce: BlockReduce) -> None:
        self.scope, self.reduce = scope, reduce
        self.dtype = scope.plan.buffers[reduce.ref.buffer].dtype
        self.source = block.ops[reduce.value].dtype

    def value(self, values: Sequence[ir.Value]) -> ir.Value:
        """The op's vector in the accumulator's type."""
        value = cast(values[self.reduce.value], self.source, self.dtype)
        return single("arith.extui", integer_vector(8, value.type.shape[0]), [value]) if self.dtype is DType.BOOL else value

    def combine(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Element by element."""
        if self.dtype is DType.BOOL:
            return binary(_BOOL_OPS[self.reduce.kind], a, b)
        return emit_op(BlockOp(_OPS[self.reduce.kind], self.dtype), [a, b], [self.dtype, self.dtype], a.type.shape[0])

    def open(self, value: ir.Value) -> Running:
        """Values that a loop carries, from a running result: for extrema of floats the extremum of the numbers, and where a NaN was.

        An instruction for maxima leaves NaN out; a mask beside it takes two more, a maximum that keeps NaN takes four.
        """
        return (value, compare_floats("uno", value, value)) if self._keeps_nan_apart else (value,)

    def join(self, running: Running, value: ir.Value) -> Running:
        """One more vector in a loop."""
        if not self._keeps_nan_apart:
            return (self.combine(running[0], value),)
        nan = binary("arith.ori", running[1], compare_floats("uno", value, value))
        return (binary("arith.maxnumf" if self.reduce.kind == "max" else "arith.minnumf", running[0], value), nan)

    def close(self, running: Running) -> ir.Value:
        """The running result behind a loop."""
        if not self._keeps_nan_apart:
            return running[0]
        return choose(running[1], splat(float("nan"), running[0].type), running[0])

    @property
    def parts(self) -> int:
        """How many values a loop carries."""
        return 1 + self._keeps_nan_apart

    @property
    def _keeps_nan_apart(self) -> bool:
        return self.dtype.is_float and self.reduce.kind in ("max", "min")

    def neutral(self, width: int) -> ir.Value:
        """A vector of identities."""
        value = identity(self.reduce.kind, self.dtype)
        return splat(int(value), integer_vector(8, width)) if self.dtype is DType.BOOL else constant(value, self.dtype, width)

    def load(self, place: Place) -> ir.Value:
        """The running result at a place."""
        if self.dtype is DType.BOOL:
            ref = self.reduce.ref
            return spad.load(address(self.scope, ref, place), memory_element(self.dtype), ref.strides[-1], place.count, place.width)
        return load(self.scope, self.reduce.ref, place)

    def store(self, place: Place, value: ir.Value) -> None:
        """Write the running result back."""
        if self.dtype is DType.BOOL:
            spad.store(value, address(self.scope, self.reduce.ref, place), self.reduce.ref.strides[-1], place.count)
        else:
            store(self.scope, self.reduce.ref, place, value)


def emit_reductions(scope: Scope, block: Block) -> None:
    """All loops of a block that reduces: parallel loops outside, reduction loops inside with the running values in registers."""
    accumulators = [Accumulator(scope, block, reduce) for reduce in block.reduces]
    is_reduction = [scope.plan.axes[one.axis].reduction for one in block.loops]
    types = [scope.plan.buffers[reduce.ref.buffer].dtype for reduce in block.reduces]
    limit = vector_limit(block, types, _TREE_BITS if is_reduction[-1] else MAX_BITS)
    outer = range(len(block.loops) - 1)
    parallel = [i for i in outer if not is_reduction[i]]
    inner = [i for i in outer if is_reduction[i]]

    def at(parallel_index: Sequence[Index]) -> None:
        index: dict[int, Index] = dict(zip(parallel, parallel_index))
        if is_reduction[-1]:
            _across(scope, block, accumulators, limit, index, inner)
        else:
            chunks(block.loops[-1].extent, limit, lambda start, count: _along(scope, block, accumulators, index, inner, start, count))

    nest([block.loops[i].extent for i in parallel], at)


def _carried_nest(extents: Sequence[int], values: list[ir.Value], body: _CarriedBody, index: tuple[Index, ...] = ()) -> list[ir.Value]:
    """Nested loops that carry values."""
    if not extents:
        return body(index, values)
    return carried_loop(0, extents[0], 1, values, lambda i, carried: _carried_nest(extents[1:], carried, body, (*index, i)))


def _outer(block: Block, index: dict[int, Index]) -> tuple[Index, ...]:
    return tuple(index.get(i, 0) for i in range(len(block.loops) - 1))


def _along(
    scope: Scope, block: Block, accumulators: list[Accumulator], index: dict[int, Index], inner: list[int], start: Index, count: int
) -> None:
    """The vector axis is parallel: each element has its own result."""
    place = Place(_outer(block, index), start, count)

    def body(inner_index: tuple[Index, ...], carried: list[ir.Value]) -> list[ir.Value]:
        values = evaluate(scope, block, Place(_outer(block, index | dict(zip(inner, inner_index))), start, count))
        return _flat(one.join(running, one.value(values)) for one, running in zip(accumulators, _split(accumulators, carried)))

    opened = _flat(one.open(one.load(place)) for one in accumulators)
    results = _carried_nest([block.loops[i].extent for i in inner], opened, body)
    for one, result in zip(accumulators, _split(accumulators, results)):
        one.store(place, one.close(result))


def _flat(running: Iterable[Running]) -> list[ir.Value]:
    return [value for values in running for value in values]


def _split(accumulators: Sequence[Accumulator], carried: Sequence[ir.Value]) -> list[Running]:
    """Inverse of ``_flat``."""
    values = iter(carried)
    return [tuple(islice(values, one.parts)) for one in accumulators]


def _across(scope: Scope, block: Block, accumulators: list[Accumulator], limit: int, index: dict[int, Index], inner: list[int]) -> None:
    """The vector axis is reduced: element-wise over chunks, then a halving tree, then one element joins the accumulator."""
    extent = block.loops[-1].extent
    width = max(MIN_WIDTH, min(1 << (limit.bit_length() - 1), rvv.power_of_two(max(extent, 1))))
    main = extent - extent % width
    together = vectors_together(block, width, (), len(accumulators))

    def body(inner_index: tuple[Index, ...], carried: list[ir.Value]) -> list[ir.Value]:
        outer = _outer(block, index | dict(zip(inner, inner_index)))

        def chunk(start: Index, carried: list[ir.Value], count: int) -> list[ir.Value]:
            """``count`` vectors; they join the running values one after the other, as they would alone."""
            for values in evaluate_together(scope, block, [Place(outer, add(start, i * width), width) for i in range(count)]):
                carried = join(carried, [one.value(values) for one in accumulators])
            return carried

        paired = main - main % (width * together)
        carried = carried_loop(0, paired, width * together, carried, lambda start, running: chunk(start, running, together))
        carried = carried_loop(paired, main, width, carried, lambda start, running: chunk(start, running, 1))
        if main == extent:
            return carried
        values = evaluate(scope, block, Place(outer, main, extent - main))
        return join(carried, [_padded(one.value(values), extent - main, one.neutral(width)) for one in accumulators])

    def join(carried: list[ir.Value], vectors: Sequence[ir.Value]) -> list[ir.Value]:
        return _flat(one.join(running, vector) for one, running, vector in zip(accumulators, _split(accumulators, carried), vectors))

    opened = _flat(one.open(one.neutral(width)) for one in accumulators)
    partial = _carried_nest([block.loops[i].extent for i in inner], opened, body)
    place = Place(_outer(block, index), 0, 1)
    for one, running in zip(accumulators, _split(accumulators, partial)):
        one.store(place, one.combine(one.load(place), _tree(one, one.close(running))))


def _padded(value: ir.Value, count: int, neutral: ir.Value) -> ir.Value:
    """The first ``count`` elements of a vector, then identities."""
    width = neutral.type.shape[0]
    have = value.type.shape[0]
    wide = single(
        "vector.shuffle", neutral.type, [value, value], {"mask": ir.DenseI64ArrayAttr.get([i if i < have else -1 for i in range(width)])}
    )
    mask = [i if i < count else width + i for i in range(width)]
    return single("vector.shuffle", neutral.type, [wide, neutral], {"mask": ir.DenseI64ArrayAttr.get(mask)})


def _tree(accumulator: Accumulator, value: ir.Value) -> ir.Value:
    """Halve until two elements are left; element 0 of the result is the combination of all."""
    width = value.type.shape[0]
    while width > MIN_WIDTH:
        width //= 2
        value = accumulator.combine(_slice(value, 0, width), _slice(value, width, width))
    swapped = single("vector.shuffle", value.type, [value, value], {"mask": ir.DenseI64ArrayAttr.get([1, 0])})
    return accumulator.combine(value, swapped)


def _slice(value: ir.Value, offset: int, size: int) -> ir.Value:
    mask = ir.DenseI64ArrayAttr.get(list(range(offset, offset + size)))
    return single("vector.shuffle", rvv.vector(size, value.type.element_type), [value, value], {"mask": mask})
