"""The demonstration gives the CPU's predictions (requirement D-1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchsim.demo.digits import run_demo

pytestmark = pytest.mark.system


@pytest.mark.req("D-1", "H-2")
def test_digits_on_one_machine(tmp_path: Path) -> None:
    outcome = run_demo(["32x32"], tmp_path)
    assert outcome.ok
    assert outcome.cpu_accuracy > 0.95
    (result,) = outcome.machines
    assert result.accuracy == pytest.approx(outcome.cpu_accuracy)
    assert result.cycles == sum(run.cycles for run in result.kernels) > 0
    assert any(run.sa_utilization > 0.2 for run in result.kernels)
    assert any(run.max_ulp is not None for run in result.kernels)
    assert json.loads(Path(result.timeline).read_text())["traceEvents"]
