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
    ("rows", "pushes", "pops"),
    [
        (5, [[]], [[]]),
        (32, [[]], [[]]),
        (100, [[3], []], [[], [2], []]),
        (256, [[8]], [[], [7]]),
        (300, [[8], [], []], [[], [], [7], []]),
        (512, [[8], [8]], [[], [8], [7]]),
    ],
)
def test_rows_stream_through_the_array(rows: int, pushes: list[list[int]], pops: list[list[int]]) -> None:
    """Groups of 32 rows; the queue is filled, then a group is popped for each one pushed, then the rest is drained."""
    assert MACHINE.sa_queue_rows == 256
    with kernel_module(
        lambda: create(MATMUL, operands=[constant(0), constant(2048)], attributes={"rows": integer(rows)}) and None
    ) as module:
        matmul_to_vcix(module, MACHINE)
        calls = _calls(module)
        assert [trips for name, opcode, trips in calls if name == "iv.se"] == pushes
        assert [trips for name, opcode, trips in calls if name == "i.se"] == pushes
        assert [trips for name, opcode, trips in calls if name == "v.i.se"] == pops
        assert all(opcode == fields("npu.input_push")[0] for name, opcode, _ in calls if name == "iv.se")


@pytest.mark.req("L-5")
@pytest.mark.parametrize("queue", [1, 3, 32, 40, 64, 256])
def test_the_queue_never_overflows(queue: int) -> None:
    """The calls in order of execution: never more rows in the array than its queue holds, and all are popped in the end."""
    machine = MACHINE.model_copy(update={"sa_queue_rows": queue})
    for rows in (1, 2, 3, 31, 32, 33, 63, 64, 97, 128, 300):
        with kernel_module(
            lambda rows=rows: create(MATMUL, operands=[constant(0), constant(2048)], attributes={"rows": integer(rows)}) and None
        ) as module:
            matmul_to_vcix(module, machine)
            inside = highest = pushed = 0
            for name, count in _executed(module):
                inside += {"iv.se": count, "v.i.se": -count}.get(name, 0)
                pushed += count if name == "iv.se" else 0
                highest = max(highest, inside)
            assert inside == 0
            assert pushed == rows
            assert highest <= queue


def _executed(module: ir.Module) -> list[tuple[str, int]]:
    """(short intrinsic name, rows) of every execution, loops unrolled."""

    def run(block: ir.Block) -> list[tuple[str, int]]:
        done: list[tuple[str, int]] = []
        for op in block.operations:
            operation = op.operation
            if operation.name == "scf.for":
                lower, upper, step = bounds(operation)
                done += run(operation.regions[0].blocks[0]) * len(range(lower, upper, step))
            elif operation.name == "llvm.call_intrinsic":
                name = ir.StringAttr(operation.attributes["intrin"]).value.removeprefix("llvm.riscv.sf.vc.")
                if not name.startswith("llvm"):
                    count = known(operation.operands[len(operation.operands) - 1])
                    assert isinstance(count, int)
                    done.append((name, count))
            else:
                for region in operation.regions:
                    for inner in region.blocks:
                        done += run(inner)
        return done

    return run(module.body)
