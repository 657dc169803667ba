from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from torchsim._mlir import ir
from torchsim.config import load_machine
from torchsim.dialect.verify import verify
from torchsim.emit.kernel import compile_kernel, emit_module
from torchsim.emit.test_producer import GROUPS
from torchsim.emit.test_support import matmul_group, op_group
from torchsim.errors import InternalError, UnsupportedError
from torchsim.passes import pipeline
from torchsim.plan.arena import leaves
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Group
from torchsim.plan.model import Block, BlockOp, KernelPlan
from torchsim.target.isa.decoder import instructions

MACHINE = load_machine("8x8")


@pytest.mark.req("L-1", "L-2")
@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_the_ir_is_valid_after_every_pass(group: Group) -> None:
    module = emit_module(build(group, MACHINE), MACHINE)
    ran: list[str] = []

    def observe(name: str, after: ir.Module) -> None:
        ran.append(name)
        verify(after, MACHINE.lanes, where=name)

    with module.context, ir.Location.unknown():
        verify(module, MACHINE.lanes, where="emit")
        pipeline.run(pipeline.COMMON, module, MACHINE, observe)
        timing = module.operation.clone()
        pipeline.run(pipeline.FUNCTIONAL, module, MACHINE, observe)
        pipeline.run((*pipeline.TIMING, *pipeline.HOST), timing, MACHINE, observe)
    assert ran == [one.__name__ for one in (*pipeline.COMMON, *pipeline.FUNCTIONAL, *pipeline.TIMING, *pipeline.HOST)]


@pytest.mark.req("L-1", "L-6")
def test_dump(tmp_path: Path) -> None:
    compile_kernel(build(GROUPS["matmul"], MACHINE), MACHINE, tmp_path / "mm")
    names = sorted(path.name for path in (tmp_path / "mm").iterdir())
    stages = [name[3:-5] for name in names if name.endswith(".mlir")]
    assert stages == ["emit", *(one.__name__ for one in (*pipeline.COMMON, *pipeline.FUNCTIONAL, *pipeline.TIMING, *pipeline.HOST))]
    assert {"kernel.ll", "kernel.s", "kernel.o", "kernel.lst", "producer.ll", "producer.cpp"} <= set(names)
    assert "npu.mvin" in (tmp_path / "mm" / "kernel.lst").read_text()
    assert all(path.stat().st_size for path in (tmp_path / "mm").iterdir())


@pytest.mark.req("L-6", "L-10")
def test_a_compiled_kernel() -> None:
    plan = build(GROUPS["matmul"], MACHINE)
    compiled = compile_kernel(plan, MACHINE)
    assert {"kernel", "kernel_tile"} <= set(compiled.image.symbols)
    assert compiled.spad_bytes == plan.spad_bytes_per_lane
    assert set(compiled.timings) == {"emit", "passes", "translate", "producer", "object", "load", "check"}
    names = {one.name for address, code in compiled.image.code() for _, one in instructions(code, address)}
    assert {"npu.weight_push", "npu.input_push", "npu.compute", "npu.pop", "npu.block", "npu.wait", "npu.tag"} <= names


def test_compilation_is_deterministic() -> None:
    """Caches and comparisons stand on it."""
    plan = build(GROUPS["half matmul"], MACHINE)
    first, second = (compile_kernel(plan, MACHINE) for _ in range(2))
    assert first.image.to_bytes() == second.image.to_bytes()
    assert first.producer_ir == second.producer_ir


def test_a_plan_for_another_machine_is_refused() -> None:
    plan = build(matmul_group(8, 8, 8), MACHINE)
    with pytest.raises(InternalError, match="plan and machine differ"):
        compile_kernel(plan, load_machine("32x32"))


def _with_op(plan: KernelPlan, name: str) -> KernelPlan:
    [block] = [item for item in leaves(plan.body) if isinstance(item, Block)]
    changed = replace(block, ops=(*block.ops[:-1], BlockOp(name, block.ops[-1].dtype, block.ops[-1].args)))
    return replace(plan, body=tuple(changed if item is block else item for item in plan.body))


def test_an_op_without_code_is_named() -> None:
    plan = build(op_group("exp", [DType.F32], DType.F32, [10]), MACHINE)
    with pytest.raises(UnsupportedError, match="'lgamma'"):
        compile_kernel(_with_op(plan, "lgamma"), MACHINE)
