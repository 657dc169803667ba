"""Floating-point vector instructions: one rounding in every mode, canonical NaNs, conversions. References use exact rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import TrapError
from torchsim.iss import Simulator
from torchsim.iss._exact import RMM, RNE, RTZ, Format, round_fraction
from torchsim.iss._testing import Program

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
LANES = 2
SIMULATOR = Simulator(LANES, 4096)
FORMATS = {16: Format(5, 10), 32: Format(8, 23), 64: Format(11, 52)}
MODES = range(5)


def sources(rng: np.random.Generator, bits: int) -> npt.NDArray[np.uint64]:
    """Operand pairs of one format that reach overflow, underflow, ties and cancellation."""
    form = FORMATS[bits]
    exponent = rng.integers(0, 2, 256) * (form.bias - 2) + rng.integers(0, 12, 256)
    special = np.array([0, form.sign, form.infinity, form.infinity | form.sign, form.nan, 1, form.infinity - 1], np.uint64)
    fraction = np.where(
        rng.random(256) < 0.5, rng.integers(0, 4, 256) << (form.fraction_bits - 2), rng.integers(0, 1 << form.fraction_bits, 256)
    )
    values = (
        (exponent.astype(np.uint64) << np.uint64(form.fraction_bits))
        | fraction.astype(np.uint64)
        | (rng.integers(0, 2, 256).astype(np.uint64) * np.uint64(form.sign))
    )
    return np.where(rng.random(256) < 0.15, special[rng.integers(0, special.size, 256)], values)


def wanted(name: str, form: Format, a: int, b: int, c: int, mode: int) -> int | None:
    """Bits of the result for finite operands; None where a special value is involved."""
    if not all(form.is_finite(value) for value in (a, b, c)):
        return None
    x, y, z = form.value(a), form.value(b), form.value(c)
    exact = {"vfadd.vv": lambda: x + y, "vfmul.vv": lambda: x * y, "vfmacc.vv": lambda: z + x * y}.get(name)
    if name == "vfdiv.vv":
        if y == 0:
            return None
        result = x / y
    else:
        assert exact is not None
        result = exact()
    if result == 0:
        return None  # the sign of zero has rules of its own, tested below
    return round_fraction(form, result, mode)


@pytest.mark.parametrize("name", ["vfadd.vv", "vfmul.vv", "vfdiv.vv", "vfmacc.vv"])
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_arithmetic_rounds_once(name: str, bits: int) -> None:
    form, count = FORMATS[bits], 256 // bits * 4
    for mode in MODES:
        rng = np.random.default_rng(17 * mode + bits)
        registers = np.zeros((LANES, 32, 32), np.uint8)
        view = registers.reshape(LANES, -1).view(f"<u{bits // 8}")
        per = 256 // bits
        for lane in range(LANES):
            for first in (8, 16, 24):
                view[lane, first * per : first * per + count] = sources(rng, bits)[:count]
        before = view.copy()
        operands = {"vd": 24, "vs2": 16, "vs1": 8}
        Program().op("csrrwi", rd=0, csr=2, imm=mode).setvl(count, bits, 4).op(name, **operands).run(SIMULATOR, vector_registers=registers)
        after = SIMULATOR.vector_registers().reshape(LANES, -1).view(f"<u{bits // 8}")
        checked = 0
        for lane in range(LANES):
            for e in range(count):
                b, a, c = (int(before[lane, first * per + e]) for first in (8, 16, 24))
                found = int(after[lane, 24 * per + e])
                expected = wanted(name, form, a, b, c, mode)
                if expected is not None:
                    checked += 1
                    assert found == expected, (name, bits, mode, hex(a), hex(b), hex(c), hex(found), hex(expected))
                elif any(form.is_nan(value) for value in ((a, b, c) if name == "vfmacc.vv" else (a, b))):
                    assert found == form.nan
        assert checked > count // 2


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_special_values(bits: int) -> None:
    form = FORMATS[bits]
    one, inf, sign = form.bias << form.fraction_bits, form.infinity, form.sign
    cases = [  # instruction, vs2, vs1, result
        ("vfadd.vv", inf, inf | sign, form.nan),
        ("vfadd.vv", one, one | sign, 0),
        ("vfmul.vv", inf, 0, form.nan),
        ("vfdiv.vv", one, sign, inf | sign),
        ("vfdiv.vv", 0, 0, form.nan),
        ("vfmin.vv", 0, sign, sign),
        ("vfmax.vv", sign, 0, 0),
        ("vfmin.vv", form.nan, one, one),
        ("vfmax.vv", form.nan | sign, form.nan, form.nan),
        ("vfsgnjn.vv", one, one, one | sign),
        ("vfsgnj.vv", form.nan | 1, sign, form.nan | 1 | sign),
    ]
    for name, a, b, expected in cases:
        registers = np.zeros((LANES, 32, 32), np.uint8)
        view = registers.view(f"<u{bits // 8}")
        view[:, 8, 0], view[:, 9, 0] = a, b
        Program().setvl(1, bits).op(name, vd=10, vs2=8, vs1=9).run(SIMULATOR, vector_registers=registers)
        assert int(SIMULATOR.vector_registers().view(f"<u{bits // 8}")[1, 10, 0]) == expected, name


@settings(deadline=None, max_examples=60)
@given(mode=st.sampled_from(list(MODES)), seed=st.integers(0, 999))
def test_conversions_between_formats_and_integers(mode: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(0, 10.0 ** rng.integers(-3, 12), 5), rng.integers(-9, 9, 3) / 2]).astype(np.float64)
    registers = np.zeros((LANES, 32, 32), np.uint8)
    registers.reshape(LANES, -1).view("<f8")[:, 8 * 4 : 8 * 4 + 8] = values
    program = Program().op("csrrwi", rd=0, csr=2, imm=mode).setvl(8, 32)
    program.op("vfncvt.f.f.w", vd=12, vs2=8).op("vfncvt.x.f.w", vd=13, vs2=8).op("vfncvt.rtz.xu.f.w", vd=14, vs2=8).op(
        "vfncvt.rod.f.f.w", vd=15, vs2=8
    )
    program.setvl(8, 64, 2).op("vfcvt.x.f.v", vd=16, vs2=8).op("vfcvt.f.x.v", vd=18, vs2=16)
    program.setvl(8, 16).op("vfncvt.f.f.w", vd=20, vs2=12)
    program.run(SIMULATOR, vector_registers=registers)
    after = SIMULATOR.vector_registers().reshape(LANES, -1)
    single, half = FORMATS[32], FORMATS[16]

    def bits(register: int, kind: str) -> list[int]:
        width = int(kind[-1])
        return [int(item) for item in np.ascontiguousarray(after[1, 32 * register : 32 * register + 8 * width]).view(kind)]

    exact = [Fraction(float(value)) for value in values]
    to_single = [round_fraction(single, value, mode, negative_zero=value == 0 and np.signbit(float(value))) for value in exact]
    assert bits(12, "<u4") == to_single
    assert bits(13, "<i4") == [max(-(2**31), min(2**31 - 1, integer(value, mode))) for value in exact]
    assert bits(14, "<u4") == [max(0, min(2**32 - 1, integer(value, RTZ))) for value in exact]
    for value, found in zip(exact, bits(15, "<u4"), strict=True):
        toward_zero = round_fraction(single, value, RTZ)
        assert found == (toward_zero if single.value(toward_zero) == value else toward_zero | 1)
    assert bits(16, "<i8") == [integer(value, mode) for value in exact]
    assert bits(18, "<f8") == [float(integer(value, mode)) for value in exact]
    assert bits(20, "<u2") == [
        round_fraction(half, single.value(value), mode) if value & ~single.sign else (value and half.sign) for value in to_single
    ]


def integer(value: Fraction, mode: int) -> int:
    floor = value.numerator // value.denominator
    rest = value - floor
    if mode == RTZ:
        return floor if value >= 0 or rest == 0 else floor + 1
    if mode in (2, 3):
        return floor if mode == 2 or rest == 0 else floor + 1
    if rest == Fraction(1, 2):
        return (floor + 1 if value > 0 else floor) if mode == RMM else floor + (floor & 1)
    return floor + (rest > Fraction(1, 2))


def test_float_sums_add_in_element_order() -> None:
    rng = np.random.default_rng(5)
    values = (rng.standard_normal((LANES, 64)) * 10.0 ** rng.integers(-6, 6, (LANES, 64))).astype(np.float32)
    registers = np.zeros((LANES, 32, 32), np.uint8)
    registers[:, 8:16] = values.view(np.uint8).reshape(LANES, 8, 32)
    registers.view("<f4")[:, 1, 0] = 0.5
    Program().setvl(61, 32, 8).op("vfredusum.vs", vd=2, vs2=8, vs1=1).op("vfredosum.vs", vd=3, vs2=8, vs1=1).run(
        SIMULATOR, vector_registers=registers
    )
    after = SIMULATOR.vector_registers().view("<f4")
    for lane in range(LANES):
        total = np.float32(0.5)
        for value in values[lane, :61]:
            total = np.float32(total + value)
        assert after[lane, 2, 0] == after[lane, 3, 0] == total


def test_scalar_floats_are_boxed() -> None:
    program = Program().li(10, 0x3FC0_0000).op("fmv.w.x", fd=1, rs1=10).op("fadd.s", fd=2, fs1=1, fs2=1).op("fcvt.d.s", fd=3, fs1=2)
    program.op("fmadd.d", fd=4, fs1=3, fs2=3, fs3=3).op("fcvt.w.d", rd=11, fs1=4, rm=RNE).op("fadd.s", fd=5, fs1=3, fs2=1)
    program.op("feq.s", rd=12, fs1=2, fs2=2).op("fclass.s", rd=13, fs1=5)
    program.run(SIMULATOR)
    assert SIMULATOR.f[2] == 0xFFFF_FFFF_4040_0000 and SIMULATOR.f[4] == np.float64(12).view(np.uint64)
    assert SIMULATOR.x[11:14] == [12, 1, 1 << 9]  # an operand that is not boxed reads as NaN


@pytest.mark.parametrize("mode", [5, 6, 7])
def test_reserved_rounding_modes_trap(mode: int) -> None:
    with pytest.raises(TrapError, match="illegal_instruction"):
        Program().op("csrrwi", rd=0, csr=2, imm=mode).setvl(1, 32).op("vfadd.vv", vd=8, vs2=8, vs1=8).run(SIMULATOR)
