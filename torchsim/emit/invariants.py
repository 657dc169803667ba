"""Values of a block that are the same in every iteration of its innermost loop: computed once before the loop.

LLVM cannot do this: all buffers are bytes of one arena, so every store of the loop might change what a load reads. The plan knows
better; only loads of buffers that the block does not write are moved.
"""

from __future__ import annotations

from torchsim.dialect import rvv
from torchsim.dialect.build import Index
from torchsim.emit.body import Place, Values, evaluate, results
from torchsim.emit.scope import Scope
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Block, BlockOp, BufferRef, PositionExpr


def invariant_ops(block: Block, loop: int) -> frozenset[int]:
    """Ops whose value does not depend on the index of ``block.loops[loop]``, constants included.

    bool ops are left out: their values are masks, which cannot be spread over a vector and of which only one register can be used.
    """
    written = {store.ref.buffer for store in block.stores} | {reduce.ref.buffer for reduce in block.reduces}
    found: set[int] = set()
    for index, op in enumerate(block.ops):
        if op.dtype is not DType.BOOL and all(arg in found for arg in op.args) and _leaf_invariant(block, op, loop, written):
            found.add(index)
    return frozenset(found)


def _leaf_invariant(block: Block, op: BlockOp, loop: int, written: set[int]) -> bool:
    attribute = op.attribute
    if isinstance(attribute, BufferRef):
        return attribute.strides[loop] == 0 and attribute.buffer not in written
    return not isinstance(attribute, PositionExpr)  # registers only: LLVM moves it by itself


def frontier(block: Block, invariant: frozenset[int]) -> frozenset[int]:
    """Invariant ops that the rest of the body uses; constants are cheaper where they are used."""
    used = {arg for index, op in enumerate(block.ops) if index not in invariant for arg in op.args}
    return frozenset(index for index in invariant & (used | results(block)) if block.ops[index].name != "constant")


def hoist_from_chunks(scope: Scope, block: Block, outer: tuple[Index, ...], width: int) -> Values:
    """What the loop over vectors of the last axis needs in each of them: computed for one element, spread over ``width`` elements."""
    if block.loops[-1].extent <= width:
        return {}
    wanted = frontier(block, invariant_ops(block, len(block.loops) - 1))
    values = evaluate(scope, block, Place(outer, 0, 1), wanted=wanted)
    return {index: rvv.spread_first(values[index], width) for index in sorted(wanted)}


def hoist_from_loop(scope: Scope, block: Block, place: Place) -> Values:
    """What the loop over the last but one axis needs in every iteration, whole vectors; ``place`` is in its iteration 0."""
    loop = len(block.loops) - 2
    wanted = frontier(block, invariant_ops(block, loop)) if loop >= 0 and block.loops[loop].extent > 1 else frozenset[int]()
    values = evaluate(scope, block, place, wanted=wanted)
    return {index: values[index] for index in sorted(wanted)}
