"""Special functions: samples of binary32, all of binary16 and bfloat16, samples of binary64, and the two references against each other."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from oracles.special import estimate, exact
from oracles.special.compare import BOUND, CANONICAL_NAN, Tally, compare_f32
from oracles.special.functions import FUNCTIONS, Function
from oracles.special.sweep import sweep
from oracles.special.unit import SpecialUnit
from oracles.spike.program import Program
from torchsim.errors import DivergenceError
from torchsim.iss import Simulator

pytestmark = [pytest.mark.unit, pytest.mark.req("L-5", "H-1")]
UNIT = SpecialUnit()
each_function = pytest.mark.parametrize("function", FUNCTIONS)
WORST_F64: dict[Function, float] = {"erf": 1.0, "tanh": 2.0, "sin": 1.0, "cos": 1.0, "log": 1.0, "atan": 1.0, "exp": 1.0}
"""docs/isa.md section 5, in units in the last place."""


def f32(values: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    return np.asarray(values, np.float32).view(np.uint32)


def sample(count: int, seed: int = 5) -> npt.NDArray[np.uint32]:
    """Three quarters spread over all bit patterns, a quarter where the functions bend."""
    rng = np.random.default_rng(seed)
    wide = rng.integers(0, 1 << 32, 3 * count // 4, dtype=np.uint32)
    return np.concatenate([wide, f32(rng.uniform(-12, 12, count // 4))])


def edges() -> npt.NDArray[np.uint32]:
    """Zeros, subnormals, infinities, NaNs with payloads, powers of two and their neighbours, multiples of pi / 4, where exp overflows."""
    powers = np.arange(256, dtype=np.uint32) << 23
    points = f32(
        [np.pi / 4 * k for k in range(1, 200)] + [88.722839, 88.72284, -103.97208, -87.33655, 9.010913, 3.92, 1.0, 0.5, 0.41421357]
    )
    values = np.concatenate([powers, points, np.array([1, 2, 0x7F_FFFF, 0x7F80_0001, 0x7FFF_FFFF, 0x7FC0_0000], np.uint32)])
    around = np.concatenate([values - 1, values, values + 1])
    return np.concatenate([around, around ^ 0x8000_0000]).astype(np.uint32)


@each_function
def test_f32_sample(function: Function) -> None:
    """2^20 inputs, the same every time."""
    tally = Tally()
    compare_f32(UNIT, function, sample(1 << 20), tally)
    compare_f32(UNIT, function, edges(), tally)
    assert tally.checked > 1 << 20
    assert tally.misrounded_count == 0  # of this sample; the full check lists them all


@pytest.mark.slow
@pytest.mark.timeout(0)
@each_function
def test_f32_all_inputs(function: Function, tmp_path: Path) -> None:
    """2^32 inputs with TORCHSIM_ALL_INPUTS=folder (progress is kept there, about ten minutes a function), else 2^26."""
    folder = os.environ.get("TORCHSIM_ALL_INPUTS")
    everything = 1 << 32 if folder else 1 << 26
    tally = sweep(function, Path(folder or tmp_path) / f"{function}.json", everything=everything)
    assert tally.checked == everything and tally.worst <= BOUND


@each_function
def test_f16_all_inputs(function: Function) -> None:
    """binary16 is the binary32 result rounded once more."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    found = np.asarray(UNIT.evaluate(function, bits), np.uint16)
    wide = bits.view(np.float16).astype(np.float32)
    nearest, certain = estimate.rounded(function, wide)
    for place in np.flatnonzero(~certain):
        nearest[place] = exact.rounded(exact.value(function, float(wide[place])))
    with np.errstate(over="ignore"):
        expected = nearest.astype(np.float16)
    np.testing.assert_array_equal(found, np.where(np.isnan(expected), np.uint16(0x7E00), expected.view(np.uint16)))


@each_function
def test_bf16_all_inputs(function: Function) -> None:
    """A bfloat16 kernel widens, computes in binary32 and narrows; its inputs are these."""
    tally = Tally()
    compare_f32(UNIT, function, np.arange(1 << 16, dtype=np.uint32) << 16, tally)
    assert tally.checked == 1 << 16


@each_function
def test_f64_sample(function: Function) -> None:
    rng = np.random.default_rng(9)
    spread = rng.integers(0, 1 << 64, 1500, dtype=np.uint64).view(np.float64)
    widened = sample(200).view(np.float32).astype(np.float64)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1.0, 709.78, 709.79, -745.2, -708.5, np.pi, 1e22]
    values = np.concatenate([spread, rng.uniform(-30, 30, 1000), rng.uniform(-1.2, 1.2, 500), widened, special])
    found = np.asarray(UNIT.evaluate(function, values.view(np.uint64)), np.uint64)
    assert set(found[np.isnan(found.view(np.float64))].tolist()) <= {0x7FF8 << 48}
    errors = [
        exact.error_in_ulps(float(y), exact.value(function, float(x)), 53, -1074)
        for x, y in zip(values.tolist(), found.view(np.float64).tolist())
    ]
    assert max(errors) <= WORST_F64[function]


@each_function
def test_the_rounding_mode_register_changes_nothing(function: Function) -> None:
    bits = sample(1 << 12)
    expected = UNIT.evaluate(function, bits)
    for frm in (1, 2, 3, 4):
        np.testing.assert_array_equal(UNIT.evaluate(function, bits, frm), expected)


@each_function
def test_no_flag_is_raised(function: Function) -> None:
    """Signalling NaNs, overflow, underflow, log of zero and of a negative number: the C library raises flags for these."""
    values = np.array([0x7F80_0001, 0x4400_0000, 0xC400_0000, 0x8000_0000, 0xBF80_0000, 0x0000_0001, 0x3F80_0001, 0x7F80_0000], "<u4")
    registers = np.zeros((1, 32, 32), np.uint8)
    registers[0, 8] = values.view(np.uint8)
    simulator = Simulator(1, 64)
    program = Program().setvl(8, 32).op(f"npu.{function}", vd=9, vs2=8).op("csrrs", rd=10, csr=1, rs1=0)
    simulator.run(program.image(), 0x8000_0000, 0x8000_0000, vector_registers=registers)
    assert simulator.x[10] == 0


@each_function
def test_the_estimate_keeps_its_bound(function: Function) -> None:
    """Eight times better than promised, on inputs of every magnitude."""
    x = np.concatenate([sample(600, 1), f32(np.linspace(-7, 7, 801)), f32([k * np.pi / 4 for k in range(1, 400)])]).view(np.float32)
    x = x[np.isfinite(x)].astype(np.float64)
    y = estimate.ESTIMATES[function](x)
    compared = 0
    for given, found in zip(x.tolist(), y.tolist()):
        true = exact.value(function, given)
        if isinstance(true, Fraction) and 2.0**-199 < abs(found) < np.inf:
            assert abs(Fraction(found) - true) <= abs(true) * Fraction(estimate.RELATIVE_ERROR) / 8, given
            compared += 1
    assert compared > 300


@pytest.mark.parametrize(
    ("found", "true", "error"),
    [
        (1.0, Fraction(1), 0.0),
        (1.0, 1 + Fraction(1, 1 << 24), 0.5),
        (0.0, Fraction(1, 1 << 150), 0.5),  # half the least subnormal
        (-0.0, Fraction(1, 1 << 150), float("inf")),
        (float("inf"), Fraction(2) ** 128, 0.0),
        (float("inf"), Fraction(2) ** 127, float("inf")),
        (float("nan"), Fraction(1), float("inf")),
        (float("nan"), float("nan"), 0.0),
        (0.0, -0.0, float("inf")),
    ],
)
def test_error_in_ulps(found: float, true: Fraction | float, error: float) -> None:
    assert exact.error_in_ulps(found, true) == error


def test_rounding_of_exact_values_is_that_of_numpy() -> None:
    """binary64 values are exact fractions, and NumPy rounds them to binary32 by the host's rule."""
    rng = np.random.default_rng(3)
    values = np.concatenate(
        [rng.normal(size=300), rng.normal(size=300) * 2.0**-140, rng.uniform(3e38, 3.6e38, 300), 1 + 2.0**-24 * np.arange(9)]
    )
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32)
    assert [exact.rounded(Fraction(value)) for value in values.tolist()] == expected.tolist()


class Off(SpecialUnit):
    """A unit with one result wrong."""

    def __init__(self, place: int, value: int) -> None:
        super().__init__()
        self.place, self.value = place, value

    def evaluate(self, function: Function, values: npt.NDArray[np.uint32], frm: int = 0) -> npt.NDArray[np.uint32]:  # type: ignore[override]
        result = np.asarray(super().evaluate(function, values, frm), np.uint32)
        result[self.place] = self.value
        return result


@pytest.mark.parametrize("wrong", [0x3F80_0001, 0x3F7F_FFFF, 0xBF80_0000, CANONICAL_NAN, 0])
def test_one_wrong_result_is_reported(wrong: int) -> None:
    with pytest.raises(DivergenceError, match="exp is wrong"):
        compare_f32(Off(3, wrong), "exp", np.zeros(8, np.uint32), Tally())


def test_a_nan_with_a_payload_is_reported() -> None:
    with pytest.raises(DivergenceError, match="NaN"):
        compare_f32(Off(0, 0x7FC0_0001), "sin", np.array([0x7F80_0000], np.uint32), Tally())


def test_a_sweep_continues_where_it_stopped(tmp_path: Path) -> None:
    state = tmp_path / "log.json"
    assert sweep("log", state, seconds=0, everything=1 << 10).checked == 0
    assert sweep("log", state, everything=1 << 10).checked == 1 << 10
    assert sweep("log", state, everything=1 << 11).checked == 1 << 11
    assert sweep("log", state, seconds=0, everything=1 << 11).checked == 1 << 11
