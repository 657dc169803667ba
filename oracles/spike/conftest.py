"""Fixtures of the Spike oracle's tests: one child process a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oracles.spike import SpikeOracle

LANES, SPAD_BYTES = 8, 32768


@pytest.fixture(scope="session")
def spike() -> Iterator[SpikeOracle]:
    """The 8-lane machine with 32 KiB of scratchpad a lane."""
    with SpikeOracle(LANES, SPAD_BYTES) as oracle:
        yield oracle
