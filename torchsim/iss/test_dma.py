"""DMA against a NumPy model that is written from docs/isa.md: layout, bounds, fills, strides, accumulation, indirection."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import TrapError
from torchsim.iss import Simulator, Window
from torchsim.iss._testing import SPAD, TENSORS, Program, Tile

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1", "S-2")]
SPAD_BYTES, WINDOW_BYTES = 8192, 16384
SIMULATORS = {lanes: Simulator(lanes, SPAD_BYTES) for lanes in (1, 4, 8)}
DTYPES = {1: "<i1", 2: "<i2", 3: "<i4", 4: "<i8", 6: "<f4", 7: "<f8", 9: "<u1"}


def place(p: int, v: int, lanes: int) -> tuple[int, int]:
    """(lane, in-lane position) of a position on the split axis."""
    return p // v % lanes, p // (v * lanes) * v + p % v


def model(
    tile: Tile,
    lanes: int,
    store: bool,
    dram: int,
    spad_at: int,
    window: npt.NDArray[np.uint8],
    spad: npt.NDArray[np.uint8],
    shifts: npt.NDArray[np.int64] | None,
) -> None:
    """Apply a transfer to ``window`` or ``spad`` in place. ``dram``: byte offset of tile position 0 in the window."""
    extents = list(tile.dims)
    if not store:
        group = tile.v * lanes
        extents[tile.split] = -(-extents[tile.split] // group) * group
    low, high, size = tile.low or [0] * 4, tile.high or tile.dims, tile.size
    for position in product(*(range(extent) for extent in extents)):
        lane, in_lane = place(position[tile.split], tile.v, lanes)
        inner = [in_lane if axis == tile.split else i for axis, i in enumerate(position)]
        at = spad_at + size * sum(i * s for i, s in zip(inner, tile.spad, strict=True))
        active = all(a <= i < min(b, extent) for a, i, b, extent in zip(low, position, high, tile.dims, strict=True))
        if not active:
            if not store:
                spad[lane, at : at + size] = np.frombuffer(tile.fill.to_bytes(8, "little")[:size], np.uint8)
            continue
        offset = dram + size * sum(i * d for i, d in zip(position, tile.dram, strict=True))
        if shifts is not None:
            offset += size * int(shifts[np.ravel_multi_index(position, tuple(tile.dims))])
        if not store:
            spad[lane, at : at + size] = window[offset : offset + size]
        elif tile.accumulate:
            kind = DTYPES[tile.type_code]
            with np.errstate(all="ignore"):
                window[offset : offset + size] = (
                    window[offset : offset + size].view(kind) + spad[lane, at : at + size].copy().view(kind)
                ).view(np.uint8)
        else:
            window[offset : offset + size] = spad[lane, at : at + size]


@st.composite
def tiles(draw: st.DrawFn, lanes: int, store: bool) -> Tile:
    """A tile that is compact in the scratchpad, in any order of its axes, some strides negative in DRAM."""
    split, v, size = draw(st.integers(0, 3)), draw(st.sampled_from([1, 1, 2, 3, 8])), draw(st.sampled_from([1, 2, 4, 8]))
    dims = [draw(st.integers(1, 3)) for _ in range(4)]
    dims[split] = draw(st.integers(1, 4 * lanes))
    inner = list(dims)
    inner[split] = -(-dims[split] // (v * lanes)) * v
    strides, step = [0] * 4, 1
    for axis in draw(st.permutations(range(4))):
        strides[axis], step = step, step * inner[axis]
    dram = [draw(st.integers(-9, 9)) for _ in range(4)]
    low = [draw(st.integers(0, extent)) for extent in dims] if draw(st.booleans()) else None
    high = [draw(st.integers(0, extent + 1)) for extent in dims] if draw(st.booleans()) else None
    codes = [code for code, kind in DTYPES.items() if int(kind[-1]) == size]
    accumulate = store and draw(st.booleans())
    return Tile(
        dims,
        dram,
        strides,
        split,
        v,
        size,
        low,
        high,
        draw(st.integers(0, 2**64 - 1)),
        draw(st.sampled_from(codes)) if accumulate else 0,
        accumulate,
    )


@settings(deadline=None, max_examples=250)
@given(
    lanes=st.sampled_from([1, 4, 8]),
    store=st.booleans(),
    tagged=st.booleans(),
    late=st.booleans(),
    indirect=st.sampled_from([0, 0, 4, 8]),
    seed=st.integers(0, 999),
    data=st.data(),
)
def test_any_transfer(lanes: int, store: bool, tagged: bool, late: bool, indirect: int, seed: int, data: st.DataObject) -> None:
    simulator, rng = SIMULATORS[lanes], np.random.default_rng(seed)
    tile = data.draw(tiles(lanes, store))
    window = (rng.standard_normal(WINDOW_BYTES // 4) * 9).astype("<f4").view(np.uint8).copy()
    spad = (rng.standard_normal((lanes, SPAD_BYTES // 4)) * 9).astype("<f4").view(np.uint8).copy()
    shifts = None
    if indirect:
        index_at, index_stride = SPAD_BYTES // 2, int(rng.integers(0, 5))
        positions = int(np.prod(tile.dims))
        indices = rng.integers(-20, 20, positions)
        for q, position in enumerate(product(*(range(extent) for extent in tile.dims))):
            lane, in_lane = place(position[tile.split], tile.v, lanes)
            at = index_at + indirect * sum((in_lane if axis == tile.split else i) * tile.spad[axis] for axis, i in enumerate(position))
            if at + indirect > SPAD_BYTES:
                return  # the index array does not fit
            spad[lane, at : at + indirect] = np.array([indices[q]], f"<i{indirect}").view(np.uint8)
        shifts = indices * index_stride
        tile = Tile(**{**tile.__dict__, "index": (SPAD + index_at, index_stride, indirect)})
    dram, spad_at = WINDOW_BYTES // 2 // 8 * 8, 64
    program = (Program().mvout if store else Program().mvin)(tile, TENSORS + dram, SPAD + spad_at, 5 if tagged else None)
    if tagged:
        program.wait(5, 1)
    expected_window, expected_spad = window.copy(), spad.copy()
    model(tile, lanes, store, dram, spad_at, expected_window, expected_spad, shifts)
    program.run(simulator, [Window(TENSORS, window.ctypes.data, window.nbytes)], spad=spad, mode="late" if late else "early")
    if tile.accumulate and tile.type_code in (6, 7):
        kind = DTYPES[tile.type_code]
        np.testing.assert_array_equal(window.view(kind), expected_window.view(kind))  # NaN payloads aside
    else:
        assert (window == expected_window).all()
    assert (simulator.scratchpad() == expected_spad).all()


def test_round_up_positions_and_bounds_never_reach_dram() -> None:
    """The window ends exactly behind the tile's last active element."""
    simulator = SIMULATORS[4]
    data = np.arange(7, dtype="<i4")
    tile = Tile((1, 1, 1, 9), (0, 0, 0, 1), (0, 0, 0, 1), v=2, high=(1, 1, 1, 7), fill=77)
    Program().mvin(tile, TENSORS, SPAD).run(simulator, [Window(TENSORS, data.ctypes.data, data.nbytes, False)])
    found = simulator.scratchpad(16).view("<i4")
    assert found.tolist() == [[0, 1, 77, 77], [2, 3, 77, 77], [4, 5, 77, 77], [6, 77, 77, 77]]
    out = np.full(8, -1, "<i4")
    program = Program().mvin(tile, TENSORS, SPAD).mvout(Tile(tile.dims, tile.dram, tile.spad, v=2, high=tile.high), TENSORS + 0x1000, SPAD)
    program.run(simulator, [Window(TENSORS, data.ctypes.data, data.nbytes, False), Window(TENSORS + 0x1000, out.ctypes.data, 28)])
    assert out.tolist() == [0, 1, 2, 3, 4, 5, 6, -1]


@pytest.mark.req("S-4")
def test_a_race_shows_as_a_difference_between_the_two_orders() -> None:
    simulator = SIMULATORS[4]
    tile = Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1))

    def outcome(mode: str, waits_first: bool) -> list[int]:
        data, out = np.arange(1, 5, dtype="<i4"), np.zeros(4, "<i4")
        program = Program().mvin(tile, TENSORS, SPAD, tag=1)
        if waits_first:
            program.wait(1)
        program.setvl(1, 32).li(8, SPAD).op("vle32.v", vd=8, rs1=8).op("vadd.vv", vd=8, vs2=8, vs1=8)
        if not waits_first:
            program.wait(1)
        program.op("vse32.v", vs3=8, rs1=8).mvout(tile, TENSORS + 64, SPAD)
        program.run(simulator, [Window(TENSORS, data.ctypes.data, 16, False), Window(TENSORS + 64, out.ctypes.data, 16)], mode=mode)
        return out.tolist()

    assert outcome("early", True) == outcome("late", True) == [2, 4, 6, 8]
    poison = int(np.int32(np.uint32(0xA5A5A5A5 * 2 & 0xFFFFFFFF).view(np.int32)))
    assert outcome("early", False) == [2, 4, 6, 8] and outcome("late", False) == [poison] * 4


def test_wait_completes_the_oldest_first() -> None:
    simulator = SIMULATORS[4]
    data = np.arange(4, dtype="<i4")
    tile = Tile((1, 1, 1, 1), (0, 0, 0, 1), (0, 0, 0, 1))
    program = Program()
    for place_in_spad in range(3):
        program.mvin(tile, TENSORS + 4 * place_in_spad, SPAD + 4 * place_in_spad, tag=9)
    program.wait(9, 2).li(8, SPAD).op("lw", rd=10, rs1=8, imm=4).op("lw", rd=11, rs1=8, imm=8).wait(9)
    program.run(simulator, [Window(TENSORS, data.ctypes.data, 16)], mode="late")
    assert simulator.x[10] == 1 and simulator.x[11] & 0xFFFF_FFFF == 0xA5A5A5A5


def test_fill_mode_needs_no_memory() -> None:
    simulator = SIMULATORS[8]
    tile = Tile((1, 1, 1, 10), (0, 0, 0, 1), (0, 0, 0, 1), high=(1, 1, 1, 9), fill=5)
    Program().mvin(tile, 0, SPAD).mvout(tile, 0, SPAD).run(simulator, dma="fill")
    assert simulator.scratchpad(8).view("<i4").tolist() == [[0, 0], [0, 5], *[[0, 5]] * 6]


@pytest.mark.parametrize(
    ("tile", "dram", "spad", "cause"),
    [
        (Tile((1, 1, 1, 5), (0, 0, 0, 1), (0, 0, 0, 1)), TENSORS, SPAD, "dram_out_of_range"),
        (Tile((1, 1, 1, 4), (0, 0, 0, -1), (0, 0, 0, 1)), TENSORS, SPAD, "dram_out_of_range"),
        (Tile((1, 1, 2, 4), (0, 0, 0, 1), (0, 0, SPAD_BYTES // 4, 1)), TENSORS, SPAD, "scratchpad_out_of_range"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1)), TENSORS, SPAD - 4, "scratchpad_out_of_range"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1)), TENSORS, 0xE000_0000, "scratchpad_out_of_range"),
        (Tile((1, 1, 1, 0), (0, 0, 0, 1), (0, 0, 0, 1)), TENSORS, SPAD, "dma_configuration"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1), size=3), TENSORS, SPAD, "dma_configuration"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1), v=0), TENSORS, SPAD, "dma_configuration"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1), type_code=5, accumulate=True, size=2), TENSORS, SPAD, "dma_configuration"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1), type_code=10), TENSORS, SPAD, "dma_configuration"),
        (Tile((60000, 60000, 60000, 60000), (0, 0, 0, 0), (0, 0, 0, 0)), TENSORS, SPAD, "dma_configuration"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1), index=(SPAD + SPAD_BYTES - 4, 1, 8)), TENSORS, SPAD, "scratchpad_out_of_range"),
        (Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1), index=(SPAD, 1, 2)), TENSORS, SPAD, "dma_configuration"),
    ],
)
@pytest.mark.req("S-3")
def test_bad_descriptors_trap(tile: Tile, dram: int, spad: int, cause: str) -> None:
    data = np.zeros(4, "<i4")
    with pytest.raises(TrapError) as caught:
        Program().mvin(tile, dram, spad).run(SIMULATORS[4], [Window(TENSORS, data.ctypes.data, data.nbytes)])
    assert caught.value.cause == cause


def test_windows_have_permissions() -> None:
    data = np.zeros(4, "<i4")
    tile = Tile((1, 1, 1, 4), (0, 0, 0, 1), (0, 0, 0, 1))
    for program, writable, readable in (
        (Program().mvout(tile, TENSORS, SPAD), False, True),
        (Program().mvin(tile, TENSORS, SPAD), True, False),
    ):
        with pytest.raises(TrapError, match="dram_out_of_range"):
            program.run(SIMULATORS[4], [Window(TENSORS, data.ctypes.data, data.nbytes, writable, readable)])
