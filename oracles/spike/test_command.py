"""The spike command, which knows nothing of lanes, agrees with the functional simulator of one lane; no early end passes for a result."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from oracles.spike import SpikeCrashError, SpikeTimeoutError, SpikeUnavailableError
from oracles.spike.campaign import ROWS, SEQUENCES
from oracles.spike.cases import SPAD_BYTES, Case, draw_case, draw_program
from oracles.spike.command import run_command, spike_command
from oracles.spike.executable import elf
from oracles.spike.program import SPAD, Program
from torchsim.errors import InvalidInputError, TrapError
from torchsim.iss import Simulator
from torchsim.target.isa.table import BY_NAME

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1", "H-1")]
SIMULATOR = Simulator(1, SPAD_BYTES)
BASE = 0x8000_0000


@pytest.fixture
def command() -> Path:
    """The command, or a skip that says what is missing."""
    try:
        return spike_command()
    except SpikeUnavailableError as error:
        pytest.skip(str(error).splitlines()[0])


def _agree(case: Case) -> None:
    spad = case.spad(1)
    theirs = run_command(case.program(), spad)
    try:
        SIMULATOR.run(case.program().image(), BASE, BASE, spad=spad)
        trap = None
    except TrapError as error:
        trap = error.cause
    assert trap == theirs.trap, case
    if trap is None:
        assert np.array_equal(SIMULATOR.scratchpad(), theirs.spad), case


@pytest.mark.usefixtures("command")
def test_random_cases() -> None:
    rng = random.Random(17)
    names = [name for name in ROWS if BY_NAME[name].extension in ("V", "F", "D", "Zfh", "M", "I")]
    for name in rng.sample(names, 40):
        _agree(draw_case(rng, name))
    for _ in range(10):
        _agree(draw_program(rng, SEQUENCES, 8))


@pytest.mark.usefixtures("command")
def test_limits_do_not_pass_for_results() -> None:
    spad = np.zeros((1, 4096), np.uint8)
    endless = Program().op("jal", rd=0, imm=0)
    with pytest.raises(SpikeCrashError, match="did not reach its end"):
        run_command(endless, spad, instruction_limit=20_000)
    with pytest.raises(SpikeTimeoutError, match="within"):
        run_command(endless, spad, instruction_limit=1 << 40, timeout_s=0.5)
    good = Program().li(11, SPAD).li(12, 7).op("sb", rs2=12, rs1=11, imm=3)
    assert run_command(good, spad).spad[0, :5].tolist() == [0, 0, 0, 7, 0]
    assert run_command(Program().word(0), spad).trap == "illegal_instruction"


def test_without_dtc_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpikeUnavailableError, match="device-tree-compiler"):
        spike_command()


def test_a_scratchpad_of_part_pages_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="whole pages"):
        run_command(Program(), np.zeros((1, 100), np.uint8))


def test_the_executable_is_elf() -> None:
    file = elf(BASE, [(BASE, b"\x13\0\0\0")], {"tohost": BASE})
    assert file[:4] == b"\x7fELF"
    assert b"tohost\0" in file
