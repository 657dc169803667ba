"""Systolic matrix multiplication as instructions.

A preload pushes the weights of one chunk. A matmul pushes input rows in vectors until the queue is full, computes, pops as many and adds
them to the output; its groups follow the array's queue length.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect import spad
from torchsim.dialect.build import Index, add, binary, collect, mul
from torchsim.dialect.nest import chunks
from torchsim.dialect.togsim import MATMUL, PRELOAD, get_int
from torchsim.passes import vcix

VECTOR = 64
"""f32 elements of a register group of eight: pushes and pops keep at most three groups alive."""
_BYTES = 4


def matmul_to_vcix(module: ir.Module, machine: Machine) -> None:
    """Rewrite ``togsim.preload`` and ``togsim.matmul``."""
    for op in collect(module, PRELOAD, MATMUL):
        with ir.InsertionPoint(op):
            if op.name == PRELOAD:
                chunks(get_int(op, "count"), VECTOR, lambda start, count, at=op.operands[0]: _push("npu.weight_push", at, start, count))
            else:
                data, out = op.operands
                chunks(get_int(op, "rows"), machine.sa_queue_rows, lambda start, rows, data=data, out=out: _group(data, out, start, rows))
        op.erase()


def _group(data: ir.Value, out: ir.Value, first: Index, rows: int) -> None:
    """At most a queue full of rows."""
    chunks(rows, VECTOR, lambda start, count: _push("npu.input_push", data, add(first, start), count))
    vcix.compute()
    chunks(rows, VECTOR, lambda start, count: _pop(out, add(first, start), count))


def _push(instruction: str, base: ir.Value, start: Index, count: int) -> None:
    vcix.push(instruction, spad.load(add(base, mul(start, _BYTES)), ir.F32Type.get(), 1, count, _width(count)), count)


def _pop(base: ir.Value, start: Index, count: int) -> None:
    width = _width(count)
    result = vcix.pop(count, width)
    at = add(base, mul(start, _BYTES))
    before = spad.load(at, result.type.element_type, 1, count, width)
    spad.store(binary("arith.addf", before, result), at, 1, count)


def _width(count: int) -> int:
    return max(count, 2)
