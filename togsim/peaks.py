"""What a machine could do at most, for rooflines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from togsim.stats import Result

_BYTES_PER_CYCLE = {"hbm2": 32, "ddr4": 16}
"""Of one channel and DRAM cycle: two pseudo-channels with 32 B in 2 cycles each; 64 B in 4 cycles (docs/togsim.md, BL and granule)."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """Array operations (a multiplication and an addition are two) and DRAM bytes per second, in 10^9, of the whole machine."""

    gops: float
    gbps: float

    @property
    def ridge(self) -> float:
        """Operations per byte from which the arrays are the limit."""
        return self.gops / self.gbps


def peaks(machine: Mapping[str, Any]) -> Peaks:
    """Peaks of a machine (``Result.machine``)."""
    arrays = machine["num_cores"] * machine["num_systolic_array_per_core"]
    gops = 2 * machine["vpu_num_lanes"] ** 2 * arrays * machine["core_freq_mhz"] / 1000
    cycle_bytes = _BYTES_PER_CYCLE.get(machine["dram_type"], machine["dram_req_size_byte"])  # simple: a request a cycle
    return Peaks(gops, cycle_bytes * machine["dram_channels"] * machine["dram_freq_mhz"] / 1000)


def array_operations(result: Result) -> int:
    """Operations that the arrays were busy with: rows streamed, each through all lanes^2 cells, padding included."""
    return 2 * result.machine["vpu_num_lanes"] ** 2 * sum(busy for core in result.cores for busy in core.array_busy)
