"""The random kernels are reproducible, legal for the most part, and show the whole register state."""

from __future__ import annotations

import random

import numpy as np
import pytest

from oracles.spike import SpikeOracle
from oracles.spike.cases import RESULT, SPAD_BYTES, TESTABLE, Case, draw_case, draw_program
from oracles.spike.dma_cases import draw_dma
from oracles.spike.values import mixed, special_floats, special_integers

pytestmark = [pytest.mark.unit, pytest.mark.req("H-1")]
LANES = 8


def test_every_register_is_stored(spike: SpikeOracle) -> None:
    case = Case((("vadd.vv", {"vd": 8, "vs2": 16, "vs1": 24, "vm": 1}),), 32, 2, 16, 0, 0, 1)
    spad = case.spad(LANES)
    result = spike.run(case.program().image(), spad=spad)
    assert result.trap is None
    before, after = spad[:, :1024].view("<u4"), result.spad[:, RESULT : RESULT + 1024].view("<u4")
    expected = before.copy()
    expected[:, 64:80] = before[:, 128:144] + before[:, 192:208]
    assert np.array_equal(after, expected)
    assert (result.spad[:, RESULT + 1280 : RESULT + 1536] == spad[0, 1280:1536]).all()  # f registers, from lane 0


def test_cases_are_mostly_legal(spike: SpikeOracle) -> None:
    rng = random.Random(3)
    cases = [draw_case(rng, name) for name in rng.sample(TESTABLE, 150)]
    traps = [spike.run(case.program().image(), spad=case.spad(LANES)).trap for case in cases]
    assert sum(trap is not None for trap in traps) < 30
    assert {trap.cause for trap in traps if trap} <= {"illegal_instruction", "misaligned_access"}


def test_draws_are_reproducible() -> None:
    assert draw_case(random.Random(5), "vfmacc.vf") == draw_case(random.Random(5), "vfmacc.vf")
    program = draw_program(random.Random(5), TESTABLE, 6)
    assert program == draw_program(random.Random(5), TESTABLE, 6)
    assert np.array_equal(program.spad(LANES), program.spad(LANES))
    assert program.spad(LANES).shape == (LANES, SPAD_BYTES)
    assert draw_dma(random.Random(5), LANES) == draw_dma(random.Random(5), LANES)


def test_a_case_prints_what_reproduces_it() -> None:
    text = str(Case((("vsetvli", {"rd": 5, "rs1": 0, "vtype": 0xD0}),), 8, -2, 3, 1, 2, 77))
    assert text == "SEW 8, LMUL -2, AVL 3, frm 1, vxrm 2, seed 77\n  0d0072d7  vsetvli rd=5, rs1=0, vtype=208"


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_special_values_cover_the_classes_of_floats(bits: int) -> None:
    values = np.array(special_floats(bits), f"<u{bits // 8}").view(f"<f{bits // 8}")
    assert np.isnan(values).sum() >= 4
    assert np.isinf(values).sum() == 2
    assert (values == 0).sum() == 2
    tiny = np.finfo(values.dtype).tiny
    assert ((values != 0) & (np.abs(values) < tiny)).sum() >= 4
    assert np.finfo(values.dtype).max in values
    assert {0, 1, (1 << bits) - 1, 1 << bits - 1} <= set(special_integers(bits))


def test_mixed_values_have_the_asked_size() -> None:
    assert mixed(np.random.default_rng(0), 12, 64).shape == (96,)
