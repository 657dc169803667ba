"""Round the bounds of work-item and tile loops up to whole tiles.

Emission writes these loops over elements, with the logical extent as bound. Trip counts are taken by exact division afterwards, so the
last, ragged tile would be lost without this. No other operation is changed: ragged tiles are the business of transfer bounds and masks.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import collect, constant
from torchsim.passes.loops import bounds, is_plan_loop


def loop_rounding(module: ir.Module, machine: Machine) -> None:
    """Round every plan loop's upper bound up to a multiple of its step."""
    del machine
    for op in collect(module, "scf.for"):
        if is_plan_loop(op):
            lower, upper, step = bounds(op)
            rounded = lower + -(-(upper - lower) // step) * step
            if rounded != upper:
                with ir.InsertionPoint(op):
                    op.operands[1] = constant(rounded)
