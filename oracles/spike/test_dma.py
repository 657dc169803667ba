"""DMA of the Spike oracle against docs/isa.md sections 3 and 4, restated here in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.spike import SpikeOracle, SpikeResult, SpikeWindow
from oracles.spike.descriptor import TYPE_CODES, Descriptor, Index, fields
from oracles.spike.program import SPAD, Program
from oracles.spike.trap_cases import DMA_TRAPS, TRAP_WINDOWS

pytestmark = [pytest.mark.unit, pytest.mark.req("S-5", "H-1")]
LANES, SPAD_BYTES = 8, 32768
A = 0x10_0000_0000
POISON = 0xA5A5A5A5
ROW = Descriptor((1, 1, 1, 16), (0, 0, 0, 1), (0, 0, 0, 1))  # 16 words over 8 lanes, two in each


def positions(one: Descriptor, *, round_up: bool) -> list[tuple[tuple[int, ...], int, int, bool]]:
    """(position, lane, scratchpad element, active), row-major."""
    rows = -(-one.extents[one.split] // (one.vlane_stride * LANES))
    ends = list(one.extents)
    if round_up:
        ends[one.split] = rows * one.vlane_stride * LANES
    low, high = one.low or (0, 0, 0, 0), one.high or one.extents
    result: list[tuple[tuple[int, ...], int, int, bool]] = []
    for i in itertools.product(*map(range, ends)):
        row, rest = divmod(i[one.split], one.vlane_stride * LANES)
        lane, inner = divmod(rest, one.vlane_stride)
        place = [*i]
        place[one.split] = row * one.vlane_stride + inner
        active = all(lo <= x < hi and x < extent for lo, x, hi, extent in zip(low, i, high, one.extents))
        result.append((i, lane, sum(x * s for x, s in zip(place, one.spad_strides)), active))
    return result


@st.composite
def descriptors(draw: st.DrawFn) -> Descriptor:
    """Small tiles of any rank, split axis, stride and mask, compact in the scratchpad."""
    extents = tuple(draw(st.sampled_from([1, 1, 2, 3, 5])) for _ in range(4))
    split = draw(st.integers(0, 3))
    extents = (*extents[:split], draw(st.integers(1, 40)), *extents[split + 1 :])
    v = draw(st.sampled_from([1, 2, 3, 4]))
    inner = list(extents)
    inner[split] = -(-extents[split] // (v * LANES)) * v
    spad_strides, step = [0] * 4, 1
    for axis in draw(st.permutations(range(4))):
        spad_strides[axis], step = step, step * inner[axis]
    dram_strides = tuple(draw(st.integers(-20, 20)) for _ in range(4))
    low = tuple(draw(st.integers(0, e)) for e in extents) if draw(st.booleans()) else None
    high = tuple(draw(st.integers(0, e)) for e in extents) if draw(st.booleans()) else None
    fill = draw(st.none() | st.integers(0, 2**64 - 1))
    size = draw(st.sampled_from([1, 2, 4, 8]))
    return Descriptor(extents, dram_strides, tuple(spad_strides), size, split, v, low, high, fill)  # pyright: ignore[reportArgumentType]


@pytest.mark.req("L-6")
@settings(max_examples=60, deadline=None)
@given(one=descriptors(), late=st.booleans(), tagged=st.booleans())
def test_mvin(spike: SpikeOracle, one: Descriptor, late: bool, tagged: bool) -> None:
    dram = np.random.default_rng(1).integers(1, 256, 65536, dtype=np.uint8)
    elements, size = dram.view(f"<u{one.element_bytes}"), one.element_bytes
    middle, spad = 4096, 64
    expected = np.zeros((LANES, SPAD_BYTES), np.uint8)
    view = expected[:, spad:].view(f"<u{size}")
    for i, lane, place, active in positions(one, round_up=True):
        source = middle + sum(x * s for x, s in zip(i, one.dram_strides))
        view[lane, place] = elements[source] if active else (one.fill or 0) & (1 << 8 * size) - 1
    program = one.issue(Program(), "npu.mvin", A + middle * size, SPAD + spad, tag=3 if tagged else None)
    if tagged:
        program.dma("npu.wait", 3, 1)
    result = spike.run(program.image(), windows=[SpikeWindow(A, dram.tobytes(), writable=False)], mode="late" if late else "early")
    assert result.trap is None, result.trap
    assert np.array_equal(result.spad, expected)


@settings(max_examples=60, deadline=None)
@given(one=descriptors(), late=st.booleans(), tagged=st.booleans())
def test_mvout(spike: SpikeOracle, one: Descriptor, late: bool, tagged: bool) -> None:
    size, middle = one.element_bytes, 4096
    spad = np.random.default_rng(2).integers(0, 256, (LANES, 8192), dtype=np.uint8)
    view = spad.view(f"<u{size}")
    expected = np.random.default_rng(3).integers(0, 256, 65536, dtype=np.uint8)
    before = expected.tobytes()
    elements = expected.view(f"<u{size}")
    for i, lane, place, active in positions(one, round_up=False):  # in order: the last write to an element stays
        if active:
            elements[middle + sum(x * s for x, s in zip(i, one.dram_strides))] = view[lane, place]
    program = one.issue(Program(), "npu.mvout", A + middle * size, SPAD, tag=1023 if tagged else None)
    if tagged:
        program.dma("npu.wait", 1023, 0)
    result = spike.run(program.image(), windows=[SpikeWindow(A, before)], spad=spad, mode="late" if late else "early")
    assert result.trap is None, result.trap
    assert result.windows[0] == expected.tobytes()
    assert np.array_equal(result.spad[:, :8192], spad)


@pytest.mark.parametrize("slot", ["npu.mvin2", "npu.mvin3"])
def test_every_load_has_its_own_slot(spike: SpikeOracle, slot: str) -> None:
    dram = np.arange(1, 33, dtype="<u4").tobytes()
    short = Descriptor((1, 1, 1, 8), (0, 0, 0, 1), (0, 0, 0, 1))
    program = short.issue(Program(), "npu.mvin", A, SPAD)
    ROW.issue(program, slot, A, SPAD + 64)
    program.dma("npu.mvin", A + 64, SPAD + 256)  # slot 0 is as the first configuration left it
    words = spike.run(program.image(), windows=[SpikeWindow(A, dram)]).spad.view("<u4")
    assert (words[:, 0] == np.arange(1, 9)).all()
    assert (words[:, 16:18] == np.arange(1, 17).reshape(2, 8).T).all()
    assert (words[:, 64] == np.arange(17, 25)).all()
    assert not words[:, 65:].any()


@pytest.mark.parametrize("code", ["i1", "i2", "i4", "i8", "u1", "f4", "f8"])
def test_accumulate(spike: SpikeOracle, code: str) -> None:
    dtype = np.dtype(f"<{code}")
    rng = np.random.default_rng(4)
    if dtype.kind == "f":
        dram, values = rng.standard_normal(4).astype(dtype), (rng.standard_normal(16) * 1e3).astype(dtype)
    else:
        bounds = np.iinfo(dtype)
        dram, values = rng.integers(bounds.min, bounds.max, 4, dtype), rng.integers(bounds.min, bounds.max, 16, dtype)
    expected = dram.copy()
    with np.errstate(over="ignore"):
        for i in range(16):  # position i adds to element i // 4, one rounding each
            expected[i // 4] += values[i]
    one = Descriptor((1, 1, 4, 4), (0, 0, 1, 0), (0, 0, 4, 1), dtype.itemsize, split=2, fill=0, type_code=TYPE_CODES[code], accumulate=True)
    lanes = np.zeros((LANES, 4 * dtype.itemsize), np.uint8)
    lanes[:4] = np.ascontiguousarray(values.reshape(4, 4)).view(np.uint8).reshape(4, -1)
    result = spike.run(one.issue(Program(), "npu.mvout", A, SPAD).image(), windows=[SpikeWindow(A, dram.tobytes())], spad=lanes)
    assert result.trap is None
    assert result.windows[0] == expected.tobytes()


@pytest.mark.parametrize("index_bytes", [4, 8])
def test_indirect(spike: SpikeOracle, index_bytes: int) -> None:
    dram = np.arange(100, 164, dtype="<u4")
    rows = np.array([[3, 0, -1, 2, 7, 5, 1, 1, 4, 6]])  # a gather of ten rows of four columns, from row 8 on
    indices = np.zeros((LANES, 2), f"<i{index_bytes}")
    for p in range(10):
        indices[p % LANES, p // LANES] = rows[0, p]
    spad = indices.view(np.uint8).reshape(LANES, -1)
    one = Descriptor((1, 1, 10, 1), (0, 0, 0, 1), (0, 0, 1, 1), split=2, index=Index(SPAD, 4, index_bytes))
    result = spike.run(one.issue(Program(), "npu.mvin", A + 32 * 4, SPAD + 64).image(), windows=[SpikeWindow(A, dram.tobytes())], spad=spad)
    assert result.trap is None, result.trap
    found = result.spad[:, 64:72].view("<u4")
    for p in range(10):
        assert found[p % LANES, p // LANES] == dram[32 + 4 * rows[0, p]]
    assert not found[2:, 1].any()  # round-up positions: fill, no index read


def test_indices_are_read_at_issue(spike: SpikeOracle) -> None:
    dram = np.arange(100, 164, dtype="<u4")
    spad = np.full((LANES, 1), 5, "<i4").view(np.uint8)
    one = Descriptor((1, 1, 1, 8), (0, 0, 0, 0), (0, 0, 0, 1), index=Index(SPAD, 1))
    program = one.issue(Program(), "npu.mvin", A, SPAD + 64, tag=0).li(11, SPAD).op("sw", rs2=0, rs1=11, imm=0).dma("npu.wait", 0, 1)
    for mode in ("early", "late"):
        result = spike.run(program.image(), windows=[SpikeWindow(A, dram.tobytes())], spad=spad, mode=mode)
        assert (result.spad[:, 64:68].view("<u4") == 105).all()


def race(wait: bool) -> Program:
    """Copy a loaded row before or after its WAIT."""
    program = ROW.issue(Program(), "npu.mvin", A, SPAD, tag=7)
    if wait:
        program.dma("npu.wait", 7, 1)
    program.li(11, SPAD).li(12, SPAD + 256).setvl(2, 32).op("vle32.v", vd=4, rs1=11).op("vse32.v", vs3=4, rs1=12)
    return program if wait else program.dma("npu.wait", 7, 1)


@pytest.mark.req("L-5")
def test_late_order_shows_a_missing_wait(spike: SpikeOracle) -> None:
    windows = [SpikeWindow(A, np.arange(1, 17, dtype="<u4").tobytes())]
    row = np.arange(1, 17).reshape(2, 8).T

    def copied(wait: bool, mode: str) -> np.ndarray:
        return spike.run(race(wait).image(), windows=windows, mode=mode).spad.view("<u4")[:, 64:66]  # pyright: ignore[reportArgumentType]

    assert (copied(True, "early") == row).all()
    assert (copied(True, "late") == row).all()
    assert (copied(False, "early") == row).all()
    assert (copied(False, "late") == POISON).all()


def test_late_stores_read_at_their_wait(spike: SpikeOracle) -> None:
    spad = np.ones((LANES, 2), "<u4").view(np.uint8)
    program = ROW.issue(Program(), "npu.mvout", A, SPAD, tag=0).li(11, SPAD).op("sd", rs2=0, rs1=11, imm=0).dma("npu.wait", 0, 1)
    early = spike.run(program.image(), windows=[SpikeWindow(A, bytes(64))], spad=spad, mode="early")
    late = spike.run(program.image(), windows=[SpikeWindow(A, bytes(64))], spad=spad, mode="late")
    assert np.frombuffer(early.windows[0], "<u4").all()
    assert not np.frombuffer(late.windows[0], "<u4").any()


def test_wait_completes_the_oldest(spike: SpikeOracle) -> None:
    program = ROW.issue(Program(), "npu.mvin", A, SPAD, tag=1)
    program.dma("npu.tag", 1, 0).dma("npu.mvin", A, SPAD + 64).dma("npu.wait", 1, 1)
    program.li(11, SPAD).op("ld", rd=12, rs1=11, imm=0).op("ld", rd=13, rs1=11, imm=64).dma("npu.wait", 1, 1)
    program.op("sd", rs2=12, rs1=11, imm=512).op("sd", rs2=13, rs1=11, imm=520)
    dram = np.arange(1, 17, dtype="<u4").tobytes()
    words = spike.run(program.image(), windows=[SpikeWindow(A, dram)], mode="late").spad.view("<u4")
    assert words[0, 128:132].tolist() == [1, 9, POISON, POISON]


@pytest.mark.req("S-3")
@pytest.mark.parametrize("mode", ["early", "late"])
@pytest.mark.parametrize("name", DMA_TRAPS)
def test_traps(spike: SpikeOracle, name: str, mode: str) -> None:
    program, cause = DMA_TRAPS[name]
    result: SpikeResult = spike.run(program.image(), windows=TRAP_WINDOWS, mode=mode)  # pyright: ignore[reportArgumentType]
    assert result.trap is not None
    assert result.trap.cause == cause


def test_blocks_and_empty_waits_are_harmless(spike: SpikeOracle) -> None:
    program = (
        Program().dma("npu.block", 5, 0).dma("npu.config", fields((1, 1, 1, 1)), 1 << 32 | 4).dma("npu.block", 5, 1).dma("npu.wait", 0, 0)
    )
    assert spike.run(program.image()).trap is None
