"""Rounding noise: its size, and what it does to well and to ill-conditioned kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.config import load_machine
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.interpreter import run
from torchsim.plan.rounding import RoundingNoise
from torchsim.plan.test_build import random_case, softmax
from torchsim.plan.values import to_float

pytestmark = pytest.mark.unit
_DIGITS = {DType.F64: 52, DType.F32: 23, DType.F16: 10, DType.BF16: 7}


@given(st.sampled_from(list(_DIGITS)), st.integers(0, 1000))
@settings(max_examples=40)
def test_some_results_move_none_by_more_than_two_units(dtype: DType, seed: int) -> None:
    value = to_float(np.random.default_rng(seed).uniform(1, 2, 200), dtype)
    off = np.abs(RoundingNoise(seed)(value, dtype).astype(np.longdouble) - value.astype(np.longdouble))
    unit = np.longdouble(2.0) ** -_DIGITS[dtype]
    assert float(off.max() / unit) in (1.0, 2.0)
    assert 0.2 < float((off > 0).mean()) < 0.8


def test_values_that_cannot_be_off_stay() -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(RoundingNoise(1)(special, DType.F32), special)
    whole = np.arange(9, dtype=np.int32)
    assert RoundingNoise(1)(whole, DType.I32) is whole


def test_noise_moves_a_softmax_by_its_roundings_and_is_repeatable() -> None:
    case = random_case(softmax(20, 300))
    plan = build(case.group, load_machine("8x8"))
    runs = [[array.copy() for array in case.arrays] for _ in range(3)]
    run(plan, runs[0])
    run(plan, runs[1], noise=RoundingNoise(5))
    run(plan, runs[2], noise=RoundingNoise(5))
    plain, noisy, again = (arrays[-1] for arrays in runs)
    np.testing.assert_array_equal(noisy, again)
    assert not np.array_equal(noisy, plain)
    np.testing.assert_allclose(noisy, plain, rtol=3e-5)
