"""docs/iss-coverage.md lists every combination that RVV 1.0 allows, and the rule that says so agrees with both machines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from oracles.spike import coverage, coverage_page
from oracles.spike.both import Both
from oracles.spike.cases import SPAD_BYTES, legal

pytestmark = [pytest.mark.unit, pytest.mark.req("H-1", "S-1")]
PAGE = (Path(__file__).parents[2] / "docs" / "iss-coverage.md").read_text()


def test_the_page_is_complete() -> None:
    assert coverage_page.covered(PAGE) == coverage_page.wanted()
    assert " 0 differences;" in PAGE


def test_a_page_of_less_is_not_complete() -> None:
    found, scalar = coverage_page.covered(PAGE.replace("m8", "-", 1))
    assert found != coverage_page.wanted()[0]
    assert scalar == coverage_page.wanted()[1]


def test_combinations_drawn_again() -> None:
    """A sample: what the rule allows runs to its end, the rest traps, and the two machines agree."""
    rng = random.Random(7)
    everything = list(coverage.combinations())
    forbidden = [one for one in everything if not legal(*one)]
    chosen = rng.sample(everything, 400) + rng.sample(forbidden, 100)
    with Both(coverage.LANES, SPAD_BYTES) as both:
        result = coverage.run(both, chosen, 1, seed=1)
    assert not result.found, result.found[0]
    assert set(result.ran) == {one for one in chosen if legal(*one)}


@pytest.mark.slow
def test_the_whole_run() -> None:
    result = coverage.complete()
    assert not result.found
    assert not coverage.missing(result)
    assert not coverage.surplus(result)
    assert coverage_page.render(result) == PAGE
