"""How many vectors of a block are computed side by side.

An in-order core without chaining waits for the whole result of an instruction before a dependent one starts. Two independent vectors
fill each other's waits, as long as all their values stay in registers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from torchsim.emit.body import results
from torchsim.emit.invariants import frontier, invariant_ops
from torchsim.emit.ops import widest_bits
from torchsim.plan.model import Block, BufferRef
from torchsim.plan.vectors import live_values

_REGISTERS = 32
_REGISTER_BITS = 256
_HALF_GROUP = 4
_FEWEST = 16
"""Vectors of a loop; shorter loops LLVM unrolls and schedules as a whole."""
_MOST = 2
"""More than two are put back in a row by LLVM's scheduler, which saves registers."""


def interleaving(block: Block, length: int) -> tuple[int, int]:
    """Elements of a vector, at most ``length``, and vectors side by side: two register groups of four go before one of eight."""
    known = frontier(block, invariant_ops(block, len(block.loops) - 1))
    if _registers(block, length) == 2 * _HALF_GROUP and vectors_together(block, length // 2, known) > 1:
        length //= 2
    return length, vectors_together(block, length, known)


def vectors_together(block: Block, length: int, known: Collection[int], carried: int = 0) -> int:
    """A power of two.

    Args:
        block: its ops run on vectors of ``length`` elements.
        length: elements.
        known: values that are held in registers over the loop.
        carried: accumulators, held as well.
    """
    if _reads_what_it_writes(block) or block.loops[-1].extent < _FEWEST * length:
        return 1
    invariant = invariant_ops(block, len(block.loops) - 1)
    varying = [replace(op, name="constant", args=()) if index in invariant else op for index, op in enumerate(block.ops)]
    live = max(live_values(varying, sorted(results(block))), 1)
    free = _REGISTERS // _registers(block, length) - 1 - len(known) - carried  # register 0 holds masks
    together = _MOST
    while together > 1 and together * live > free:
        together //= 2
    return together


def _registers(block: Block, length: int) -> int:
    """Registers of the widest vector of the body."""
    bits = max((widest_bits(op, [block.ops[arg].dtype for arg in op.args] or [op.dtype]) for op in block.ops), default=32)
    return max(-(-length * bits // _REGISTER_BITS), 1)


def _reads_what_it_writes(block: Block) -> bool:
    """Whether a later vector might read what an earlier one has stored elsewhere in the same buffer."""
    loads = {op.attribute for op in block.ops if isinstance(op.attribute, BufferRef)}
    return any(load.buffer == store.ref.buffer and load != store.ref for load in loads for store in block.stores)
