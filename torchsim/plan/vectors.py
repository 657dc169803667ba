"""How many elements a compute vector has, from the body and its widest type."""

from __future__ import annotations

from collections.abc import Sequence

from torchsim.plan.dtypes import DType
from torchsim.plan.model import BlockOp

_MOVES = {
    "load",
    "constant",
    "where",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
}
_REGISTER_GROUP_BITS = 1024  # LMUL 4 at VLEN 256


def widest_bits(ops: Sequence[BlockOp]) -> int:
    """Bits of the widest element that the body holds in vectors; 16-bit floats and conversions go through 32 bits."""
    stored = max((op.dtype.bytes * 8 for op in ops), default=32)
    plain = all(op.name in _MOVES and not op.dtype.is_half for op in ops) or all(op.name == "load" for op in ops)
    return stored if plain else max(stored, 32)


def live_values(ops: Sequence[BlockOp], results: Sequence[int]) -> int:
    """Largest number of values alive at once when the ops run in order; constants are rematerialised."""
    last = {index: index for index in range(len(ops))}
    for index, op in enumerate(ops):
        for arg in op.args:
            last[arg] = index
    last.update((result, len(ops)) for result in results)
    ends = [0] * (len(ops) + 2)
    live = peak = 0
    for index, op in enumerate(ops):
        live -= ends[index]
        if op.name != "constant":
            live += 1
            ends[min(last[index], len(ops)) + 1] += 1
        peak = max(peak, live)
    return peak


def vector_length(ops: Sequence[BlockOp], results: Sequence[int], extra: int = 0) -> int:
    """Elements per vector: LMUL 4, LMUL 2 from six live values on, LMUL 1 from thirteen on, LMUL 8 for at most two operations.

    Register pressure from measurements of spills by LMUL; ``extra`` counts values that live through the body (accumulators).
    """
    bits = widest_bits(ops)
    live = live_values(ops, results) + extra
    group = _REGISTER_GROUP_BITS
    if live > 12:
        group //= 4
    elif live > 5:
        group //= 2
    elif live <= 2 and sum(op.name not in ("load", "constant") for op in ops) <= 1 and not any(op.dtype is DType.BF16 for op in ops):
        group *= 2
    return max(group // bits, 2)
