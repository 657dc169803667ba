"""Every cause of docs/isa.md section 6 that is not tested beside its subject, the text of a trap, and fuzzed images."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import TrapError
from torchsim.iss import Simulator, Window
from torchsim.iss._testing import BASE, RA, SPAD, STACK, TENSORS, Program, Tile
from torchsim.iss.report import HINTS
from torchsim.target.isa.encoder import encode

pytestmark = [pytest.mark.unit, pytest.mark.req("S-3")]
SPAD_BYTES = 4096
SIMULATOR = Simulator(4, SPAD_BYTES, 100)
WORD = Tile((1, 1, 1, 1), (0, 0, 0, 1), (0, 0, 0, 1))


def load(address: int) -> Program:
    return Program().li(8, address).op("lw", rd=9, rs1=8, imm=0)


def vector(name: str, address: int) -> Program:
    return Program().setvl(4, 32).li(8, address).op(name, **({"vd": 8} if name[1] == "l" else {"vs3": 8}), rs1=8)


CASES: list[tuple[Program, str]] = [
    (Program().word(0), "illegal_instruction"),
    (Program().word(0xFFFF_FFFF), "illegal_instruction"),
    (Program().op("ebreak"), "illegal_instruction"),
    (Program().setvl(4, 32).op("vle32ff.v", vd=8, rs1=8), "illegal_instruction"),
    (Program().op("csrrs", rd=5, csr=0x300, rs1=0), "illegal_instruction"),
    (Program().op("ecall"), "ecall"),
    (load(SPAD + 2), "misaligned_access"),
    (Program().li(8, BASE + 3).op("jalr", rd=0, rs1=8, imm=0).op("addi", rd=0, rs1=0, imm=0), "illegal_instruction"),
    (vector("vle32.v", SPAD + 1), "misaligned_access"),
    (load(SPAD + SPAD_BYTES), "scratchpad_out_of_range"),
    (vector("vse32.v", SPAD + SPAD_BYTES - 12), "scratchpad_out_of_range"),
    (load(BASE + 0x1000), "image_out_of_range"),
    (Program().li(8, BASE + 0x1000).op("jalr", rd=0, rs1=8, imm=0), "image_out_of_range"),
    (vector("vse32.v", BASE), "vector_store_to_image"),
    (load(TENSORS), "tensor_access_without_dma"),
    (vector("vle32.v", TENSORS), "tensor_access_without_dma"),
    (load(0x1000), "unmapped_address"),
    (load(STACK - 4), "stack_overflow"),
    (Program().op("sd", rs2=0, rs1=2, imm=0), "stack_overflow"),
    (Program().two("npu.mvin", TENSORS, SPAD), "dma_configuration"),
    (Program().two("npu.config2", 0, 0), "dma_configuration"),
    (Program().two("npu.tag", 1024, 0), "dma_configuration"),
    (Program().wait(3, 1), "wait_without_transfer"),
    (Program().mvin(WORD, TENSORS, SPAD, tag=3), "transfer_not_waited_for"),
    (Program().configure(0, WORD).begin().two("npu.mvin", TENSORS, SPAD), "transfer_inside_block"),
    (Program().begin().two("npu.tag", 1, 0), "transfer_inside_block"),
    (Program().begin().wait(1), "transfer_inside_block"),
    (Program().begin().begin(), "block_nesting"),
    (Program().two("npu.block", 1, 1), "block_nesting"),
    (Program().begin(1), "block_nesting"),
    (Program().op("jal", rd=0, imm=0), "instruction_limit"),
    (Program().mvin(WORD, TENSORS + 16, SPAD), "dram_out_of_range"),
    (Program().mvout(WORD, TENSORS - 4, SPAD), "dram_out_of_range"),
    (Program().setvl(64, 32, 8).op("npu.input_push", vs2=8).op("npu.input_push", vs2=8), "sa_queue_overflow"),
    (Program().op("npu.compute"), "illegal_instruction"),  # no vtype yet
    (Program().setvl(4, 32).op("npu.compute"), "sa_queue_underflow"),
    (Program().setvl(4, 32).op("npu.pop", vd=8), "sa_queue_underflow"),
]
OPT_IN = {"uninitialised_scratchpad_read", "lane_divergence"}


@pytest.mark.parametrize(("program", "cause"), CASES, ids=[f"{number}-{cause}" for number, (_, cause) in enumerate(CASES)])
def test_cause(program: Program, cause: str) -> None:
    data = np.zeros(4, "<i4")
    with pytest.raises(TrapError) as caught:
        program.run(SIMULATOR, [Window(TENSORS, data.ctypes.data, data.nbytes)], instruction_limit=10_000)
    assert caught.value.cause == cause
    assert str(caught.value).startswith(f"{cause}: ")


def test_every_cause_is_documented_tested_and_has_a_hint() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "isa.md"
    documented = set(re.findall(r"`([a-z_]+)`", page.read_text(encoding="utf-8").split("## 6. Traps")[1].split("<!--")[0]))
    assert documented == {cause for _, cause in CASES} | OPT_IN == HINTS.keys()


def test_an_indexed_access_names_element_and_lane() -> None:
    """Addresses SPAD + 4096 * lane: lane 1 is the first outside."""
    program = Program().setvl(4, 32).op("npu.lane_index", vd=8).op("vsll.vi", vd=8, vs2=8, imm=12).li(8, SPAD)
    for name, register in (("vluxei32.v", "vd"), ("vsoxei32.v", "vs3")):
        with pytest.raises(TrapError, match=r"scratchpad_out_of_range: .*element 0 of lane 1") as caught:
            Program(bytearray(program.code)).op(name, **{register: 9}, rs1=8, vs2=8).run(SIMULATOR)
        assert f"> {caught.value.pc:#x}: {name} v9, (s0), v8" in str(caught.value)


def test_the_message_shows_place_code_registers_and_context() -> None:
    program = (
        Program()
        .op("addi", rd=10, rs1=0, imm=77)
        .op("c.nop", imm=0)
        .op("addi", rd=11, rs1=0, imm=3)
        .word(0xFFFF_FFFF)
        .op("addi", rd=0, rs1=0, imm=0)
    )
    with pytest.raises(TrapError) as caught:
        program.run(SIMULATOR, context="kernel relu (origins: relu)")
    assert caught.value.pc == BASE + 10
    text = str(caught.value)
    for part in ("pc 0x8000000a of kernel relu (origins: relu)", "addi a0, zero, 77", "> 0x8000000a: illegal 0xffffffff", "a0=0x4d"):
        assert part in text


def test_uninitialised_scratchpad_reads_are_found_on_request() -> None:
    data = np.arange(3, dtype="<i4")
    tile = Tile((1, 1, 1, 3), (0, 0, 0, 1), (0, 0, 0, 1), v=4)
    window = [Window(TENSORS, data.ctypes.data, data.nbytes)]
    good = Program().mvin(tile, TENSORS, SPAD).setvl(4, 32).li(8, SPAD).op("vle32.v", vd=8, rs1=8).op("vse32.v", vs3=8, rs1=8)
    good.run(SIMULATOR, window, check_uninitialised=True)
    for program in (
        vector("vle32.v", SPAD),
        Program().mvin(tile, TENSORS, SPAD).setvl(5, 32).li(8, SPAD).op("vle32.v", vd=8, rs1=8),
        load(SPAD + 8),
        Program().mvout(tile, TENSORS, SPAD),
    ):
        program.run(SIMULATOR, window)
        with pytest.raises(TrapError, match="uninitialised_scratchpad_read"):
            program.run(SIMULATOR, window, check_uninitialised=True)


def test_poison_of_a_late_load_counts_as_uninitialised() -> None:
    data = np.arange(4, dtype="<i4")
    tile = Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1))
    program = Program().mvin(tile, TENSORS, SPAD, tag=0).setvl(1, 32).li(8, SPAD).op("vle32.v", vd=8, rs1=8).wait(0)
    window = [Window(TENSORS, data.ctypes.data, data.nbytes)]
    program.run(SIMULATOR, window, check_uninitialised=True, mode="early")
    with pytest.raises(TrapError, match="uninitialised_scratchpad_read"):
        program.run(SIMULATOR, window, check_uninitialised=True, mode="late")


@pytest.mark.parametrize("name", ["vmv.x.s", "vfmv.f.s", "vcpop.m", "vfirst.m", "lw"])
def test_lane_dependent_values_in_scalar_registers_are_found_on_request(name: str) -> None:
    program = Program().setvl(1, 32).op("npu.lane_index", vd=8).li(8, SPAD).op("vse32.v", vs3=8, rs1=8).op("vadd.vi", vd=8, vs2=8, imm=-1)
    program.op(name, **({"rd": 10, "rs1": 8, "imm": 0} if name == "lw" else {"fd" if name == "vfmv.f.s" else "rd": 10, "vs2": 8}))
    program.run(SIMULATOR)
    with pytest.raises(TrapError, match="lane_divergence"):
        program.run(SIMULATOR, check_divergence=True)


def test_positions_of_transfers_count_against_the_instruction_limit() -> None:
    tile = Tile((16, 1000, 1000, 1), (0, 0, 0, 0), (0, 0, 0, 0))
    program = Program().configure(3, tile)
    start = len(program.code)
    program.two("npu.mvout", TENSORS, SPAD).op("jal", rd=0, imm=start - len(program.code))
    data = np.zeros(4, "<i4")
    with pytest.raises(TrapError, match="instruction_limit"):
        program.run(SIMULATOR, [Window(TENSORS, data.ctypes.data, data.nbytes)], instruction_limit=2_500_000)


CAUSES = {cause for _, cause in CASES} | {"uninitialised_scratchpad_read"}
REGISTERS = {
    8: SPAD,
    9: SPAD + 64,
    10: TENSORS,
    11: 1 << 63,
    12: STACK,
    13: BASE,
    14: 3,
    15: 1 << 32 | 4,
    16: 1 << 48 | 1 << 32 | 1 << 16 | 9,
    17: 1 << 17 | 4,
}


@settings(deadline=None, max_examples=300)
@given(
    words=st.lists(
        st.one_of(
            st.integers(0, 2**32 - 1),
            st.builds(
                lambda op, rest: rest << 7 | op,
                st.sampled_from([0x57, 0x07, 0x27, 0x2B, 0x5B, 0x53, 0x33, 0x63, 0x2F]),
                st.integers(0, 2**25 - 1),
            ),
        ),
        min_size=1,
        max_size=12,
    ),
    seed=st.integers(0, 99),
)
def test_any_bytes_end_in_a_trap_or_a_return(words: list[int], seed: int) -> None:
    data = np.zeros(64, np.uint8)
    registers = np.random.default_rng(seed).integers(0, 256, (4, 32, 32), dtype=np.uint8)
    image = b"".join(
        word.to_bytes(4, "little") for word in (encode("vsetivli", rd=0, imm=5, vtype=0x10), *words, encode("jalr", rd=0, rs1=RA, imm=0))
    )
    causes: set[str] = set()
    for mode in ("early", "late"):
        try:
            SIMULATOR.run(
                image,
                BASE,
                BASE,
                [Window(TENSORS, data.ctypes.data, 64)],
                x=REGISTERS,
                vector_registers=registers,
                instruction_limit=3000,
                mode=mode,
                log=True,
                footprint=True,
                check_uninitialised=seed % 2 == 0,
            )
        except TrapError as trap:
            causes.add(trap.cause)
    assert causes <= CAUSES


def test_random_bytes_at_odd_places_and_lengths() -> None:
    rng = np.random.default_rng(11)
    traps = 0
    for length in range(1, 200):
        image = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
        try:
            SIMULATOR.run(image, BASE, BASE + int(rng.integers(0, length)), instruction_limit=2000)
        except TrapError:
            traps += 1
    assert traps > 100
