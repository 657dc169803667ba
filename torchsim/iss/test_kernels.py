"""Every host instruction set computes the same bits, also behind the last whole host vector."""

from __future__ import annotations

import numpy as np
import pytest

from torchsim.errors import InvalidInputError, TrapError
from torchsim.iss import Simulator
from torchsim.iss._testing import Program
from torchsim.iss.simulator import kernel_variant
from torchsim.target.isa.table import BY_NAME, Row

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
SPECIAL = {
    16: (0, 0x8000, 0x7C00, 0xFC00, 0x7E01, 0x7D00, 1, 0x03FF, 0x7BFF, 0x3C00),
    32: (0, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0x7FA0_0000, 1, 0x7F_FFFF, 0x7F7F_FFFF, 0x3F80_0000),
    64: (0, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48 | 1, 0x7FF4 << 48, 1, (1 << 52) - 1, (0x7FF << 52) - 1, 0x3FF << 52),
}
OPERANDS: dict[str, dict[str, int]] = {
    "VV": {"vd": 8, "vs2": 16, "vs1": 24},
    "VX": {"vd": 8, "vs2": 16, "rs1": 10},
    "VI": {"vd": 8, "vs2": 16, "imm": -5},
    "VU": {"vd": 8, "vs2": 16, "imm": 5},
    "VV_ACC": {"vd": 8, "vs2": 16, "vs1": 24},
    "VX_ACC": {"vd": 8, "vs2": 16, "rs1": 10},
    "VF": {"vd": 8, "vs2": 16, "fs1": 1},
    "VF_ACC": {"vd": 8, "vs2": 16, "fs1": 1},
    "V1": {"vd": 8, "vs2": 16},
}
ROWS = [row for row in BY_NAME.values() if row.format in OPERANDS and row.name.startswith("v")]


def test_a_host_without_the_instruction_set_is_said_so() -> None:
    with pytest.raises(InvalidInputError, match="no kernels z80"):
        Simulator(1, 64, kernels="z80")


@pytest.mark.parametrize("sew", [8, 16, 32, 64])
@pytest.mark.parametrize("mode", [0, 3])
def test_variants_agree_on_every_instruction(sew: int, mode: int) -> None:
    """Tails and masks undisturbed, so whole registers must be equal; five lanes leave elements behind every host vector."""
    lanes = 5
    ours, plain = Simulator(lanes, 4096), Simulator(lanes, 4096, kernels="baseline")
    if kernel_variant() == "baseline":
        pytest.skip("this host has no other variant")
    rng = np.random.default_rng(sew)
    executed = 0
    for row in ROWS:
        registers = rng.integers(0, 256, (lanes, 32, 32), np.uint8)
        if sew > 8:
            view = registers.view(f"<u{sew // 8}")
            special = np.array(SPECIAL[sew], view.dtype)[rng.integers(0, 10, view.shape)]
            np.copyto(view, special, where=rng.random(view.shape) < 0.3)
        program = _program(row, sew, mode, int(rng.integers(0, 2)))
        results: list[object] = []
        for simulator in (ours, plain):
            try:
                program.run(simulator, vector_registers=registers, f={1: 0xFFFF_FFFF_FFFF_3C01 if sew == 16 else 0x3FF0_0000_0001_0001})
                results.append(simulator.vector_registers().tobytes())
            except TrapError as error:
                results.append(error.cause)
        assert results[0] == results[1], row.name
        executed += isinstance(results[0], bytes)
    assert executed > 90


def _program(row: Row, sew: int, mode: int, unmasked: int) -> Program:
    program = Program().li(10, 0x0123_4567_89AB_CDE5).op("csrrwi", rd=0, csr=2, imm=mode).setvl(29, sew, 2)
    operands = dict(OPERANDS[row.format])
    return program.op(row.name, vm=unmasked, **operands)
