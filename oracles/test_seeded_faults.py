"""Each oracle can fail: a fault seeded into one leg is noticed by the oracle that guards it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import torchsim
from oracles.differential import Differential
from oracles.plan_leg import PlanOracle
from oracles.records import check_equal, plan_events, producer_events
from oracles.scan_modes import check_modes, on_interconnect
from oracles.spike import recording
from oracles.spike.__main__ import main as command_line
from oracles.spike.both import Both
from oracles.spike.lockstep import first_difference
from oracles.stock_spike import StockSpikeOracle
from oracles.trace_analysis.oracle import analyse_call
from oracles.verify import verified
from torchsim.emit.kernel import compile_kernel
from torchsim.emit.producer import jit
from torchsim.errors import DivergenceError
from torchsim.iss.fault import Fault, seeded
from torchsim.passes import pipeline
from torchsim.passes.fine_grained_dma import fine_grained_dma
from torchsim.passes.loop_rounding import loop_rounding
from torchsim.plan.model import KernelPlan
from torchsim.runtime import hooks, timing
from torchsim.runtime.backend import RuntimeBackend
from torchsim.runtime.functional import simulator
from torchsim.runtime.kernel import Kernel
from torchsim.runtime.launch import Call, Launch, Observer, add_observer, remove_observer
from torchsim.target.isa.decoder import decode
from torchsim.target.isa.encoder import encode


def _pointwise(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.relu(a * b - a)


def _kernel(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> Call:
    """The only kernel call of a function on the selected machine."""
    torch._dynamo.reset()
    with torchsim.session() as session:
        torch.compile(function, backend="torchsim", dynamic=False)(*inputs)
    (call,) = session.calls
    return call


@pytest.fixture
def small() -> Iterator[torchsim.Machine]:
    with torchsim.machine("8x8") as machine:
        yield machine


@pytest.fixture
def pointwise_call(small: torchsim.Machine) -> Call:
    return _kernel(_pointwise, torch.randn(20, 10), torch.randn(10))


def _flip(kernel: Kernel) -> Kernel:
    """The subtraction of the kernel becomes an addition: one bit of one instruction word."""
    image = kernel.image
    for address, code in image.code():
        for at in range(0, len(code) - 3, 2):
            word = int.from_bytes(code[at : at + 4], "little")
            found = decode(word)
            if found.row is not None and found.row.name == "vfsub.vv":
                flipped = encode("vfadd.vv", **found.operands)
                assert (flipped ^ word).bit_count() == 1
                position = address - image.base + at
                return replace(
                    kernel, image=replace(image, data=image.data[:position] + flipped.to_bytes(4, "little") + image.data[position + 4 :])
                )
    raise AssertionError("no vfsub.vv in the kernel")


@pytest.mark.req("H-2")
def test_value_oracle_notices_a_flipped_instruction(small: torchsim.Machine) -> None:
    backend = hooks.backend()
    assert isinstance(backend, RuntimeBackend)
    a, b = torch.randn(20, 10), torch.randn(20, 10)
    torch._dynamo.reset()
    compiled = torch.compile(_pointwise, backend="torchsim", dynamic=False)
    with verified() as looked:
        compiled(a, b)
        assert [item[2] for item in looked.compared] == [0.0]
        launcher = list(backend._launchers.values())[-1]
        launcher.kernel = _flip(launcher.kernel)
        with pytest.raises(DivergenceError, match="computes wrong values"):
            compiled(a, b)


def _drop_line(ir: str, pattern: str) -> str:
    """Remove the first call that matches inside the work-item."""
    changed, count = re.subn(pattern, "", ir, count=1, flags=re.MULTILINE)
    assert count == 1
    return changed


FAULTS: dict[str, Callable[[str], str]] = {
    "a store": lambda ir: _drop_line(ir, r"^  call void %\d+\(ptr %0, i32 1, .*\n"),
    "a wait": lambda ir: _drop_line(ir, r"^  call void %\d+\(ptr %0, i64 1, i64 0\)\n"),
    "a read-set entry": lambda ir: re.sub(
        r"(ptr @numbers_\d+, i32) 2(, ptr getelementptr inbounds nuw \(i8, ptr @numbers_\d+, i64 64\), i32 1\))", r"\1 1\2", ir
    ),
}


@pytest.mark.req("H-4")
@pytest.mark.parametrize("fault", FAULTS)
def test_record_oracle_notices_a_dropped(fault: str, pointwise_call: Call) -> None:
    kernel, bases = pointwise_call.kernel, pointwise_call.bases
    planned = list(plan_events(kernel.plan, bases))
    good = jit(kernel.producer_ir)
    check_equal(("plan", "trace"), planned, list(producer_events(good.kernel_address, good.abi_address, bases)), "unchanged")
    changed = FAULTS[fault](kernel.producer_ir)
    assert changed != kernel.producer_ir
    bad = jit(changed)
    with pytest.raises(DivergenceError, match="records differ"):
        check_equal(("plan", "trace"), planned, list(producer_events(bad.kernel_address, bad.abi_address, bases)), "seeded")


def _plan(machine: torchsim.Machine, function: Callable[..., torch.Tensor], *inputs: torch.Tensor, **tiles: int) -> KernelPlan:
    with torchsim.tiles(**tiles):
        return _kernel(function, *inputs).kernel.plan


@pytest.mark.req("L-4", "L-5", "H-4")
@pytest.mark.parametrize("skipped", [loop_rounding, fine_grained_dma], ids=lambda one: one.__name__)
def test_plan_leg_notices_a_skipped_pass(small: torchsim.Machine, skipped: pipeline.Pass, monkeypatch: pytest.MonkeyPatch) -> None:
    if skipped is loop_rounding:
        plan = _plan(small, _pointwise, torch.randn(100), torch.randn(100), p0=32)
        assert plan.grid == (4,)
    else:
        plan = _plan(small, torch.mm, torch.randn(16, 32), torch.randn(32, 16))
    bases = [0x10_0000_0000 + 0x10000 * i for i in range(len(plan.args))]
    planned = list(plan_events(plan, bases))

    def traced() -> None:
        made = jit(compile_kernel(plan, small).producer_ir)
        check_equal(("plan", "trace"), planned, list(producer_events(made.kernel_address, made.abi_address, bases)), plan.name)

    traced()
    monkeypatch.setattr(pipeline, "COMMON", tuple(one for one in pipeline.COMMON if one is not skipped))
    with pytest.raises(DivergenceError, match="records differ"):
        traced()


def _waiting_call() -> Call:
    """Work-items that wait for their loads: with little else going on, nothing else wakes the core."""
    return _kernel(_pointwise, torch.randn(200, 300), torch.randn(300))


@pytest.mark.req("G-11", "H-6")
@pytest.mark.parametrize("wake", ["ready", "dram_response", "weight_slot_freed", "dispatched", "issued"])
def test_forced_scan_notices_a_skipped_dirty_flag(small: torchsim.Machine, wake: str) -> None:
    if wake in ("dram_response", "dispatched"):  # several work-items that often wait for nothing but this
        call = _waiting_call()
    else:
        call = _kernel(lambda x, w: torch.relu(x @ w), torch.randn(64, 64), torch.randn(64, 64))
    check_modes(call)
    with pytest.raises(DivergenceError, match="fast timing mode"):
        check_modes(call, faults={"skip_dirty": wake})


@pytest.mark.req("G-11", "H-6")
@pytest.mark.parametrize("interconnect", ["crossbar", "mesh"])
def test_forced_scan_notices_a_skipped_dirty_flag_behind_routers(small: torchsim.Machine, interconnect: str) -> None:
    call = on_interconnect(_waiting_call(), interconnect)
    assert timing.run_mode(call.kernel, call.bases, "fast").machine["icnt_type"] == interconnect
    check_modes(call)
    with pytest.raises(DivergenceError, match="fast timing mode"):
        check_modes(call, faults={"skip_dirty": "dram_response"})


@pytest.mark.req("H-5", "G-3", "G-4")
@pytest.mark.parametrize(
    "fault",
    [
        {"drop_edges": "read:barrier:preload"},
        {"relabel_edges": "weights:preload:matmul"},
        {"bend_rule": "accumulate_waits"},
        {"shift": {"footprint": 1}},
        {"shift": {"vector_cycles": 1}},
        {"bend_rule": "arrays_not_in_turn"},
    ],
    ids=str,
)
def test_analysis_notices_a_fault_of_bridge_or_core_in_a_compiled_kernel(small: torchsim.Machine, fault: dict[str, Any]) -> None:
    call = _kernel(lambda x, w: torch.relu(x @ w), torch.randn(16, 32), torch.randn(32, 16))
    analyse_call(call)
    with pytest.raises(DivergenceError, match="kernel torchsim_kernel"):
        analyse_call(call, fault)


@pytest.mark.req("S-4")
def test_dma_oracle_notices_a_missing_wait(small: torchsim.Machine) -> None:
    """Without the waits before the block, late completion shows poison in place of the operands."""
    backend = hooks.backend()
    assert isinstance(backend, RuntimeBackend)
    a, b = torch.randn(20, 10), torch.randn(20, 10)
    torch._dynamo.reset()
    compiled = torch.compile(_pointwise, backend="torchsim", dynamic=False)
    with Differential.on(small, oracles=("dma",)):
        compiled(a, b)
        launcher = list(backend._launchers.values())[-1]
        launcher.kernel = _without_early_waits(launcher.kernel)
        with pytest.raises(DivergenceError, match="race"):
            compiled(a, b)


def _without_early_waits(kernel: Kernel) -> Kernel:
    """Waits on loads become waits that come too late: they are moved behind the block by recompiling the plan with another order."""
    from torchsim.plan.model import Block, Wait

    body = list(kernel.plan.body)
    first_block = next(i for i, item in enumerate(body) if isinstance(item, Block))
    waits = [item for item in body[:first_block] if isinstance(item, Wait)]
    assert waits
    moved = [item for item in body[:first_block] if not isinstance(item, Wait)] + [body[first_block], *waits, *body[first_block + 1 :]]
    plan = replace(kernel.plan, body=tuple(moved))
    return replace(kernel, plan=plan, image=compile_kernel(plan, kernel.machine).image)


def test_timing_is_simulated_not_remembered_when_asked(pointwise_call: Call) -> None:
    known = timing.simulate(pointwise_call.kernel, pointwise_call.bases)
    assert timing.run_mode(pointwise_call.kernel, pointwise_call.bases, "fast").cycles == known.cycles > 0


@pytest.mark.req("H-1")
def test_plan_oracle_notices_a_flipped_instruction(small: torchsim.Machine) -> None:
    backend = hooks.backend()
    assert isinstance(backend, RuntimeBackend)
    a, b = torch.randn(20, 10), torch.randn(20, 10)
    torch._dynamo.reset()
    compiled = torch.compile(_pointwise, backend="torchsim", dynamic=False)
    observer = PlanOracle()
    add_observer(observer)
    try:
        compiled(a, b)
        assert observer.checked == 1
        launcher = list(backend._launchers.values())[-1]
        launcher.kernel = _flip(launcher.kernel)
        with pytest.raises(DivergenceError, match="other values than its machine code"):
            compiled(a, b)
    finally:
        remove_observer(observer)


class _FlipOneBit(Observer):
    """Stands for a fault of the functional simulator: one bit of the first written byte is wrong after the run."""

    def after(self, launch: Launch) -> float | None:
        window = next(window for window in launch.windows if window.writable)
        byte = ctypes.c_uint8.from_address(window.host)
        byte.value ^= 1
        return None


@pytest.mark.req("S-5", "H-1")
def test_spike_oracle_names_the_first_wrong_instruction(small: torchsim.Machine) -> None:
    """A simulator whose vfsub.vv adds: the report says so, and the recorded kernel shows it again."""
    torch._dynamo.reset()
    compiled = torch.compile(_pointwise, backend="torchsim", dynamic=False)
    spike = StockSpikeOracle(small)
    fault = Fault("vfsub.vv", "decode_as", "vfadd.vv")
    add_observer(spike)
    try:
        with (
            seeded(simulator(small), fault),
            pytest.raises(DivergenceError, match=r"(?s)instruction \d+ at 0x80.*vfsub\.vv v.*Spike has") as caught,
        ):
            compiled(torch.randn(20, 10), torch.randn(20, 10))
    finally:
        remove_observer(spike)
    path = Path(str(caught.value).partition("lockstep ")[2].strip())
    kernel, lanes, spad_bytes, queue_rows = recording.load(path)
    with Both(lanes, spad_bytes, queue_rows) as both:
        assert first_difference(both, kernel) is None
        with seeded(both.iss, fault):
            found = first_difference(both, kernel)
    assert found is not None
    assert found.text.startswith("vfsub.vv")
    assert command_line(["lockstep", str(path)]) == 0
    path.write_bytes(path.read_bytes()[:100])
    assert command_line(["lockstep", str(path)]) == 2


@pytest.mark.req("S-5", "H-1")
def test_spike_oracle_notices_one_wrong_bit(small: torchsim.Machine) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(_pointwise, backend="torchsim", dynamic=False)
    spike = StockSpikeOracle(small)
    fault = _FlipOneBit()
    add_observer(spike)
    try:
        compiled(torch.randn(20, 10), torch.randn(20, 10))
        assert spike.checked == 1
        remove_observer(spike)
        add_observer(fault)
        add_observer(spike)
        with pytest.raises(DivergenceError, match="different DRAM contents"):
            compiled(torch.randn(20, 10), torch.randn(20, 10))
    finally:
        remove_observer(fault)
        remove_observer(spike)
