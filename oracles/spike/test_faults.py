"""Faults seeded into the simulator are noticed by the differential, and docs/iss-faults.md says what the campaign found."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from oracles.spike import fault_page
from oracles.spike.both import Both
from oracles.spike.cases import SPAD_BYTES, Case
from oracles.spike.fault_campaign import LANES, sample, try_fault
from oracles.spike.faults import enumerate_faults, equivalent
from oracles.spike.siblings import same_shape
from torchsim.errors import InvalidInputError
from torchsim.iss.fault import Fault, seeded
from torchsim.target.isa.table import BY_NAME, ROWS

pytestmark = [pytest.mark.unit, pytest.mark.req("H-1", "H-2")]
PAGE = (Path(__file__).parents[2] / "docs" / "iss-faults.md").read_text()
RERUN = int(os.environ.get("TORCHSIM_FAULTS", "60"))  # faults of the sample that the test runs again


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    """The two machines, four lanes."""
    with Both(LANES, SPAD_BYTES) as pair:
        yield pair


def test_the_sample_is_noticed_as_the_page_says(both: Both) -> None:
    count, seed, tries, share = fault_page.figures(PAGE)
    assert (count, seed, tries) == fault_page.expected_figures()
    assert share >= 98
    missed = fault_page.missed(PAGE)
    assert len(missed) == round(count * (1 - share / 100))
    faults = sample(seed, count)
    assert missed <= {str(one.fault) for one in faults}
    for one in faults[:RERUN]:
        if str(one.fault) not in missed:  # what was missed would run through all its cases again
            assert try_fault(both, one.fault, tries)[1] is not None, one.fault


def test_every_row_has_faults_and_every_fault_is_one_of_the_simulator(both: Both) -> None:
    everything = list(enumerate_faults())
    assert len(everything) > 5000
    assert len({str(one.fault) for one in everything}) == len(everything)
    left_out = {row.name for row in ROWS} - {one.fault.name for one in everything}
    assert not {name for name in left_out if BY_NAME[name].extension in ("M", "A", "F", "D", "Zfh") or name.startswith("v")} - {
        name for name in left_out if name.endswith("ff.v")
    }
    for one in everything:
        assert not one.fault.sibling or same_shape(BY_NAME[one.fault.name], BY_NAME[one.fault.sibling])
        with seeded(both.iss, one.fault):
            pass


def test_faults_called_equivalent_are_not_noticed(both: Both) -> None:
    same = [one.fault for one in enumerate_faults() if equivalent(one.fault)]
    for fault in random.Random(0).sample(same, 8):
        assert try_fault(both, fault, 20)[1] is None, fault


def test_a_fault_is_gone_after_its_block(both: Both) -> None:
    case = Case((("vadd.vv", {"vd": 8, "vs2": 16, "vs1": 24, "vm": 1}),), 32, 1, 5, 0, 0, 5)
    right = both.run_iss(case.program().image(), [], case.spad(LANES), "early")
    with seeded(both.iss, Fault("vadd.vv", "decode_as", "vsub.vv")):
        wrong = both.run_iss(case.program().image(), [], case.spad(LANES), "early")
        assert both.difference(case.program(), case.spad(LANES)) is not None
    again = both.run_iss(case.program().image(), [], case.spad(LANES), "early")
    assert np.array_equal(right.spad, again.spad)
    assert not np.array_equal(right.spad, wrong.spad)
    assert both.difference(case.program(), case.spad(LANES)) is None


@pytest.mark.parametrize(
    "fault", [Fault("vadd.vw", "tail"), Fault("vadd.vv", "tale"), Fault("vadd.vv", "tail", target="bits9"), Fault("add", "decode_as", "ad")]
)
def test_unknown_parts_of_a_fault_are_named(both: Both, fault: Fault) -> None:
    with pytest.raises(InvalidInputError, match="no such fault"), seeded(both.iss, fault):
        pass
