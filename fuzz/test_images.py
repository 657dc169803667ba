"""A short campaign over bytes, and what a finding looks like. ``make sanitize`` runs a longer one under the sanitizers."""

from __future__ import annotations

import random

import pytest

from fuzz import images

pytestmark = [pytest.mark.unit, pytest.mark.req("S-3")]


def test_any_bytes_end_in_a_result_or_a_documented_error() -> None:
    outcomes = images.campaign(1, cases=3000)
    assert outcomes.total() == 3000
    reached = {outcome for _, outcome in outcomes}
    # not all stop at the first check
    assert {"returned", "accepted", "decoded", "refused: InternalError", "illegal_instruction", "misaligned_access"} <= reached
    assert any(outcome.startswith("loaded") for outcome in reached)


def test_a_case_is_a_function_of_seed_and_number() -> None:
    for number in range(40):
        assert images.run_case(7, number) == images.run_case(7, number)


def test_a_finding_names_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: random.Random) -> str:
        raise IndexError("off the end")

    monkeypatch.setitem(images.CASES, "object", broken)
    with pytest.raises(images.UnexpectedOutcomeError, match="object, seed 3, number 2: IndexError: off the end"):
        images.campaign(3, cases=10)


def test_time_ends_a_campaign() -> None:
    assert images.campaign(1, seconds=0).total() == 0
