"""Move the body of the work-item loops into ``kernel_tile(args, tile indices..)``, which ``kernel`` calls."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import i64_type
from torchsim.dialect.function import KERNEL, KERNEL_TILE, call, define, entry, find, pointer_type
from torchsim.passes.loops import WORK_ITEM, body_of, induction_variable, kind_of


def outline_work_item(module: ir.Module, machine: Machine) -> None:
    """The work-item body may use the kernel's argument and the induction variables, nothing else from outside."""
    del machine
    kernel = find(module, KERNEL)
    body, indices = entry(kernel), []
    while loops := [one.operation for one in body.operations if kind_of(one.operation) == WORK_ITEM]:
        [loop] = loops
        indices.append(induction_variable(loop))
        body = body_of(loop)
    moved = [one.operation for one in body.operations][:-1]
    with ir.InsertionPoint(kernel):
        tile = define(KERNEL_TILE, [pointer_type(), *[i64_type()] * len(indices)], lambda arguments: None)
    [end] = entry(tile).operations
    for operation in moved:
        operation.move_before(end.operation)
    arguments = list(entry(tile).arguments)
    outer = [entry(kernel).arguments[0], *indices]
    for old, new in zip(outer, arguments, strict=True):
        old.replace_all_uses_with(new)
    with ir.InsertionPoint(body.operations[len(body.operations) - 1]):
        call(KERNEL_TILE, outer)
