"""Accrued flags: each exception from the instruction that raises it, over lanes, masks and vl, and where they are kept."""

from __future__ import annotations

import numpy as np
import pytest

from torchsim.errors import TrapError
from torchsim.iss import Simulator
from torchsim.iss._testing import BASE, Program
from torchsim.target.isa.encoder import encode

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
LANES = 4
SIMULATOR = Simulator(LANES, 4096)
NX, UF, OF, DZ, NV = (1 << bit for bit in range(5))
FFLAGS, FRM, VXSAT = 0x001, 0x002, 0x009
ONE, TWO, THREE, HUGE, TINY, SNAN, QNAN = 0x3F80_0000, 0x4000_0000, 0x4040_0000, 0x7F7F_FFFF, 0x0080_0000, 0x7F80_0001, 0x7FC0_0000
BOX = 0xFFFF_FFFF << 32


def flags_of(name: str, a: int, b: int, rm: int = 0, **operands: int) -> int:
    """fflags after one scalar instruction on f1, f2 (or x11)."""
    program = Program().op(name, rm=rm, **operands).op("csrrs", rd=10, csr=FFLAGS, rs1=0)
    program.run(SIMULATOR, f={1: BOX | a, 2: BOX | b}, x={11: a})
    return SIMULATOR.x[10]


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("fadd.s", ONE, TWO, 0),
        ("fadd.s", ONE, TINY, NX),
        ("fadd.s", HUGE, HUGE, OF | NX),
        ("fadd.s", QNAN, ONE, 0),
        ("fadd.s", SNAN, ONE, NV),
        ("fmul.s", TINY, TINY, UF | NX),
        ("fmul.s", TINY, 0x3F00_0000, 0),  # half the smallest normal number is exact
        ("fdiv.s", ONE, 0, DZ),
        ("fdiv.s", 0, 0, NV),
        ("fdiv.s", ONE, THREE, NX),
    ],
)
def test_scalar_arithmetic(name: str, a: int, b: int, expected: int) -> None:
    assert flags_of(name, a, b, fd=3, fs1=1, fs2=2) == expected


@pytest.mark.parametrize(
    ("a", "expected"), [(0x4080_0000, 0), (TWO, NX), (0xBF80_0000, NV), (1, NX), (2, 0), (4, NX), (8, 0), (SNAN, NV), (QNAN, 0)]
)
def test_square_root(a: int, expected: int) -> None:
    """Subnormals too: 2^-149 and 2^-147 have odd exponents, 2^-148 and 2^-146 even ones."""
    assert flags_of("fsqrt.s", a, 0, fd=3, fs1=1) == expected


@pytest.mark.parametrize(("rm", "expected"), [(0, NX), (1, UF | NX), (2, UF | NX), (3, NX), (4, NX)])
def test_tininess_is_seen_after_rounding(rm: int, expected: int) -> None:
    """(1 + 2^-23)(1 - 2^-23) times the smallest normal number rounds up to it, where the mode rounds up."""
    assert flags_of("fmul.s", TINY + 1, 0x3F7F_FFFE, rm, fd=3, fs1=1, fs2=2) == expected


def test_comparisons_and_selections() -> None:
    for name, expected in (("feq.s", 0), ("flt.s", NV), ("fle.s", NV)):
        program = Program().op(name, rd=5, fs1=1, fs2=2).op("csrrs", rd=10, csr=FFLAGS, rs1=0)
        program.run(SIMULATOR, f={1: BOX | QNAN, 2: BOX | ONE})
        assert SIMULATOR.x[10] == expected
    for value, expected in ((QNAN, 0), (SNAN, NV)):
        program = Program().op("fmin.s", fd=5, fs1=1, fs2=2).op("csrrs", rd=10, csr=FFLAGS, rs1=0)
        program.run(SIMULATOR, f={1: BOX | value, 2: BOX | ONE})
        assert SIMULATOR.x[10] == expected


def test_conversions() -> None:
    assert flags_of("fcvt.w.s", 0x3FC0_0000, 0, rd=5, fs1=1) == NX  # 1.5
    assert flags_of("fcvt.w.s", 0x4F00_0000, 0, rd=5, fs1=1) == NV  # 2^31
    assert flags_of("fcvt.wu.s", 0xBF00_0000, 0, rm=1, rd=5, fs1=1) == NX  # -0.5 becomes 0
    assert flags_of("fcvt.s.w", (1 << 24) + 1, 0, fd=5, rs1=11) == NX
    assert flags_of("fcvt.h.s", 0x4780_0000, 0, fd=5, fs1=1) == OF | NX  # 65536


def _divide(vl: int, vm: int, bad: tuple[int, int]) -> int:
    """fflags of 1 / x where x is 1 everywhere but 0 in one (lane, element); v0 has bits 0 and 1."""
    registers = np.zeros((LANES, 32, 32), np.uint8)
    values = np.full((LANES, 8), 1.0, "<f4")
    values[bad] = 0
    registers[:, 8] = values.view(np.uint8)
    registers[:, 0, 0] = 0b11
    program = Program().setvl(vl, 32).op("vfrdiv.vf", vd=9, vs2=8, fs1=1, vm=vm).op("csrrs", rd=10, csr=FFLAGS, rs1=0)
    program.run(SIMULATOR, f={1: BOX | ONE}, vector_registers=registers)
    return SIMULATOR.x[10]


def test_vector_flags_come_from_the_active_elements_of_all_lanes() -> None:
    assert _divide(8, 1, (3, 7)) == DZ
    assert _divide(7, 1, (3, 7)) == 0  # beyond vl
    assert _divide(8, 0, (2, 1)) == DZ
    assert _divide(8, 0, (2, 2)) == 0  # masked off


def test_saturation() -> None:
    registers = np.zeros((LANES, 32, 32), np.uint8)
    registers[1, 8, 0] = 127
    for imm, expected in ((1, 1), (0, 0)):
        program = Program().setvl(1, 8).op("vsadd.vi", vd=9, vs2=8, imm=imm).op("csrrs", rd=10, csr=VXSAT, rs1=0)
        program.run(SIMULATOR, vector_registers=registers)
        assert SIMULATOR.x[10] == expected


def test_flags_accrue_until_they_are_written() -> None:
    program = Program().op("fdiv.s", fd=3, fs1=1, fs2=2, rm=0).op("fadd.s", fd=3, fs1=1, fs2=1, rm=0)
    program.op("csrrs", rd=10, csr=FFLAGS, rs1=0).op("csrrwi", rd=0, csr=FFLAGS, imm=0).op("csrrs", rd=11, csr=FFLAGS, rs1=0)
    program.run(SIMULATOR, f={1: BOX | ONE, 2: BOX})
    assert SIMULATOR.x[10:12] == [DZ, 0]


def test_a_trapping_instruction_raises_nothing() -> None:
    """And its flags are not worked out on registers that do not exist."""
    program = Program().setvl(8, 32, 8).op("vfadd.vv", vd=0, vs2=31, vs1=31).op("csrrs", rd=10, csr=FFLAGS, rs1=0)
    with pytest.raises(TrapError, match="register group"):
        program.run(SIMULATOR)


def test_code_that_the_kernel_stores_cannot_read_flags_that_were_not_kept() -> None:
    """The image as loaded decides whether flags are kept; a read that appears later traps instead of giving a wrong value."""
    read = encode("csrrs", rd=10, csr=FFLAGS, rs1=0)
    program = Program().li(8, BASE).li(9, read).op("fdiv.s", fd=3, fs1=1, fs2=2, rm=0)
    at = len(program.code) + 4
    program.op("sw", rs2=9, rs1=8, imm=at).op("addi", rd=0, rs1=0, imm=0)
    with pytest.raises(TrapError, match="flags were not kept"):
        program.run(SIMULATOR, f={1: BOX | ONE})


def test_writing_the_rounding_mode_does_not_ask_for_flags() -> None:
    """fsrm and a vxrm write are what compilers emit: they keep the fast handlers, and results do not change."""
    program = Program().op("csrrwi", rd=5, csr=FRM, imm=1).op("fdiv.s", fd=3, fs1=1, fs2=2, rm=7).op("csrrw", rd=0, csr=FFLAGS, rs1=5)
    program.run(SIMULATOR, f={1: BOX | ONE, 2: BOX | THREE})
    assert SIMULATOR.f[3] == BOX | 0x3EAA_AAAA
