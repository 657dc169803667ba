from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from togsim import _core
from torchsim.config import load_machine
from torchsim.emit.kernel import compile_kernel
from torchsim.emit.producer import cpp_source, jit
from torchsim.emit.test_support import matmul_group, op_group, reduction_group
from torchsim.errors import InternalError
from torchsim.passes.trace_abi import header_path, trace_abi
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.enumerate import ComputeRecord, DmaRecord, WaitRecord, records
from torchsim.plan.group import Group
from torchsim.plan.model import KernelPlan

GROUPS = {
    "pointwise": op_group("add", [DType.F32, DType.F32], DType.F32, [3, 5, 700]),
    "many work-items": op_group("exp", [DType.F64], DType.F64, [37, 4001]),
    "reduction": reduction_group("sum", DType.F32, [37, 29], [1]),
    "long reduction": reduction_group("max", DType.I32, [5, 9000], [1]),
    "matmul": matmul_group(100, 50, 70, relu=True),
    "large matmul": matmul_group(140, 130, 150),
    "half matmul": matmul_group(33, 17, 25, dtype=DType.BF16),
}
MACHINE = load_machine("8x8")
_TYPES = {"vector": 0, "matmul": 1, "preload": 2}


def _plan_leg(plan: KernelPlan) -> list[tuple[object, ...]]:
    """Records that the plan implies, in the form of the trace."""
    found: list[tuple[object, ...]] = []
    for number, item in enumerate(records(plan)):
        found.append(("begin", number, item.indices))
        for record in item.records:
            match record:
                case DmaRecord():
                    ranges = [tuple((r.buffer, r.arena_offset, r.begin, r.length) for r in part) for part in (record.reads, record.writes)]
                    geometry = (record.element_offset, record.dims, record.dram_strides, record.low, record.high, record.element_bytes * 8)
                    found.append(("dma", int(record.direction == "store"), record.arg, *geometry, True, record.tag, *ranges))
                case WaitRecord():
                    found.append(("bar", record.tag, 0))
                case ComputeRecord():
                    ranges = [tuple((r.buffer, r.arena_offset, r.begin, r.length) for r in part) for part in (record.reads, record.writes)]
                    found.append(("compute", record.block_id, _TYPES[record.compute_type], *ranges))
        found.append(("end", number))
    return found


def _trace(kernel: int, version: int) -> list[tuple[object, ...]]:
    return _core.CompiledProducer(kernel, version, []).records()


@pytest.mark.req("L-7", "L-8", "L-10", "L-4")
@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_the_trace_is_what_the_plan_implies(group: Group) -> None:
    plan = build(group, MACHINE)
    producer = jit(compile_kernel(plan, MACHINE).producer_ir)
    assert _trace(producer.kernel_address, producer.abi_address) == _plan_leg(plan)


@pytest.mark.req("L-8")
@pytest.mark.parametrize("name", ["many work-items", "matmul"])
def test_the_cpp_form_gives_the_same_records(name: str, tmp_path: Path) -> None:
    plan = build(GROUPS[name], MACHINE)
    source, shared = tmp_path / "producer.cpp", tmp_path / "producer.so"
    source.write_text(cpp_source(plan, MACHINE))
    command = [
        "g++",
        "-std=c++20",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-shared",
        "-fPIC",
        f"-I{header_path().parent}",
        str(source),
        "-o",
        str(shared),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    producer = jit(compile_kernel(plan, MACHINE).producer_ir)
    assert _trace(*_core.load_shared_object(str(shared))) == _trace(producer.kernel_address, producer.abi_address)


@pytest.mark.req("L-8")
def test_the_cpp_form_says_what_it_is() -> None:
    text = cpp_source(build(GROUPS["pointwise"], MACHINE), MACHINE)
    assert "Do not edit" in text.splitlines()[0]
    assert f"ABI version {trace_abi().version}" in text.splitlines()[1]
    for line in trace_abi().call_formats.strip().splitlines():
        assert line.rstrip() in text


def test_bad_ir_is_an_error_of_ours() -> None:
    with pytest.raises(InternalError, match="no valid LLVM IR"):
        jit("define void @togsim_kernel( {")
    with pytest.raises(InternalError, match="entry point"):
        jit("define void @other() { ret void }")
