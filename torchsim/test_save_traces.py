"""Saved traces of compiled kernels give the cycles of the session, in a process that has no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import torchsim
from togsim import Simulator, saved
from torchsim.config import Machine, load_machine

pytestmark = pytest.mark.system


def _machine(cores: int) -> Machine:
    return load_machine("32x32").model_copy(update={"name": f"32x32_c{cores}", "num_cores": cores})


@pytest.mark.req("G-21", "G-23")
@pytest.mark.parametrize("cores", [1, 2])
def test_saved_traces_give_the_same_cycles_without_torch(cores: int, tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.Linear(96, 10), torch.nn.Softmax(-1))
    torch._dynamo.reset()
    with torch.no_grad(), torchsim.machine(_machine(cores)), torchsim.options(functional=False), torchsim.session() as session:
        compiled = torch.compile(model, backend="torchsim")
        pixels = torch.randn(100, 64)
        compiled(pixels)
        compiled(pixels)
    folders = session.save_traces(tmp_path)
    reported = {(run.name, run.cycles) for run in session.kernels}
    found: set[tuple[str, int]] = set()
    for folder in folders:
        trace = saved.load(folder)
        result = Simulator(trace.machine).run_producer(trace.producer(), trace.bases, trace.cycle_table)
        assert len(result.cores) == cores
        found.add((trace.kernel, result.cycles))
    assert found == reported
    program = (
        "import sys, togsim.cli as cli\n"
        f"cli.main(['run', {str(folders[0])!r}, '--json', {str(tmp_path / 'r.json')!r}])\n"
        "assert not {'torch', 'torchsim', 'mlir', 'llvmlite'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    assert (data["kernel"], data["cycles"]) == (session.kernels[0].name, session.kernels[0].cycles)


@pytest.mark.req("G-21")
def test_the_same_kernel_gives_the_same_bytes_and_each_call_is_saved_once(tmp_path: Path) -> None:
    torch._dynamo.reset()
    with torchsim.machine("8x8"), torchsim.options(functional=False), torchsim.session() as session:
        compiled = torch.compile(torch.relu, backend="torchsim")
        x = torch.randn(9, 7)
        for _ in range(3):
            out = compiled(x)
        del out
    first, second = (session.save_traces(tmp_path / name) for name in "ab")
    assert [path.name for path in first] == [path.name for path in second]
    assert 1 <= len(first) <= 3
    for a, b in zip(first, second, strict=True):
        assert (a / saved.PRODUCER).read_bytes() == (b / saved.PRODUCER).read_bytes()
        assert (a / saved.DESCRIPTION).read_bytes() == (b / saved.DESCRIPTION).read_bytes()


def test_a_session_without_kernels_has_nothing_to_save(tmp_path: Path) -> None:
    with torchsim.session() as session:
        pass
    with pytest.raises(torchsim.InvalidInputError, match="no kernel ran"):
        session.save_traces(tmp_path)


def test_without_a_c_compiler_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchsim.emit.shared_object import shared_object

    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    with pytest.raises(torchsim.InvalidInputError, match="needs a C compiler"):
        shared_object("")
