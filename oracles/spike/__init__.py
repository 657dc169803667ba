"""Stock Spike as an oracle: the same kernel bytes, the same final memory, bit for bit."""

from __future__ import annotations

from .build import SpikeUnavailableError, available, build
from .compare import Difference, compare
from .oracle import SpikeOracle, SpikeResult
from .protocol import SpikeTrap, SpikeWindow
from .server import SpikeCrashError, SpikeServer, SpikeTimeoutError

__all__ = [
    "Difference",
    "SpikeCrashError",
    "SpikeOracle",
    "SpikeResult",
    "SpikeServer",
    "SpikeTimeoutError",
    "SpikeTrap",
    "SpikeUnavailableError",
    "SpikeWindow",
    "available",
    "build",
    "compare",
]
