"""Operations, conversions and identities at the values where definitions differ."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import PlanError
from torchsim.plan.dtypes import DType
from torchsim.plan.identity import identity
from torchsim.plan.numpy_ops import apply, reduce
from torchsim.plan.ops import OPS, REDUCTIONS
from torchsim.plan.values import cast, constant, decode, encode, host_type, round_bf16

pytestmark = pytest.mark.unit
NAN, INF = math.nan, math.inf
LEAVES = ("load", "value", "constant", "index", "in_range")


def one(name: str, dtype: DType, *values: Any, result: DType | None = None) -> Any:
    args = [constant(value, dtype) for value in values]
    return apply(name, result or dtype, args, [dtype] * len(args)).item()


def test_every_operation_is_defined() -> None:
    """plan.ops and the NumPy table have the same names, and results have the stated types."""
    for name, spec in OPS.items():
        if name in LEAVES:
            continue
        integer = name.startswith(("bitwise", "shift")) or name == "truncdiv"
        dtype = DType.BOOL if name.startswith("logical") else DType.I32 if integer else DType.F32
        result = DType.BOOL if spec.result == "bool" else dtype
        types = [DType.BOOL if name == "where" and place == 0 else dtype for place in range(spec.arity)]
        value = apply(name, result, [constant(1, kind) for kind in types], types)
        assert value.dtype == host_type(result), name
    with pytest.raises(PlanError):
        apply("gamma", DType.F32, [], [])


@pytest.mark.req("C-2", "C-22")
@pytest.mark.parametrize(
    ("name", "dtype", "args", "expected"),
    [
        ("floordiv", DType.I32, (-7, 2), -4),
        ("floordiv", DType.I32, (7, 0), 0),
        ("floordiv", DType.F32, (-7.0, 2.0), -4.0),
        ("floordiv", DType.F32, (1.0, 0.0), INF),
        ("truncdiv", DType.I32, (-7, 2), -3),
        ("truncdiv", DType.I32, (-(1 << 31), -1), -(1 << 31)),
        ("truncdiv", DType.I32, (7, -2), -3),
        ("truncdiv", DType.I32, (3, 0), 0),
        ("mod", DType.I32, (-7, 3), -1),
        ("mod", DType.F32, (-7.0, 3.0), -1.0),
        ("remainder", DType.I32, (-7, 3), 2),
        ("remainder", DType.F32, (7.0, -3.0), -2.0),
        ("remainder", DType.I32, (5, 0), 0),
        ("sign", DType.F32, (NAN,), 0.0),
        ("sign", DType.I8, (-5,), -1),
        ("maximum", DType.F32, (NAN, 1.0), NAN),
        ("minimum", DType.F32, (1.0, NAN), NAN),
        ("relu", DType.F32, (NAN,), NAN),
        ("relu", DType.F32, (-3.0,), 0.0),
        ("round", DType.F32, (2.5,), 2.0),
        ("add", DType.I8, (127, 1), -128),
        ("mul", DType.U8, (20, 20), 144),
        ("shift_left", DType.I32, (1, 32), 0),
        ("shift_left", DType.I32, (1, -1), 0),
        ("shift_right", DType.I32, (-8, 40), -1),
        ("shift_right", DType.U8, (200, 9), 0),
        ("neg", DType.U8, (1,), 255),
        ("bitwise_not", DType.BOOL, (True,), False),
        ("add", DType.F16, (2048.0, 1.0), 2048.0),
        ("add", DType.BF16, (256.0, 1.0), 256.0),
        ("rsqrt", DType.F32, (0.0,), INF),
        ("log", DType.F32, (-1.0,), NAN),
        ("floor", DType.I32, (3,), 3),
    ],
)
def test_edge_values(name: str, dtype: DType, args: tuple[Any, ...], expected: Any) -> None:
    """Divisions by zero, signs, NaN, wrapping, shifts beyond the width, half rounding."""
    found = one(name, dtype, *args)
    assert found == expected or (math.isnan(expected) and math.isnan(found))


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (3e9, DType.F32, DType.I32, -(1 << 31)),
        (NAN, DType.F32, DType.I64, -(1 << 63)),
        (-1.9, DType.F32, DType.I32, -1),
        (300.0, DType.F32, DType.U8, 44),
        (-1.0, DType.F32, DType.U8, 255),
        (NAN, DType.F32, DType.BOOL, True),
        (0.0, DType.F32, DType.BOOL, False),
        (300, DType.I32, DType.I8, 44),
        (True, DType.BOOL, DType.F16, 1.0),
        (70000.0, DType.F32, DType.F16, INF),
        ((1 << 24) + 1, DType.I32, DType.F32, float(1 << 24)),
        (1.0 + 2.0**-9, DType.F32, DType.BF16, 1.0),
        (1.0 + 3 * 2.0**-8, DType.F32, DType.BF16, 1.0 + 2.0**-6),
        (9.3e18, DType.F64, DType.I64, -(1 << 63)),
    ],
)
def test_casts(value: Any, source: DType, target: DType, expected: Any) -> None:
    """Out of range, NaN, wrapping, ties to even."""
    assert cast(constant(value, source), source, target).item() == expected


def test_bitcast_keeps_bits() -> None:
    """bf16 to i16 and back."""
    bits = apply("bitcast", DType.I16, [constant(1.5, DType.BF16)], [DType.BF16])
    assert bits.item() == 0x3FC0
    assert apply("bitcast", DType.BF16, [bits], [DType.I16]).item() == 1.5


@settings(max_examples=200, deadline=None)
@given(*[st.floats(-1e6, 1e6, width=32)] * 3)
def test_fma_rounds_once(a: float, b: float, c: float) -> None:
    """Against exact rational arithmetic."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    found = one("fma", DType.F32, a, b, c)
    candidates = [float(np.nextafter(np.float32(found), np.float32(side))) for side in (-INF, INF)]
    assert all(abs(Fraction(found) - exact) <= abs(Fraction(other) - exact) for other in candidates)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 0xFFFF))
def test_bf16_round_trip(bits: int) -> None:
    """Every bf16 value survives; NaN becomes the canonical one."""
    stored = np.array([bits], np.uint16)
    value = decode(stored, DType.BF16)
    expected = np.array([0x7FC0], np.uint16) if np.isnan(value[0]) else stored
    assert encode(value, DType.BF16) == expected
    assert round_bf16(np.array([NAN], np.float32)).view(np.uint32) == 0x7FC00000


@pytest.mark.req("C-5")
@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_identities_change_nothing(kind: str, dtype: DType) -> None:
    """combine(x, identity) = x for extremes, NaN and infinities of the type; any and all take bool."""
    if (kind in ("any", "all")) != (dtype is DType.BOOL) and kind in ("any", "all"):
        return
    if dtype is DType.BOOL and kind in ("sum", "prod"):
        return
    if dtype.is_float:
        samples = [0.0, 1.5, -INF, INF, NAN]
    elif dtype is DType.BOOL:
        samples = [False, True]
    else:
        info = np.iinfo(dtype.numpy)
        samples = [int(info.min), 0, 1, int(info.max)]
    start = constant(identity(kind, dtype), dtype)
    for sample in samples:
        value = constant(sample, dtype)
        np.testing.assert_equal(reduce(kind, value, start, ()), value)
        np.testing.assert_equal(reduce(kind, start, value, ()), value)


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)])
def test_zeros_are_ordered(zeros: tuple[float, float]) -> None:
    """-0 < +0 in maximum, minimum and the reductions, in any order."""
    signs = [math.copysign(1.0, zero) for zero in zeros]
    value = np.array(zeros, np.float32)
    for name, kind, pick in (("maximum", "max", max), ("minimum", "min", min)):
        assert math.copysign(1.0, one(name, DType.F32, *zeros)) == pick(signs)
        start = constant(identity(kind, DType.F32), DType.F32).reshape(1)
        assert math.copysign(1.0, reduce(kind, start, value, (0,)).item()) == pick(signs)
