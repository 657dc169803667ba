from __future__ import annotations

import pytest

from torchsim.config import load_machine
from torchsim.emit.kernel import compile_kernel
from torchsim.emit.test_support import op_group
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.override import TileOverride
from torchsim.runtime.cycles import measure

MACHINE = load_machine("8x8")
F32 = DType.F32


@pytest.mark.req("L-9")
def test_waits_are_filled() -> None:
    """exp waits 7 cycles for its load, the store 13 for it: vectors of 32 elements take 22 cycles one by one."""
    plan = build(op_group("exp", [F32], F32, (8, 2048)), MACHINE, TileOverride({"i0": 8, "i1": 2048}, split="i0"))
    table = measure(plan, compile_kernel(plan, MACHINE).image, MACHINE)
    [(cycles, _)] = table.rows
    assert cycles < 0.75 * 22 * (2048 // 32)
