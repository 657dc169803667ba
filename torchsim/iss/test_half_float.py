"""f16 through the host's f32: fused operations next to ties, conversions between formats for every f16 and sampled f32."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from torchsim.iss import Simulator
from torchsim.iss._exact import RDN, RNE, Format, round_fraction
from torchsim.iss._testing import Program

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
LANES = 128
SIMULATOR = Simulator(LANES, 4096)
HALF = Format(5, 10)


def run(program: Program, groups: dict[int, npt.NDArray[Any]], result: int, like: str, count: int) -> npt.NDArray[Any]:
    """``count`` elements of every lane of the group at ``result``; ``groups`` are [lanes, elements] by first register."""
    registers = np.zeros((LANES, 32, 32), np.uint8)
    for first, values in groups.items():
        raw = np.ascontiguousarray(values).view(np.uint8)
        registers.reshape(LANES, -1)[:, 32 * first : 32 * first + raw.shape[1]] = raw
    program.run(SIMULATOR, vector_registers=registers)
    return SIMULATOR.vector_registers().reshape(LANES, -1)[:, 32 * result :].copy().view(like)[:, :count]


@pytest.mark.parametrize("mode", range(5))
def test_fused_results_next_to_a_tie_round_once(mode: int) -> None:
    """(1 + 2^-k)(1 - 2^-k) s + c lies 2^-2k s beside a tie when s is half an ulp of c: e32 alone cannot hold that."""
    rng = np.random.default_rng(mode)
    k = 2.0 ** -rng.integers(5, 11, (LANES, 16))
    c = (1 + rng.integers(0, 1024, (LANES, 16)) / 1024) * 2.0 ** rng.integers(-3, 4, (LANES, 16))
    half_ulp = 2.0 ** (np.floor(np.log2(c)) - 11)
    a, b = ((1 + k) * rng.choice([-1.0, 1.0], k.shape)).astype(np.float16), ((1 - k) * half_ulp).astype(np.float16)
    c16 = (c * rng.choice([-1.0, 1.0], k.shape)).astype(np.float16)
    program = Program().op("csrrwi", rd=0, csr=2, imm=mode).setvl(16, 16).op("vfmacc.vv", vd=24, vs2=16, vs1=8)
    found = run(program, {8: a, 16: b, 24: c16}, 24, "<u2", 16)
    for x, y, z, bits in zip(a.flat, b.flat, c16.flat, found.flat, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        assert int(bits) == round_fraction(HALF, exact, mode), (x, y, z)


@pytest.mark.parametrize("mode", range(4))
def test_exact_cancellation_has_the_sign_of_the_mode(mode: int) -> None:
    ones = np.ones((LANES, 16), np.float16)
    program = Program().op("csrrwi", rd=0, csr=2, imm=mode).setvl(16, 16).op("vfmsac.vv", vd=24, vs2=16, vs1=8)
    found = run(program, {8: ones, 16: ones, 24: ones}, 24, "<u2", 16)
    assert (found == (HALF.sign if mode == RDN else 0)).all()


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_every_half_widens_exactly() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).reshape(-1, LANES, 64)
    for chunk in halves:
        found = run(Program().setvl(64, 16, 4).op("vfwcvt.f.f.v", vd=8, vs2=24), {24: chunk}, 8, "<u4", 64)
        expected = np.where(np.isnan(chunk.view(np.float16)), 0x7FC0_0000, chunk.view(np.float16).astype(np.float32).view(np.uint32))
        assert np.array_equal(found, expected)
        sums = run(Program().setvl(64, 16, 4).op("vfwadd.vv", vd=8, vs2=24, vs1=24), {24: chunk}, 8, "<u4", 64)
        twice = chunk.view(np.float16).astype(np.float32) * np.float32(2)
        assert np.array_equal(sums, np.where(np.isnan(twice), 0x7FC0_0000, twice.view(np.uint32)))


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning", "ignore:invalid value encountered:RuntimeWarning")
def test_singles_convert_as_numpy_does() -> None:
    """To f16 and f64, from random bits and from f16 ties; in nearest-even."""
    rng = np.random.default_rng(RNE)
    bits = rng.integers(0, 1 << 32, (LANES, 32), np.uint32)
    near = np.float16(rng.normal(0, 1, (LANES, 32))).astype(np.float32).view(np.uint32)
    for chunk in (bits, near + np.uint32(0x1000), near + np.uint32(0x0FFF), near - np.uint32(0x2000)):
        values = chunk.view(np.float32)
        narrow = run(Program().setvl(32, 16, 2).op("vfncvt.f.f.w", vd=8, vs2=24), {24: chunk}, 8, "<u2", 32)
        assert np.array_equal(narrow, np.where(np.isnan(values), HALF.nan, values.astype(np.float16).view(np.uint16)))
        wide = run(Program().setvl(32, 32, 4).op("vfwcvt.f.f.v", vd=8, vs2=24), {24: chunk}, 8, "<u8", 32)
        canonical = np.uint64(0x7FF8_0000_0000_0000)
        assert np.array_equal(wide, np.where(np.isnan(values), canonical, values.astype(np.float64).view(np.uint64)))
