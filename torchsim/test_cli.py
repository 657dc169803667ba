"""Command line: scripts, doctor, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

_SCRIPT = """
import torch, torchsim
x = torch.randn(9, 7)
assert torch.equal(torch.compile(torch.relu, backend="torchsim")(x), torch.relu(x))
"""


def _torchsim(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "torchsim", *arguments], capture_output=True, text=True, timeout=240, check=False)


def test_run_prints_the_kernel_table_and_writes_json(tmp_path: Path) -> None:
    script, report = tmp_path / "script.py", tmp_path / "report.json"
    script.write_text(_SCRIPT)
    done = _torchsim("run", str(script), "--machine", "32x32", "--json", str(report))
    assert done.returncode == 0, done.stderr
    assert "relu" in done.stdout
    assert "cycles on 32x32" in done.stdout
    data = json.loads(report.read_text())
    assert data["machine"]["name"] == "32x32"
    assert data["cycles"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("run", "missing.py"), "no script"), (("run", "-m", "9x9", __file__), "unknown machine"), (("fly",), "No such command")],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    done = _torchsim(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_failing_script_is_not_success(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch, torchsim\ntorch.compile(lambda x: torch.fft.fft(x).real, backend='torchsim')(torch.randn(8))\n")
    done = _torchsim("run", str(script), "-m", "8x8")
    assert done.returncode == 1
    assert "UnsupportedError" in done.stderr


def test_doctor_finds_a_working_installation(tmp_path: Path) -> None:
    report = tmp_path / "doctor.json"
    done = _torchsim("doctor", "--json", str(report))
    assert done.returncode == 0, done.stdout
    found = {item["name"]: item["ok"] for item in json.loads(report.read_text())}
    assert found["functional simulator"]
    assert found["TOGSim"]
