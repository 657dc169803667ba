"""Scalar instructions against Python integers, control flow, CSRs, atomics, code that rewrites itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.iss import Simulator
from torchsim.iss._testing import BASE, RA, SPAD, Program
from torchsim.target.isa.encoder import encode

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
MASK = (1 << 64) - 1
SIMULATOR = Simulator(2, 4096)
EDGES = st.sampled_from([0, 1, 2, 31, 32, 63, 64, MASK, MASK - 1, 1 << 63, (1 << 63) - 1, 1 << 31, (1 << 31) - 1, 0xFFFF_FFFF])
WORDS = st.one_of(EDGES, st.integers(0, MASK))


def signed(value: int, bits: int = 64) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def divide(a: int, b: int, bits: int) -> int:
    return -1 if b == 0 else truncated(signed(a, bits), signed(b, bits))


def remainder(a: int, b: int, bits: int) -> int:
    return a if b == 0 else signed(a, bits) - signed(b, bits) * truncated(signed(a, bits), signed(b, bits))


MEANING = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "slt": lambda a, b: int(signed(a) < signed(b)),
    "sltu": lambda a, b: int(a < b),
    "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "sll": lambda a, b: a << (b & 63),
    "srl": lambda a, b: a >> (b & 63),
    "sra": lambda a, b: signed(a) >> (b & 63),
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: signed(a) * signed(b) >> 64,
    "mulhu": lambda a, b: a * b >> 64,
    "mulhsu": lambda a, b: signed(a) * b >> 64,
    "div": lambda a, b: divide(a, signed(b), 64),
    "divu": lambda a, b: a // b if b else MASK,
    "rem": lambda a, b: remainder(a, signed(b), 64),
    "remu": lambda a, b: a % b if b else a,
    "addw": lambda a, b: signed(a + b, 32),
    "subw": lambda a, b: signed(a - b, 32),
    "sllw": lambda a, b: signed(a << (b & 31), 32),
    "srlw": lambda a, b: signed((a & 0xFFFF_FFFF) >> (b & 31), 32),
    "sraw": lambda a, b: signed(a, 32) >> (b & 31),
    "mulw": lambda a, b: signed(a * b, 32),
    "divw": lambda a, b: signed(divide(a, signed(b, 32), 32), 32),
    "remw": lambda a, b: signed(remainder(a, signed(b, 32), 32), 32),
}


@pytest.mark.parametrize("name", MEANING)
@settings(deadline=None, max_examples=40)
@given(a=WORDS, b=WORDS)
def test_register_arithmetic(name: str, a: int, b: int) -> None:
    Program().op(name, rd=12, rs1=10, rs2=11).run(SIMULATOR, x={10: a, 11: b})
    assert SIMULATOR.x[12] == MEANING[name](a, b) & MASK


def test_x0_stays_zero() -> None:
    Program().op("addi", rd=0, rs1=0, imm=5).op("add", rd=3, rs1=0, rs2=0).run(SIMULATOR)
    assert SIMULATOR.x[0] == 0 and SIMULATOR.x[3] == 0


def test_a_loop_and_a_call() -> None:
    program = Program().li(10, 0).li(11, 10)
    start = len(program.code)
    program.op("add", rd=10, rs1=10, rs2=11).op("addi", rd=11, rs1=11, imm=-1).op("bne", rs1=11, rs2=0, imm=start - len(program.code))
    program.op("addi", rd=9, rs1=RA, imm=0).op("jal", rd=RA, imm=12)  # over the two instructions that return
    program.op("addi", rd=RA, rs1=9, imm=0).op("jalr", rd=0, rs1=RA, imm=0)
    program.op("slli", rd=10, rs1=10, imm=1)
    result = program.run(SIMULATOR)
    assert SIMULATOR.x[10] == 110
    assert result.instructions == result.scalar == 2 + 3 * 10 + 6


def test_compressed_instructions_act_like_the_ones_they_stand_for() -> None:
    program = (
        Program()
        .op("c.li", rd=10, imm=-3)
        .op("c.addi", rd=10, imm=5)
        .op("c.slli", rd=10, imm=4)
        .op("c.mv", rd=11, rs2=10)
        .op("c.add", rd=11, rs2=10)
    )
    program.op("c.addi16sp", imm=-32).op("c.sdsp", rs2=11, imm=8).op("c.ldsp", rd=12, imm=8)
    program.run(SIMULATOR)
    assert SIMULATOR.x[10:13] == [32, 64, 64]


def test_loads_extend_and_stores_truncate() -> None:
    program = Program().li(8, SPAD).li(10, 0x8899_AABB_CCDD_EEFF).op("sd", rs2=10, rs1=8, imm=0)
    for place, name in enumerate(("lb", "lbu", "lh", "lhu", "lw", "lwu", "ld")):
        program.op(name, rd=11 + place, rs1=8, imm=0)
    program.op("sh", rs2=0, rs1=8, imm=2).op("ld", rd=20, rs1=8, imm=0)
    program.run(SIMULATOR)
    assert [signed(value) for value in SIMULATOR.x[11:18]] == [
        -1,
        0xFF,
        signed(0xEEFF, 16),
        0xEEFF,
        signed(0xCCDD_EEFF, 32),
        0xCCDD_EEFF,
        signed(0x8899_AABB_CCDD_EEFF),
    ]
    assert SIMULATOR.x[20] == 0x8899_AABB_0000_EEFF


def test_control_registers() -> None:
    program = Program().op("csrrwi", rd=0, csr=0x002, imm=3).op("csrrs", rd=10, csr=0x003, rs1=0).op("csrrsi", rd=11, csr=0x00A, imm=2)
    program.op("csrrs", rd=12, csr=0x00F, rs1=0).op("csrrs", rd=13, csr=0xC22, rs1=0).op("csrrci", rd=14, csr=0x002, imm=1).op(
        "csrrs", rd=15, csr=0x002, rs1=0
    )
    program.run(SIMULATOR)
    assert SIMULATOR.x[10:16] == [3 << 5, 0, 2 << 1, 32, 3, 2]


def test_atomics() -> None:
    program = Program().li(8, SPAD + 64).li(10, 7).op("sd", rs2=10, rs1=8, imm=0).li(11, -9)
    program.op("amoadd.d", rd=12, rs1=8, rs2=11).op("amomax.w", rd=13, rs1=8, rs2=10).op("lr.d", rd=14, rs1=8)
    program.op("sc.d", rd=15, rs1=8, rs2=0).op("sc.d", rd=16, rs1=8, rs2=10).op("ld", rd=17, rs1=8, imm=0)
    program.run(SIMULATOR)
    assert [signed(value) for value in SIMULATOR.x[12:18]] == [7, -2, signed(0xFFFF_FFFF_0000_0007), 0, 1, 0]


def test_a_store_to_code_is_seen_by_the_next_fetch() -> None:
    program = Program().li(8, BASE)
    program.li(9, encode("addi", rd=10, rs1=0, imm=2))
    target = len(program.code) + 4
    program.op("sw", rs2=9, rs1=8, imm=target).op("addi", rd=10, rs1=0, imm=1)
    program.run(SIMULATOR)
    assert SIMULATOR.x[10] == 2


def test_integer_arguments_beyond_eight_go_to_the_stack() -> None:
    program = Program().op("ld", rd=5, rs1=2, imm=0).op("ld", rd=6, rs1=2, imm=8)
    program.run(SIMULATOR, argument_block=BASE, arguments=[11, 12, 13, 14, 15, 16, 17, 18, 19])
    assert SIMULATOR.x[10:18] == [BASE, 11, 12, 13, 14, 15, 16, 17] and SIMULATOR.x[5:7] == [18, 19]
    assert SIMULATOR.x[2] % 16 == 0


def test_runs_forget_the_state_before() -> None:
    Program().li(8, SPAD).op("sd", rs2=8, rs1=8, imm=0).op("csrrwi", rd=0, csr=0x002, imm=1).setvl(4, 32).run(SIMULATOR)
    Program().op("csrrs", rd=10, csr=0x002, rs1=0).op("csrrs", rd=11, csr=0xC20, rs1=0).run(SIMULATOR)
    assert SIMULATOR.x[8] == 0 and SIMULATOR.x[10:12] == [0, 0]
    assert (SIMULATOR.scratchpad(64) == 0xA5).all()
