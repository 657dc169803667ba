"""Lanes, memories and traps of the Spike oracle, with hand-made kernels."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.spike import SpikeOracle, SpikeResult
from oracles.spike.program import A0, SP, SPAD, STACK, Program
from oracles.spike.trap_cases import CORE_TRAPS

pytestmark = [pytest.mark.unit, pytest.mark.req("S-5", "H-1")]
LANES = 8
IMAGE = 0x8000_0000


def run(spike: SpikeOracle, program: Program, **options: object) -> SpikeResult:
    """Run to the end; a trap fails the test."""
    result = spike.run(program.image(), **options)  # pyright: ignore[reportArgumentType]
    assert result.trap is None, result.trap
    return result


def banks(columns: int, seed: int = 0) -> np.ndarray:
    """Different random bytes in every lane."""
    return np.random.default_rng(seed).integers(0, 256, (LANES, columns), dtype=np.uint8)


def test_vector_instructions_work_on_each_lanes_own_bank(spike: SpikeOracle) -> None:
    spad = banks(128)
    program = Program().li(11, SPAD).li(12, SPAD + 64).li(13, SPAD + 256).setvl(16, 32, 2)
    program.op("vle32.v", vd=8, rs1=11).op("vle32.v", vd=10, rs1=12).op("vadd.vv", vd=12, vs2=8, vs1=10).op("vse32.v", vs3=12, rs1=13)
    words = run(spike, program, spad=spad).spad.view("<u4")
    given = spad.view("<u4")
    assert np.array_equal(words[:, 64:80], given[:, :16] + given[:, 16:32])
    assert np.array_equal(words[:, :32], given)  # and nothing else changed
    assert not words[:, 32:64].any()
    assert not words[:, 80:].any()


@pytest.mark.parametrize(("sew", "lmul"), [(8, 1), (16, 2), (32, -2), (64, 4)])
def test_lane_index_in_every_sew(spike: SpikeOracle, sew: int, lmul: int) -> None:
    program = Program().li(11, SPAD).setvl(3, sew, lmul).op("vmv.v.i", vd=4, imm=-1).op("npu.lane_index", vd=4)
    program.op("vs1r.v", vs3=4, rs1=11)
    elements = run(spike, program).spad.view(f"<u{sew // 8}")
    assert (elements[:, :3] == np.arange(LANES)[:, None]).all()
    assert not elements[:, 3 : 256 // sew].any()  # at and beyond vl: as before, zero


def test_scalar_reads_lane_0_and_writes_all_lanes(spike: SpikeOracle) -> None:
    spad = banks(64)
    program = Program().li(11, SPAD).op("ld", rd=12, rs1=11, imm=8).op("sd", rs2=12, rs1=11, imm=1024)
    result = run(spike, program, spad=spad)
    assert (result.spad[:, 1024:1032] == spad[0, 8:16]).all()


def test_scalar_results_of_vector_instructions_come_from_lane_0(spike: SpikeOracle) -> None:
    program = Program().li(11, SPAD).setvl(4, 32).op("npu.lane_index", vd=4).op("vadd.vi", vd=4, vs2=4, imm=5).op("vmv.x.s", rd=12, vs2=4)
    program.op("vmseq.vi", vd=5, vs2=4, imm=5).op("vcpop.m", rd=13, vs2=5).op("vfirst.m", rd=14, vs2=5)
    for place, register in enumerate((12, 13, 14)):
        program.op("sd", rs2=register, rs1=11, imm=8 * place)
    assert (run(spike, program).spad[:, :24].view("<i8") == [5, 4, 0]).all()


def test_stack_spills_are_lane_private(spike: SpikeOracle) -> None:
    program = Program().li(11, SPAD).setvl(8, 64, 2).op("vle64.v", vd=2, rs1=11)
    program.op("addi", rd=SP, rs1=SP, imm=-64).op("vs2r.v", vs3=2, rs1=SP).op("vmv.v.i", vd=2, imm=0)
    program.op("vl2re64.v", vd=2, rs1=SP).li(12, SPAD + 512).op("vse64.v", vs3=2, rs1=12)
    program.op("ld", rd=13, rs1=SP, imm=0).op("sd", rs2=13, rs1=12, imm=64)  # the scalar core sees lane 0's spill
    spad = banks(64)
    result = run(spike, program, spad=spad)
    assert np.array_equal(result.spad[:, 512:576], spad)
    assert (result.spad[:, 576:584] == spad[0, :8]).all()


def test_image_is_broadcast_and_writable_for_scalars(spike: SpikeOracle) -> None:
    arguments = np.arange(8, dtype="<u4").tobytes()
    program = Program().li(11, SPAD).li(12, 77).op("sw", rs2=12, rs1=A0, imm=4)
    program.setvl(8, 32).op("vle32.v", vd=4, rs1=A0).op("vse32.v", vs3=4, rs1=11)
    assert (run(spike, program, argument_block=arguments).spad[:, :32].view("<u4") == [0, 77, 2, 3, 4, 5, 6, 7]).all()


def test_argument_block_may_lie_in_the_image(spike: SpikeOracle) -> None:
    image = Program().li(11, SPAD).op("ld", rd=12, rs1=A0, imm=0).op("sd", rs2=12, rs1=11, imm=0).image()
    image += bytes(-len(image) % 8)
    result = spike.run(image + (0x1234).to_bytes(8, "little"), argument_block=IMAGE + len(image))
    assert result.trap is None
    assert (result.spad[:, :8].view("<u8") == 0x1234).all()


def test_flags_of_all_lanes_are_ored(spike: SpikeOracle) -> None:
    spad = np.zeros((LANES, 8), np.uint8)
    spad[:, :4] = np.frombuffer(np.float32(1).tobytes(), np.uint8)
    spad[5, :4] = 0  # only lane 5 divides by zero
    program = Program().li(11, SPAD).setvl(1, 32).op("vle32.v", vd=4, rs1=11).op("vfrdiv.vf", vd=5, vs2=4, fs1=1)
    program.op("csrrs", rd=12, csr=1, rs1=0).op("sd", rs2=12, rs1=11, imm=0)
    program_with_one = Program().li(12, 0x3F800000).op("fmv.w.x", fd=1, rs1=12)
    for word in np.frombuffer(program.image()[:-4], "<u4"):
        program_with_one.word(int(word))
    assert (run(spike, program_with_one, spad=spad).spad[:, :8].view("<u8") == 8).all()  # DZ


def test_state_does_not_leak_into_the_next_kernel(spike: SpikeOracle) -> None:
    dirty = Program().li(11, SPAD).li(12, STACK + 64).setvl(8, 32).op("vmv.v.i", vd=9, imm=7)
    dirty.op("vse32.v", vs3=9, rs1=11).op("vse32.v", vs3=9, rs1=12).op("npu.weight_push", vs2=9).op("fmv.w.x", fd=3, rs1=11)
    run(spike, dirty)
    check = Program().li(11, SPAD).li(12, STACK + 64).op("lw", rd=13, rs1=11, imm=0).op("lw", rd=14, rs1=12, imm=0)
    check.op("add", rd=13, rs1=13, rs2=14).op("fmv.x.w", rd=14, fs1=3).op("add", rd=13, rs1=13, rs2=14).op("sd", rs2=13, rs1=11, imm=0)
    check.op("vs1r.v", vs3=9, rs1=12).op("ld", rd=14, rs1=12, imm=0).op("sd", rs2=14, rs1=11, imm=8)
    result = run(spike, check)
    assert not result.spad.any()


def test_instruction_count(spike: SpikeOracle) -> None:
    assert run(spike, Program().op("addi", rd=5, rs1=0, imm=1).op("c.nop", imm=0)).instructions == 3  # with the return


def test_spad_used_bytes_limits_what_comes_back(spike: SpikeOracle) -> None:
    spad = banks(256)
    assert np.array_equal(run(spike, Program(), spad=spad, spad_used_bytes=100).spad, spad[:, :100])


def test_scratchpad_starts_with_the_fill(spike: SpikeOracle) -> None:
    program = Program().li(11, SPAD).op("sd", rs2=0, rs1=11, imm=64)
    for fill in (0xA5, 0, 0xA5):
        spad = run(spike, program, spad_fill=fill).spad
        assert not spad[:, 64:72].any()
        assert (np.delete(spad, slice(64, 72), axis=1) == fill).all()


@pytest.mark.req("S-3")
@pytest.mark.parametrize("name", CORE_TRAPS)
def test_traps_have_names(spike: SpikeOracle, name: str) -> None:
    program, cause = CORE_TRAPS[name]
    result = spike.run(program.image(), instruction_limit=10_000)
    assert result.trap is not None
    assert result.trap.cause == cause


def test_a_trap_says_where(spike: SpikeOracle) -> None:
    program = Program().li(11, SPAD).setvl(4, 32).op("npu.lane_index", vd=4).li(12, 8192).op("vmul.vx", vd=4, vs2=4, rs1=12)
    at = len(program)
    program.op("vluxei32.v", vd=8, rs1=11, vs2=4)  # lanes 4 and up leave the scratchpad
    trap = spike.run(program.image()).trap
    assert trap is not None
    assert (trap.cause, trap.pc, trap.lane, trap.tval) == ("scratchpad_out_of_range", IMAGE + at, 7, SPAD + 7 * 8192)


def test_the_limit_is_exact(spike: SpikeOracle) -> None:
    image = Program().op("addi", rd=5, rs1=0, imm=1).op("addi", rd=5, rs1=0, imm=2).image()
    at_limit = spike.run(image, instruction_limit=2)
    assert (at_limit.trap and at_limit.trap.cause, at_limit.instructions) == ("instruction_limit", 2)
    assert spike.run(image, instruction_limit=4).trap is None
