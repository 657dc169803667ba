"""What passes ask of the plan's loops: ``scf.for`` with constant bounds, marked with ``togsim.loop``."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect.togsim import LOOP
from torchsim.errors import InternalError

WORK_ITEM, TILE, CHUNK = "work_item", "tile", "chunk"


def kind_of(op: ir.Operation) -> str:
    """work_item, tile or chunk; empty for loops inside blocks."""
    return ir.StringAttr(op.attributes[LOOP]).value if op.name == "scf.for" and LOOP in op.attributes else ""


def is_plan_loop(op: ir.Operation) -> bool:
    """Whether a loop counts elements of an axis."""
    return kind_of(op) in (WORK_ITEM, TILE)


def bounds(op: ir.Operation) -> tuple[int, int, int]:
    """Lower bound, upper bound and step.

    Raises:
        InternalError: one of them is no constant.
    """
    lower, upper, step = (_constant(op.operands[i]) for i in range(3))
    return lower, upper, step


def _constant(value: ir.Value) -> int:
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "arith.constant":
        return ir.IntegerAttr(owner.operation.attributes["value"]).value
    raise InternalError("a plan loop has a bound that is no constant", expected="arith.constant", found=str(value))


def body_of(op: ir.Operation) -> ir.Block:
    """The body of an ``scf.for``."""
    return op.regions[0].blocks[0]


def induction_variable(op: ir.Operation) -> ir.Value:
    """The induction variable of an ``scf.for``."""
    return body_of(op).arguments[0]


def innermost_work_item(op: ir.Operation) -> ir.Operation:
    """The innermost work-item loop of the nest that starts at one."""
    for one in body_of(op).operations:
        if kind_of(one.operation) == WORK_ITEM:
            return innermost_work_item(one.operation)
    return op
