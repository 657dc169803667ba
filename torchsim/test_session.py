"""Sessions, timing and the kernel cache on the real path (requirements D-4..D-6, D-8, G-23, L-8, L-9, T-2)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import torchsim
from torchsim.errors import InvalidInputError, SpadOverflowError, TraceError
from torchsim.runtime import timing
from torchsim.runtime.launch import Call
from torchsim.runtime.session import Session

pytestmark = pytest.mark.system


def _network(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.relu(x @ w), -1)


def _run(machine: str, function: Callable[..., Any] = _network, *inputs: torch.Tensor, **options: Any) -> tuple[Any, Session]:
    torch._dynamo.reset()
    arguments = inputs or (torch.ones(20, 33) / 7, torch.ones(33, 12) / 5)
    with torchsim.machine(machine), torchsim.options(**options), torchsim.session() as session:
        return torch.compile(function, backend="torchsim", dynamic=False)(*arguments), session


@pytest.mark.req("D-5", "G-23")
@pytest.mark.parametrize("machine", ["8x8", "128x128"])
def test_timing_needs_no_values(machine: str) -> None:
    _, both = _run(machine)
    _, only = _run(machine, functional=False)
    assert both.cycles == only.cycles > 0
    assert [run.cycles for run in both.kernels] == [run.cycles for run in only.kernels]
    values, untimed = _run(machine, timing=False)
    assert untimed.cycles == 0
    assert torch.allclose(values, _network(torch.ones(20, 33) / 7, torch.ones(33, 12) / 5))


@pytest.mark.req("G-23")
def test_cycles_do_not_depend_on_earlier_allocations_or_order() -> None:
    first = _run("8x8")[1].cycles
    litter = [torch.randn(n).to("npu") for n in (3, 1000, 77)]
    _run("8x8", torch.relu, torch.randn(50))
    assert _run("8x8")[1].cycles == first
    assert len(litter) == 3


@pytest.mark.req("L-9", "S-6")
def test_functional_run_measures_the_cycle_table() -> None:
    from torchsim.runtime.functional import execute
    from torchsim.runtime.options import Options
    from torchsim.runtime.windows import map_arguments

    _, session = _run("8x8")
    for call in session.calls:
        plan = call.kernel.plan
        memory = [torch.zeros(arg.elements * arg.dtype.bytes, dtype=torch.uint8) for arg in plan.args]
        bases, windows = map_arguments(plan.args, memory, torchsim.Session().arena)
        measured = execute(call.kernel, bases, windows, Options()).block_cycles
        assert measured
        for block, (_, lowest, highest) in measured.items():
            assert lowest == highest == call.kernel.cycle_table.rows[block][0]
        assert call.kernel.cycle_table.to_text().splitlines()[-1] == f"# origins: {', '.join(plan.origins)}"


@pytest.mark.req("H-7")
@pytest.mark.parametrize("machine", ["8x8", "32x32", "128x128"])
def test_cycles_respect_the_roofline(machine: str) -> None:
    x, w = torch.randn(96, 160), torch.randn(160, 72)
    _, session = _run(machine, torch.mm, x, w)
    (run,) = session.kernels
    chosen = session.machine
    peak_bytes_per_cycle = chosen.dram_channels * 32 * chosen.dram_freq_mhz / chosen.core_freq_mhz
    macs = 96 * 160 * 72
    assert run.cycles >= macs / (chosen.lanes**2 * chosen.num_systolic_array_per_core)
    assert run.cycles >= run.dma_bytes / peak_bytes_per_cycle
    assert run.dma_bytes >= 4 * (96 * 160 + 160 * 72 + 96 * 72)


@pytest.mark.req("D-4", "D-8")
def test_switching_machines_and_shapes_on_one_compiled_function() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.relu(x) * 2, backend="torchsim")
    seen: list[tuple[str, dict[str, int]]] = []
    for machine, rows in [("128x128", 70), ("8x8", 70), ("128x128", 70), ("8x8", 33)]:
        x = torch.randn(rows, 5)
        with torchsim.machine(machine), torchsim.session() as session:
            assert torch.equal(compiled(x), torch.relu(x) * 2)
        assert session.calls[0].kernel.machine.name == machine
        seen.append((machine, session.kernels[0].tile))
    assert seen[0] == seen[2] != seen[1]


def test_report_forms(tmp_path: Path) -> None:
    _, session = _run("8x8")
    session.to_json(tmp_path / "run.json")
    data = json.loads((tmp_path / "run.json").read_text())
    assert data["cycles"] == session.cycles == sum(kernel["cycles"] for kernel in data["kernels"])
    assert data["machine"]["vpu_num_lanes"] == 8
    assert session.table().count("\n") == len(session.kernels)
    session.timeline(tmp_path / "run.timeline.json")
    events = json.loads((tmp_path / "run.timeline.json").read_text())["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert [event["dur"] for event in kernels] == [run.cycles for run in session.kernels]
    assert max(event["ts"] + event.get("dur", 0) for event in events if "ts" in event) <= session.cycles
    assert any(event["name"].startswith("matmul") for event in events if event["ph"] == "X")


def test_sessions_do_not_nest() -> None:
    with torchsim.session(), pytest.raises(InvalidInputError, match="already open"), torchsim.session():
        pass


@pytest.mark.req("T-2", "T-8")
def test_bad_tiles_are_refused_by_name() -> None:
    x = torch.randn(40, 3000)
    for override, error, message in [
        ({"p0": 0}, InvalidInputError, "p0"),
        ({"p0": 8, "r0": 3000}, SpadOverflowError, "bytes per lane"),
        ({"p0": 1.5}, InvalidInputError, "p0"),
    ]:
        with torchsim.tiles(**override), pytest.raises(error, match=message):
            _run("8x8", lambda x: torch.softmax(x, 1), torch.cat([x, x], 1) if error is SpadOverflowError else x)


def _call() -> Call:
    return _run("8x8", torch.relu, torch.randn(50))[1].calls[0]


@pytest.mark.req("L-8", "G-1")
def test_stale_producer_is_refused() -> None:
    call = _call()
    stale = replace(call.kernel, key=call.kernel.key + "stale", producer_ir=call.kernel.producer_ir.replace("ret i32 13", "ret i32 12"))
    assert stale.producer_ir != call.kernel.producer_ir
    with pytest.raises(TraceError, match="ABI"):
        timing.simulate(stale, call.bases)


_PROGRAM = """
import torch, torchsim
from torchsim.runtime import hooks
torchsim.set_machine("8x8")
x = torch.arange(60.).reshape(6, 10)
with torchsim.session() as run:
    y = torch.compile(lambda x: torch.softmax(x, 1), backend="torchsim")(x)
assert torch.allclose(y, torch.softmax(x, 1))
print(hooks.backend().compiled, run.cycles)
"""


def _process(cache: Path) -> tuple[int, int]:
    environment = {**os.environ, "TORCHSIM_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    compiled, cycles = done.stdout.split()[-2:]
    return int(compiled), int(cycles)


@pytest.mark.req("D-6")
def test_second_process_compiles_no_kernel_and_damage_is_rebuilt(tmp_path: Path) -> None:
    first = _process(tmp_path)
    assert first[0] == 1
    assert _process(tmp_path) == (0, first[1])
    (entry,) = tmp_path.rglob("*.kernel")
    entry.write_bytes(entry.read_bytes()[:-100])
    assert _process(tmp_path) == first
    assert _process(tmp_path) == (0, first[1])


def _update(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.add_(1)
    return b * 2


@pytest.mark.req("C-23")
def test_overlapping_storages_are_refused_when_one_is_written() -> None:
    import numpy as np

    memory = np.arange(16, dtype=np.float32)
    with pytest.raises(InvalidInputError, match="share memory"):
        _run("8x8", _update, torch.from_numpy(memory), torch.from_numpy(memory[4:]))
    assert memory[0] == 0
    values, _ = _run("8x8", torch.add, torch.from_numpy(memory), torch.from_numpy(memory[::-1].copy()))
    assert torch.equal(values, torch.full((16,), 15.0))


def test_views_of_one_storage_are_updated_in_place() -> None:
    whole = torch.arange(12.0)
    values, _ = _run("8x8", _update, whole[:6], whole[6:])
    assert torch.equal(whole, torch.cat([torch.arange(1.0, 7.0), torch.arange(6.0, 12.0)]))
    assert torch.equal(values, torch.arange(6.0, 12.0) * 2)
