"""Systolic matrix multiplication as instructions.

A preload pushes the weights of one chunk. A matmul streams rows through the array in groups of one vector: while a group is pushed and
computed, older ones are in the array or in its output queue, and the oldest are popped and added to the output. So the fill and drain of
the array are paid once for a block, not once for a queue of rows. How many groups are under way follows the array's queue length.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect import spad
from torchsim.dialect.build import Index, add, binary, carried_loop, collect, loop, mul, sub
from torchsim.dialect.nest import chunks
from torchsim.dialect.togsim import MATMUL, PRELOAD, get_int
from torchsim.passes import vcix

WEIGHTS = 64
"""Elements of a weight push: a register group of eight."""
ROWS = 32
"""Rows of a group, a register group of four: three groups are in registers at a time."""
_BYTES = 4


def matmul_to_vcix(module: ir.Module, machine: Machine) -> None:
    """Rewrite ``togsim.preload`` and ``togsim.matmul``."""
    for op in collect(module, PRELOAD, MATMUL):
        with ir.InsertionPoint(op):
            if op.name == PRELOAD:
                chunks(get_int(op, "count"), WEIGHTS, lambda start, count, at=op.operands[0]: _push("npu.weight_push", at, start, count))
            else:
                data, out = op.operands
                _stream(data, out, get_int(op, "rows"), machine.sa_queue_rows)
        op.erase()


def _stream(data: ir.Value, out: ir.Value, rows: int, queue: int) -> None:
    """All rows of a matmul; at most ``queue`` of them are pushed and not yet popped."""
    size = min(ROWS, queue)
    groups, rest, ahead = rows // size, rows % size, min(rows // size, queue // size)

    def compute(start: Index, count: int) -> None:
        _push("npu.input_push", data, start, count)
        vcix.compute()

    def drain(index: Index, popped: list[ir.Value]) -> list[ir.Value]:
        following = vcix.pop(size, _width(size))  # before the addition, so that the output port does not wait for it
        _accumulate(out, index, size, popped[0])
        return [following]

    def stream(index: Index, popped: list[ir.Value]) -> list[ir.Value]:
        compute(index, size)
        return drain(sub(index, ahead * size), popped)

    loop(0, ahead * size, size, lambda start: compute(start, size))
    popped = carried_loop(ahead * size, groups * size, size, [vcix.pop(size, _width(size))], stream) if groups else []
    if rest:
        compute(groups * size, rest)
    if groups:
        popped = carried_loop((groups - ahead) * size, (groups - 1) * size, size, popped, drain)
        _accumulate(out, (groups - 1) * size, size, popped[0])
    if rest:
        _accumulate(out, groups * size, rest, vcix.pop(rest, _width(rest)))


def _push(instruction: str, base: ir.Value, start: Index, count: int) -> None:
    vcix.push(instruction, spad.load(add(base, mul(start, _BYTES)), ir.F32Type.get(), 1, count, _width(count)), count)


def _accumulate(base: ir.Value, start: Index, count: int, result: ir.Value) -> None:
    at = add(base, mul(start, _BYTES))
    before = spad.load(at, result.type.element_type, 1, count, _width(count))
    spad.store(binary("arith.addf", before, result), at, 1, count)


def _width(count: int) -> int:
    return max(count, 2)
