"""Random traces on random machines draw no objection from any oracle."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.trace_analysis.cases import HAND_MADE, random_case, seeded_case
from oracles.trace_analysis.trial import Case, objections

TRACES = int(os.environ.get("TOGSIM_RANDOM_TRACES", "120"))
"""Seeds to run; 5000 is the full budget."""


@pytest.mark.req("H-5", "H-6", "H-7", "G-3", "G-4", "G-5", "G-6", "G-7", "G-9", "G-11", "G-12")
@settings(max_examples=60)
@given(st.data())
def test_no_oracle_objects_to_a_drawn_trace(data: st.DataObject) -> None:
    assert objections(random_case(lambda n: data.draw(st.integers(0, n - 1)))) == {}


@pytest.mark.req("H-5", "H-6", "H-7", "G-3", "G-4", "G-5", "G-6", "G-7", "G-9", "G-11", "G-12")
@pytest.mark.timeout(0)
def test_no_oracle_objects_to_seeded_traces() -> None:
    for seed in range(TRACES):
        found = objections(seeded_case(seed))
        assert found == {}, f"seed {seed}: {found}"


@pytest.mark.parametrize("build", HAND_MADE)
def test_no_oracle_objects_to_traces_made_by_hand(build: type[Case]) -> None:
    assert objections(build()) == {}
