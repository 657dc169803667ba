"""One compute block of a plan between its begin and end marks."""

from __future__ import annotations

from collections.abc import Sequence

from torchsim.dialect.build import Index, add, create, integer, materialise
from torchsim.dialect.nest import interleaved_chunks, nest
from torchsim.dialect.togsim import BLOCK_BEGIN, MATMUL, PRELOAD, BlockInfo, ByteRange, block_end
from torchsim.emit.body import Place, Values, evaluate_together, store, vector_limit
from torchsim.emit.interleave import interleaving
from torchsim.emit.invariants import hoist_from_chunks, hoist_from_loop
from torchsim.emit.reduce import emit_reductions
from torchsim.emit.scope import Scope
from torchsim.errors import InternalError
from torchsim.plan.model import Block, Range


def emit_block(scope: Scope, block: Block) -> None:
    """The block's begin mark with its declared ranges, its contents, its end mark."""
    reads, writes = (
        tuple(ByteRange(one.buffer, scope.affine(one.begin), one.length) for one in ranges) for ranges in (block.reads, block.writes)
    )
    BlockInfo(block.id, block.kind, reads, writes).build(BLOCK_BEGIN)
    if block.kind == "preload":
        create(PRELOAD, operands=[materialise(_arena(scope, block, block.weight))], attributes={"count": integer(scope.plan.lanes)})
    elif block.kind == "matmul":
        operands = [materialise(_arena(scope, block, one)) for one in (block.data, block.out)]
        create(MATMUL, operands=operands, attributes={"rows": integer(block.rows)})
    elif block.reduces:
        emit_reductions(scope, block)
    else:
        _emit_stores(scope, block)
    block_end(block.id)


def _emit_stores(scope: Scope, block: Block) -> None:
    limit, together = interleaving(block, vector_limit(block, []))
    *outer, last = [one.extent for one in block.loops]

    def chunk(places: Sequence[Place], known: Values) -> None:
        found = evaluate_together(scope, block, places, known)
        for one in block.stores:
            for place, values in zip(places, found):
                store(scope, one.ref, place, values[one.value])

    def in_chunks(index: tuple[Index, ...]) -> None:
        known = hoist_from_chunks(scope, block, index, limit)
        interleaved_chunks(last, limit, together, lambda starts, count: chunk([Place(index, start, count) for start in starts], known))

    def in_one_vector(index: tuple[Index, ...]) -> None:
        known = hoist_from_loop(scope, block, Place((*index, 0), 0, last))
        nest(outer[-1:], lambda inner: chunk([Place((*index, *inner), 0, last)], known))

    if last > limit or not outer:
        nest(outer, in_chunks)
    else:
        nest(outer[:-1], in_one_vector)


def _arena(scope: Scope, block: Block, part: Range | None) -> Index:
    if part is None:
        raise InternalError(f"block {block.id} of kind {block.kind} lacks an operand range", where=f"kernel {scope.plan.name}")
    return add(scope.affine(part.begin), scope.plan.buffers[part.buffer].offset)
