"""Comparison of final states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles.spike import SpikeOracle, SpikeResult, SpikeWindow, compare
from oracles.spike.descriptor import Descriptor
from oracles.spike.program import SPAD, Program
from torchsim.errors import InvalidInputError

pytestmark = [pytest.mark.unit, pytest.mark.req("S-5", "H-1")]
WINDOWS = [
    SpikeWindow(0x10_0000_0000, np.arange(32, dtype="<f4").tobytes(), False, "input", 4),
    SpikeWindow(0x10_0000_1000, bytes(128), True, "output", 4),
]
NEGATIVE_ZERO = 0x80


def state() -> SpikeResult:
    spad = np.zeros((4, 64), np.uint8)
    return SpikeResult([bytes(window.data) for window in WINDOWS], spad, 10, None, np.zeros(0, np.uint64), np.zeros((0, 3), np.uint64))


def changed(one: SpikeResult, window: int, offset: int, value: int) -> SpikeResult:
    data = bytearray(one.windows[window])
    data[offset] = value
    return replace(one, windows=[bytes(data) if i == window else old for i, old in enumerate(one.windows)])


def test_equal_states() -> None:
    assert compare(state(), state(), windows=WINDOWS) == []


def test_signed_zero_is_a_difference_and_is_described() -> None:
    (difference,) = compare(changed(state(), 1, 43, NEGATIVE_ZERO), state(), windows=WINDOWS)
    assert (difference.place, difference.name, difference.element, difference.offset, difference.count) == ("window", "output", 10, 43, 1)
    assert str(difference).startswith("window output, element 10, byte 43: 00 00 00 80")


def test_scratchpad_differences_name_the_lane() -> None:
    other = state()
    other.spad[2, 13] = 7
    other.spad[3, 1] = 7
    (difference,) = compare(other, state())
    assert (difference.place, difference.lane, difference.offset, difference.count) == ("scratchpad", 2, 13, 2)
    assert "lane 2, byte 0xd" in str(difference)
    assert compare(other, state(), spad_used_bytes=1) == []
    mask = np.zeros((4, 64), np.bool_)
    mask[2, 8:16] = True
    assert compare(other, state(), ignore_spad=mask)[0].lane == 3


def test_ignored_bytes() -> None:
    mask = np.zeros(128, np.bool_)
    mask[40:48] = True
    assert compare(changed(state(), 1, 43, 1), state(), ignore_windows={1: mask}) == []
    assert len(compare(changed(state(), 1, 48, 1), state(), ignore_windows={1: mask})) == 1


def test_states_of_different_shape_are_no_comparison() -> None:
    with pytest.raises(InvalidInputError, match="different windows"):
        compare(replace(state(), windows=[]), state())
    with pytest.raises(InvalidInputError, match="different scratchpads"):
        compare(replace(state(), spad=np.zeros((4, 32), np.uint8)), state())


@pytest.mark.req("H-12")
def test_one_flipped_instruction_word_is_noticed(spike: SpikeOracle) -> None:
    """A kernel that doubles 16 values; with one bit flipped (vfadd to vfsub) window and scratchpad differ."""
    values = np.arange(1, 17, dtype="<f4")
    windows = [SpikeWindow(0x10_0000_0000, values.tobytes(), False, "x", 4), SpikeWindow(0x10_0000_1000, bytes(64), True, "y", 4)]
    row = Descriptor((1, 1, 1, 16), (0, 0, 0, 1), (0, 0, 0, 1))
    images: list[bytes] = []
    for name in ("vfadd.vv", "vfsub.vv"):
        program = row.issue(Program(), "npu.mvin", windows[0].address, SPAD).li(11, SPAD).setvl(2, 32)
        program.op("vle32.v", vd=4, rs1=11).op(name, vd=4, vs2=4, vs1=4).op("vse32.v", vs3=4, rs1=11)
        images.append(row.issue(program, "npu.mvout", windows[1].address, SPAD).image())
    right, wrong = (spike.run(image, windows=windows) for image in images)
    assert np.array_equal(np.frombuffer(right.windows[1], "<f4"), 2 * values)
    differences = compare(wrong, right, windows=windows)
    assert [difference.place for difference in differences] == ["window", "scratchpad"]
    assert "window y, element 0" in str(differences[0])
