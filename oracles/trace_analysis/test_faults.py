"""The published fault score is that of these sources: complete, above the aim, and a sample of it is run again."""

from __future__ import annotations

import os
import random
import re

import pytest

from oracles.trace_analysis.campaign import BEGIN, END, PAGE, try_fault
from oracles.trace_analysis.faults import enumerate_faults
from oracles.trace_analysis.memory_probes import probes

SAMPLE = int(os.environ.get("TOGSIM_FAULTS", "16"))
"""Faults to run; at least 300 is all of them."""
SEED = int(os.environ.get("TOGSIM_FAULTS_SEED", "0"))


def published() -> dict[str, str]:
    """Name -> row of the page."""
    text = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    return {match[1]: line for line in text.splitlines() if (match := re.match(r"\| `([^`]+)` \|", line))}


@pytest.mark.req("H-12")
def test_page_lists_every_fault_and_reaches_the_aim() -> None:
    rows = published()
    assert list(rows) == [fault.name for fault in enumerate_faults()]
    missed = [name for name, row in rows.items() if "**missed**" in row]
    assert len(rows) >= 100
    assert len(missed) <= 0.05 * len(rows)
    prose = PAGE.read_text().split(BEGIN)[0].split("## Misses")[1]
    assert all(f"`{name}`" in prose for name in missed), "every miss is explained"


@pytest.mark.req("G-14", "H-12")
@pytest.mark.parametrize("part", ["hbm2", "ddr4", "network"])
def test_probes_of_the_memory_do_not_object_to_the_simulator_as_it_is(part: str) -> None:
    assert {probe.name: found for probe in probes(part) if (found := probe.objection())} == {}


@pytest.mark.req("H-12", "H-5", "H-6")
@pytest.mark.timeout(0)
def test_sampled_faults_are_noticed_as_published() -> None:
    rows = published()
    faults = [fault for fault in enumerate_faults() if "**missed**" not in rows[fault.name] or SAMPLE >= len(rows)]
    for fault in random.Random(SEED).sample(faults, min(SAMPLE, len(faults))):
        assert try_fault(fault).row == rows[fault.name]
