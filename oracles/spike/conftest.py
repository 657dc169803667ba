"""Fixtures of the Spike oracle's tests: one child process a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oracles.spike import SpikeOracle, SpikeResult

LANES, SPAD_BYTES = 8, 32768


class ZeroFilled(SpikeOracle):
    """Scratchpad of zeros unless a test says otherwise: what a kernel wrote stands out."""

    def run(self, *values: Any, **options: Any) -> SpikeResult:
        """As ``SpikeOracle.run``."""
        return super().run(*values, **{"spad_fill": 0, **options})


@pytest.fixture(scope="session")
def spike() -> Iterator[SpikeOracle]:
    """The 8-lane machine with 32 KiB of scratchpad a lane."""
    with ZeroFilled(LANES, SPAD_BYTES) as oracle:
        yield oracle
