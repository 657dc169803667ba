"""Turn loops over elements into loops over tiles: ``for i = 0 to n / step step 1``, by exact (floor) division.

Inside, ``i floordiv step`` becomes the new induction variable and every other use of the old one ``i * step``.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import collect, constant, known, materialise, mul
from torchsim.passes.loops import body_of, bounds, induction_variable, innermost_work_item, is_plan_loop


def trip_counts(module: ir.Module, machine: Machine) -> None:
    """Rewrite every work-item and tile loop."""
    del machine
    for op in collect(module, "scf.for"):
        if is_plan_loop(op):
            _rewrite(op)


def _rewrite(op: ir.Operation) -> None:
    lower, upper, step = bounds(op)
    assert lower == 0
    with ir.InsertionPoint(op):
        op.operands[1] = constant(upper // step)
        op.operands[2] = constant(1)
    tile = induction_variable(op)
    uses = [(use.owner.operation, use.operand_number) for use in tile.uses]
    divisions = [user for user, number in uses if user.name == "arith.divui" and number == 0 and known(user.operands[1]) == step]
    others = [(user, number) for user, number in uses if user not in divisions]
    if others and step != 1:
        # in the innermost work-item loop, so that the work-item body stays self-contained when it is outlined
        with ir.InsertionPoint.at_block_begin(body_of(innermost_work_item(op))):
            element = materialise(mul(tile, step))
        for user, number in others:
            user.operands[number] = element
    for division in divisions:
        division.results[0].replace_all_uses_with(tile)
        division.erase()
