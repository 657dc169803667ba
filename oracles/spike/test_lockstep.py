"""Lock-step names the first instruction that goes wrong, wherever its effect shows later; shrinking leaves only what is needed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from oracles.spike.both import Both
from oracles.spike.campaign import SEQUENCES
from oracles.spike.cases import SPAD_BYTES, Case, draw_program
from oracles.spike.dma_cases import draw_dma
from oracles.spike.lockstep import Kernel, first_difference, kernel_of
from oracles.spike.program import SPAD, Program
from oracles.spike.protocol import SpikeWindow
from oracles.spike.shrink import shrink
from oracles.spike.trap_cases import CORE_TRAPS
from torchsim.iss.fault import Fault, seeded

pytestmark = [pytest.mark.unit, pytest.mark.req("H-1")]
LANES = 4


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    """The two machines, four lanes."""
    with Both(LANES, SPAD_BYTES) as pair:
        yield pair


def test_equal_machines_never_differ(both: Both) -> None:
    rng = random.Random(5)
    for _ in range(25):
        assert first_difference(both, kernel_of(draw_program(rng, SEQUENCES, 8), LANES)) is None
    for _ in range(15):
        case = draw_dma(rng, LANES)
        for mode in ("early", "late"):
            kernel = Kernel(case.program().image(), windows=tuple(case.windows()), spad=case.spad(LANES), mode=mode)
            found = first_difference(both, kernel)
            assert found is None or "Spike: " in found.differences[0]  # of several faults of a descriptor either may come first


@pytest.mark.parametrize("name", sorted(CORE_TRAPS))
def test_equal_traps_do_not_differ(both: Both, name: str) -> None:
    program, _ = CORE_TRAPS[name]
    assert first_difference(both, Kernel(program.image()), most=2000) is None


def _long(middle: str) -> tuple[Program, int]:
    """A loop over vector code; (program, offset of the instruction in the middle)."""
    program = Program().li(11, SPAD).li(12, 20).setvl(8, 32).op("vle32.v", vd=8, rs1=11)
    top = len(program.machine_code())
    program.op("vadd.vv", vd=9, vs2=9, vs1=8)
    at = len(program.machine_code())
    program.op(middle, vd=10, vs2=9, vs1=8).op("vse32.v", vs3=10, rs1=11).op("addi", rd=12, rs1=12, imm=-1)
    program.op("bne", rs1=12, rs2=0, imm=top - len(program.machine_code()))
    return program.op("vxor.vv", vd=10, vs2=10, vs1=10).op("vse32.v", vs3=10, rs1=11), at


def test_the_first_wrong_instruction_is_named_though_its_result_dies(both: Both) -> None:
    """At the end both machines have the same state again: only a comparison of every step can tell."""
    program, at = _long("vmax.vv")
    spad = np.random.default_rng(3).integers(0, 256, (LANES, 64), dtype=np.uint8)
    with seeded(both.iss, Fault("vmax.vv", "decode_as", "vmaxu.vv")):
        found = first_difference(both, Kernel(program.image(), spad=spad))
    assert found is not None
    assert found.pc == 0x8000_0000 + at
    assert found.text == "vmax.vv v10, v9, v8"
    assert found.differences[0].startswith("v10, lane ")
    assert "Spike has" in str(found)
    assert first_difference(both, Kernel(program.image(), spad=spad)) is None


@pytest.mark.parametrize(
    ("fault", "program", "expected"),
    [
        (Fault("sw", "rs2", amount=1), Program().li(11, SPAD).op("sw", rs2=11, rs1=11, imm=0), "scratchpad lane 0"),
        (
            Fault("sd", "rs1", amount=8),
            Program().op("sd", rs2=2, rs1=2, imm=-64).op("sd", rs2=0, rs1=2, imm=-56).op("sd", rs2=0, rs1=2, imm=-48),
            "stack or image",
        ),
        (Fault("beq", "decode_as", "bne"), Program().op("beq", rs1=0, rs2=0, imm=8).op("addi", rd=5, rs1=0, imm=1), "next pc"),
        (
            Fault("lw", "rs1", amount=2),
            Program().li(11, SPAD).op("lw", rd=5, rs1=11, imm=0),
            "simulator: misaligned_access; Spike: runs on",
        ),
        (
            Fault("fdiv.s", "flags_dropped", amount=8),
            Program().li(5, 0x3F800000).op("fmv.w.x", fd=1, rs1=5).op("fmv.w.x", fd=2, rs1=0).op("fdiv.s", fd=1, fs1=1, fs2=2),
            "fcsr: ",
        ),
        (Fault("vsetvli", "length", amount=-1), Program().setvl(4, 32), "vl: "),
    ],
    ids=["scratchpad", "stack", "branch", "trap", "flags", "vl"],
)
def test_kinds_of_state(both: Both, fault: Fault, program: Program, expected: str) -> None:
    with seeded(both.iss, fault):
        found = first_difference(both, Kernel(program.image()))
    assert found is not None
    assert found.text.split()[0] == fault.name
    assert any(one.startswith(expected) for one in found.differences)


def test_windows_are_compared(both: Both) -> None:
    rng = random.Random(1)
    for _ in range(40):
        case = draw_dma(rng, LANES)
        kernel = Kernel(case.program().image(), windows=tuple(case.windows()), spad=case.spad(LANES))
        with seeded(both.iss, Fault("npu.mvout", "rs2", amount=8)):
            found = first_difference(both, kernel)
        if found is not None and "window" in found.differences[0]:
            assert found.text.startswith("npu.mvout")
            return
    raise AssertionError("no store of the sample wrote what it should not")


def test_a_fuzz_find_shrinks_to_the_instruction_at_fault(both: Both) -> None:
    fault = Fault("vadd.vv", "decode_as", "vsub.vv")
    rng = random.Random(11)
    names = [*SEQUENCES[:60], "vadd.vv", "vmul.vv", "vand.vv", "vadd.vv"]

    def fails(case: Case) -> bool:
        with seeded(both.iss, fault):
            return both.difference(case.program(), case.spad(LANES)) is not None

    case = next(case for case in (draw_program(rng, names, 12) for _ in range(1000)) if fails(case))
    assert len(case.instructions) >= 12
    small = shrink(case, fails)
    assert [name for name, _ in small.instructions] == ["vadd.vv"]
    assert (small.vl, small.frm, small.vxrm) == (1, 0, 0)
    assert fails(small)


def test_a_window_of_any_length(both: Both) -> None:
    """What is left behind the last whole word belongs to the digest."""
    kernel = Kernel(Program().op("addi", rd=5, rs1=0, imm=1).image(), windows=(SpikeWindow(0x10_0000_0000, bytes(range(13))),))
    assert first_difference(both, kernel) is None
