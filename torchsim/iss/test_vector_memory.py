"""Vector loads and stores, slides, gathers, masks against NumPy models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.iss import Simulator
from torchsim.iss._testing import BASE, SPAD, STACK, Program

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
LANES, SPAD_BYTES = 3, 2048
SIMULATOR = Simulator(LANES, SPAD_BYTES)
SEWS = st.sampled_from([8, 16, 32, 64])


def state(seed: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (LANES, SPAD_BYTES), dtype=np.uint8), rng.integers(0, 256, (LANES, 32, 32), dtype=np.uint8)


def flat(registers: npt.NDArray[np.uint8], sew: int) -> npt.NDArray[np.uint64]:
    return registers.reshape(LANES, -1).view(f"<u{sew // 8}")


def active(registers: npt.NDArray[np.uint8], masked: bool) -> npt.NDArray[np.bool_]:
    bits = np.unpackbits(registers[:, 0], axis=1, bitorder="little").astype(bool)
    return bits if masked else np.ones_like(bits)


@settings(deadline=None, max_examples=150)
@given(sew=SEWS, fields=st.sampled_from([1, 1, 1, 2, 3]), masked=st.booleans(), store=st.booleans(), data=st.data())
def test_unit_stride_strided_and_segments(sew: int, fields: int, masked: bool, store: bool, data: st.DataObject) -> None:
    size, lmul = sew // 8, 2
    vl = data.draw(st.integers(0, 256 // sew * lmul))
    strided = data.draw(st.booleans())
    stride = data.draw(st.integers(-4, 6)) * size if strided else fields * size
    base = data.draw(st.integers(64, 128)) * 8 + data.draw(st.integers(0, 8 // size - 1)) * size
    spad, registers = state(data.draw(st.integers(0, 99)))
    seg, letter = (f"seg{fields}" if fields > 1 else ""), "s" if store else "l"
    name = f"v{letter}{'s' if strided else ''}{seg}e{sew}.v"
    operands = {"vs3" if store else "vd": 8, "rs1": 8, "vm": int(not masked)} | ({"rs2": 9} if strided else {})
    Program().setvl(vl, sew, lmul).li(8, SPAD + base).li(9, stride).op(name, **operands).run(
        SIMULATOR, spad=spad, vector_registers=registers
    )
    expected_spad, expected = spad.copy(), registers.copy()
    elements, memory = flat(expected, sew), expected_spad
    for lane in range(LANES):
        for e in range(vl):
            if not active(registers, masked)[lane, e]:
                continue
            for field in range(fields):
                at, element = base + e * stride + field * size, (8 + field * lmul) * (256 // sew) + e
                if store:
                    memory[lane, at : at + size] = flat(registers, sew)[lane, element : element + 1].view(np.uint8)
                else:
                    elements[lane, element] = spad[lane, at : at + size].view(f"<u{size}")[0]
    assert (SIMULATOR.scratchpad() == expected_spad).all()
    assert (SIMULATOR.vector_registers() == expected).all()


@settings(deadline=None, max_examples=60)
@given(sew=SEWS, index=SEWS, masked=st.booleans(), store=st.booleans(), seed=st.integers(0, 99))
def test_indexed(sew: int, index: int, masked: bool, store: bool, seed: int) -> None:
    size, vl = sew // 8, 4
    spad, registers = state(seed)
    offsets = np.random.default_rng(seed).integers(0, 30, (LANES, vl)) * size
    flat(registers, index)[:, 16 * 256 // index : 16 * 256 // index + vl] = offsets
    name = f"v{'s' if store else 'l'}oxei{index}.v"
    operands = {"vs3" if store else "vd": 8, "rs1": 8, "vs2": 16, "vm": int(not masked)}
    Program().setvl(vl, sew, 1).li(8, SPAD + 512).op(name, **operands).run(SIMULATOR, spad=spad, vector_registers=registers)
    expected_spad, expected = spad.copy(), registers.copy()
    for lane in range(LANES):
        for e in range(vl):
            if active(registers, masked)[lane, e]:
                at, element = 512 + int(offsets[lane, e]), 8 * 256 // sew + e
                if store:
                    expected_spad[lane, at : at + size] = flat(registers, sew)[lane, element : element + 1].view(np.uint8)
                else:
                    flat(expected, sew)[lane, element] = spad[lane, at : at + size].view(f"<u{size}")[0]
    assert (SIMULATOR.scratchpad() == expected_spad).all()
    assert (SIMULATOR.vector_registers() == expected).all()


@pytest.mark.parametrize("offset", [0, 4, 5])
def test_whole_registers_and_masks_at_any_byte(offset: int) -> None:
    spad, registers = state(offset)
    base = SPAD + 256 + offset
    program = Program().setvl(13, 8).li(8, base).op("vl2re8.v", vd=8, rs1=8).op("vlm.v", vd=12, rs1=8).op("addi", rd=8, rs1=8, imm=128)
    program.op("vs4r.v", vs3=16, rs1=8).op("vsm.v", vs3=12, rs1=8)
    program.run(SIMULATOR, spad=spad, vector_registers=registers)
    after, found = SIMULATOR.vector_registers(), SIMULATOR.scratchpad()
    start = 256 + offset
    assert (after[:, 8:10].reshape(LANES, -1) == spad[:, start : start + 64]).all()
    assert (after[:, 12, :2] == spad[:, start : start + 2]).all() and (after[:, 12, 2:] == registers[:, 12, 2:]).all()
    assert (found[:, start + 128 : start + 130] == spad[:, start : start + 2]).all()
    assert (found[:, start + 130 : start + 256] == registers[:, 16:20].reshape(LANES, -1)[:, 2:]).all()
    assert (found[:, : start + 128] == spad[:, : start + 128]).all() and (found[:, start + 256 :] == spad[:, start + 256 :]).all()


def test_vector_loads_from_the_image_give_every_lane_the_same() -> None:
    program = Program().setvl(5, 16).li(8, BASE).op("vle16.v", vd=8, rs1=8).op("vlse16.v", vd=9, rs1=8, rs2=0)
    program.run(SIMULATOR)
    code = np.frombuffer(program.image()[:10], np.uint8)
    after = SIMULATOR.vector_registers()
    assert (after[:, 8, :10] == code).all() and (after[:, 9, :10] == np.tile(code[:2], 5)).all()


def test_the_stack_is_private_to_a_lane() -> None:
    _, registers = state(1)
    program = (
        Program().op("addi", rd=2, rs1=2, imm=-64).op("vs2r.v", vs3=4, rs1=2).op("vl2re8.v", vd=8, rs1=2).op("ld", rd=10, rs1=2, imm=0)
    )
    program.run(SIMULATOR, vector_registers=registers)
    assert (SIMULATOR.vector_registers()[:, 8:10] == registers[:, 4:6]).all()
    assert SIMULATOR.x[10] == int(registers[0, 4, :8].view("<u8")[0])
    assert SIMULATOR.x[2] == STACK + (16 << 10) - 64


@settings(deadline=None, max_examples=80)
@given(sew=SEWS, masked=st.booleans(), offset=st.integers(0, 40), seed=st.integers(0, 99), data=st.data())
def test_permutations(sew: int, masked: bool, offset: int, seed: int, data: st.DataObject) -> None:
    lmul, vl_max = 2, 256 // sew * 2
    vl = data.draw(st.integers(1, vl_max))
    _, registers = state(seed)
    per = 256 // sew
    source, before, index = (flat(registers, sew)[:, r * per : r * per + vl_max].copy() for r in (8, 16, 12))
    name = data.draw(
        st.sampled_from(["vslideup.vx", "vslidedown.vx", "vslide1up.vx", "vslide1down.vx", "vrgather.vx", "vrgather.vv", "vcompress.vm"])
    )
    if name == "vcompress.vm":
        masked = False
    operands: dict[str, int] = {"vd": 16, "vs2": 8} | ({"vs1": 12} if name[-2:] in ("vv", "vm") else {"rs1": 10})
    if name != "vcompress.vm":
        operands["vm"] = int(not masked)
    Program().setvl(vl, sew, lmul).op(name, **operands).run(SIMULATOR, vector_registers=registers, x={10: offset})
    found = flat(SIMULATOR.vector_registers(), sew)[:, 16 * per : 16 * per + vl_max]
    expected = before.copy()
    for lane in range(LANES):
        chosen = np.unpackbits(registers[lane, 12], bitorder="little").astype(bool)[:vl]
        for e in range(vl):
            if not active(registers, masked)[lane, e]:
                continue
            pick = {
                "vslideup.vx": lambda e=e, lane=lane: source[lane, e - offset] if e >= offset else before[lane, e],
                "vslidedown.vx": lambda e=e, lane=lane: source[lane, e + offset] if e + offset < vl_max else 0,
                "vslide1up.vx": lambda e=e, lane=lane: source[lane, e - 1] if e else offset,
                "vslide1down.vx": lambda e=e, lane=lane: source[lane, e + 1] if e + 1 < vl else offset,
                "vrgather.vx": lambda lane=lane: source[lane, offset] if offset < vl_max else 0,
                "vrgather.vv": lambda e=e, lane=lane: source[lane, int(index[lane, e])] if index[lane, e] < vl_max else 0,
                "vcompress.vm": lambda e=e, lane=lane: source[lane, :vl][chosen][e] if e < chosen.sum() else before[lane, e],  # noqa: B023
            }[name]
            expected[lane, e] = pick()
    assert (found == expected).all()


def test_mask_instructions_count_find_and_number() -> None:
    registers = np.zeros((LANES, 32, 32), np.uint8)
    registers[:, 8, :2] = [0b1010_0100, 0b0000_0011]
    program = (
        Program().setvl(10, 32, 2).op("vcpop.m", rd=10, vs2=8).op("vfirst.m", rd=11, vs2=8).op("viota.m", vd=12, vs2=8).op("vid.v", vd=14)
    )
    program.op("vmsbf.m", vd=16, vs2=8).op("vmsif.m", vd=17, vs2=8).op("vmsof.m", vd=18, vs2=8).op("vmnand.mm", vd=19, vs2=8, vs1=8)
    program.op("vfirst.m", rd=12, vs2=20)
    program.run(SIMULATOR, vector_registers=registers)
    after = SIMULATOR.vector_registers()
    assert SIMULATOR.x[10:13] == [5, 2, (1 << 64) - 1]
    words = after.reshape(LANES, -1).view("<u4")
    assert words[1, 12 * 8 : 12 * 8 + 10].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 4]
    assert words[2, 14 * 8 : 14 * 8 + 10].tolist() == list(range(10))
    assert [int(after[0, r, 0]) for r in range(16, 20)] == [0b11, 0b111, 0b100, 0b0101_1011] and after[0, 19, 1] == 0
