"""Block marks become BLOCK instructions."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import collect
from torchsim.dialect.togsim import BLOCK_BEGIN, BLOCK_END, get_int
from torchsim.passes.instructions import Instructions

_BEGIN, _END = 0, 1


def lower_block(module: ir.Module, machine: Machine) -> None:
    """Rewrite every ``togsim.block_begin`` and ``togsim.block_end``."""
    del machine
    instructions = Instructions(module)
    for op in collect(module, BLOCK_BEGIN, BLOCK_END):
        with ir.InsertionPoint(op):
            instructions.emit("npu.block", get_int(op, "id"), _BEGIN if op.name == BLOCK_BEGIN else _END)
        op.erase()
