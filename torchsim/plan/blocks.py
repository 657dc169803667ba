"""Assemble compute blocks: loops, vector length, declared byte ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from torchsim.plan.layout import hull_elements
from torchsim.plan.model import Affine, Block, BlockLoop, BlockOp, BlockReduce, BlockStore, BufferRef, PositionExpr, Range, SpadBuffer
from torchsim.plan.vectors import vector_length


def reference(buffer: int, spad: SpadBuffer, loop_axes: Sequence[int]) -> BufferRef:
    """The element of a buffer at the block's loop indices; axes that the buffer lacks have stride 0."""
    strides = dict(zip(spad.axes, spad.strides))
    return BufferRef(buffer, tuple(strides.get(axis, 0) for axis in loop_axes))


def vector_block(
    block_id: int,
    loops: Sequence[BlockLoop],
    ops: Sequence[BlockOp],
    stores: Sequence[BlockStore],
    reduces: Sequence[BlockReduce],
    buffers: Sequence[SpadBuffer],
    reduction_axes: Sequence[int] = (),
    split: int | None = None,
) -> Block:
    """A vector block over loops (one per axis, layout order, the vector axis last), simplified, with its declared ranges."""
    block = Block(block_id, "vector", (), (), tuple(loops), 0, tuple(ops), tuple(stores), tuple(reduces), split=split)
    block = _merge_loops(_drop_unit_loops(block))
    if reduces:
        block = _reductions_inside(block, reduction_axes)
    results = [store.value for store in stores] + [reduce.value for reduce in reduces]
    reads, writes = derived_ranges(block, buffers)
    return replace(block, vector_length=vector_length(ops, results, len(reduces)), reads=reads, writes=writes)


def derived_ranges(block: Block, buffers: Sequence[SpadBuffer]) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Bytes that a block reads and writes, one hull per buffer, by buffer index."""
    if block.kind == "preload":
        return tuple(item for item in (block.weight,) if item), ()
    if block.kind == "matmul":
        assert block.data
        assert block.out
        return tuple(sorted((block.data, block.out), key=lambda item: item.buffer)), (block.out,)
    read = [op.attribute for op in block.ops if op.name == "load" and isinstance(op.attribute, BufferRef)]
    written = [store.ref for store in block.stores] + [reduce.ref for reduce in block.reduces]
    read += [reduce.ref for reduce in block.reduces]
    return _hulls(read, block, buffers), _hulls(written, block, buffers)


def _hulls(refs: Iterable[BufferRef], block: Block, buffers: Sequence[SpadBuffer]) -> tuple[Range, ...]:
    spans: dict[int, tuple[int, int]] = {}
    for ref in refs:
        end = ref.offset + hull_elements((loop.extent for loop in block.loops), ref.strides)
        first, last = spans.get(ref.buffer, (ref.offset, end))
        spans[ref.buffer] = (min(first, ref.offset), max(last, end))
    return tuple(
        Range(buffer, Affine(first * buffers[buffer].dtype.bytes), (end - first) * buffers[buffer].dtype.bytes)
        for buffer, (first, end) in sorted(spans.items())
    )


def _change_loops(block: Block, loops: Sequence[BlockLoop], kept: Sequence[int]) -> Block:
    """Keep the loops at the given places of every reference, in that order."""

    def ref(old: BufferRef) -> BufferRef:
        return replace(old, strides=tuple(old.strides[place] for place in kept))

    return replace(
        block,
        loops=tuple(loops),
        ops=tuple(replace(op, attribute=ref(op.attribute)) if isinstance(op.attribute, BufferRef) else op for op in block.ops),
        stores=tuple(replace(store, ref=ref(store.ref)) for store in block.stores),
        reduces=tuple(replace(reduce, ref=ref(reduce.ref)) for reduce in block.reduces),
    )


def _drop_unit_loops(block: Block) -> Block:
    kept = [place for place, loop in enumerate(block.loops) if loop.extent > 1] or [len(block.loops) - 1]
    return _change_loops(block, [block.loops[place] for place in kept], kept)


def _merge_loops(block: Block) -> Block:
    """Make one loop of adjacent ones that every reference steps through contiguously and whose positions nobody asks for."""
    asked = {axis for op in block.ops if isinstance(op.attribute, PositionExpr) for axis, c in enumerate(op.attribute.coefficients) if c}
    place = len(block.loops) - 2
    while place >= 0:
        outer, inner = block.loops[place], block.loops[place + 1]
        refs = [op.attribute for op in block.ops if isinstance(op.attribute, BufferRef)]
        refs += [store.ref for store in block.stores] + [reduce.ref for reduce in block.reduces]
        contiguous = all(ref.strides[place] == ref.strides[place + 1] * inner.extent for ref in refs)
        if contiguous and not asked & {outer.axis, inner.axis}:
            loops = [*block.loops[:place], BlockLoop(inner.axis, outer.extent * inner.extent), *block.loops[place + 2 :]]
            block = _change_loops(block, loops, [index for index in range(len(block.loops)) if index != place])
        place -= 1
    return block


def _reductions_inside(block: Block, reduction_axes: Sequence[int]) -> Block:
    """Order the loops parallel ones first, then reductions, then the vector loop, so that an accumulator can stay in a register."""
    last = len(block.loops) - 1
    order = sorted(range(last), key=lambda place: block.loops[place].axis in reduction_axes)
    return _change_loops(block, [block.loops[place] for place in (*order, last)], [*order, last])
