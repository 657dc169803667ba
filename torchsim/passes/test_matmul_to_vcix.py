from __future__ import annotations

import pytest

from torchsim._mlir import ir
from torchsim.dialect.build import collect, constant, create, integer, known
from torchsim.dialect.togsim import MATMUL, PRELOAD
from torchsim.passes.loops import bounds
from torchsim.passes.matmul_to_vcix import matmul_to_vcix
from torchsim.passes.test_support import MACHINE, kernel_module
from torchsim.passes.vcix import fields


def _calls(module: ir.Module) -> list[tuple[str, int, list[int]]]:
    """(short intrinsic name, opcode, sizes of the plan loops around)."""
    found = []
    for op in collect(module, "llvm.call_intrinsic"):
        trips = []
        parent = op.block.owner.operation
        while parent.name == "scf.for":
            lower, upper, step = bounds(parent)
            trips.append((upper - lower) // step)
            parent = parent.block.owner.operation
        found.append((ir.StringAttr(op.attributes["intrin"]).value.removeprefix("llvm.riscv.sf.vc."), known(op.operands[0]), trips))
    return [one for one in found if not one[0].startswith("llvm")]


@pytest.mark.req("L-5")
def test_preload_pushes_one_weight_per_row_of_the_array() -> None:
    with kernel_module(lambda: create(PRELOAD, operands=[constant(64)], attributes={"count": integer(MACHINE.lanes)}) and None) as module:
        matmul_to_vcix(module, MACHINE)
        assert _calls(module) == [("iv.se", fields("npu.weight_push")[0], [])]
        [push] = collect(module, "llvm.call_intrinsic")
        assert known(push.operands[4]) == MACHINE.lanes


@pytest.mark.req("L-5")
@pytest.mark.parametrize(
    ("rows", "pushes"),
    [(5, [[]]), (64, [[]]), (100, [[], []]), (256, [[4]]), (300, [[4], []]), (520, [[4, 2], []])],
)
def test_groups_follow_the_queue(rows: int, pushes: list[list[int]]) -> None:
    """Rows go in vectors of 64 and groups of at most ``sa_queue_rows``; every group is push, compute, pop."""
    assert MACHINE.sa_queue_rows == 256
    with kernel_module(
        lambda: create(MATMUL, operands=[constant(0), constant(2048)], attributes={"rows": integer(rows)}) and None
    ) as module:
        matmul_to_vcix(module, MACHINE)
        calls = _calls(module)
        assert [trips for name, opcode, trips in calls if name == "iv.se"] == pushes
        assert [trips for name, opcode, trips in calls if name == "v.i.se"] == pushes
        assert all(opcode == fields("npu.input_push")[0] for name, opcode, _ in calls if name == "iv.se")
        assert len([name for name, *_ in calls if name == "i.se"]) == -(-rows // 256) - (rows == 520)
