"""What a session reports about each kernel call, and its forms: table, JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KernelRun:
    """One kernel call.

    Attributes:
        name: kernel name.
        origins: fx nodes whose work the kernel does.
        tile: tile extent per axis, ``{"p0": 64, ..}``.
        spad_bytes_per_lane: scratchpad bytes per lane of one work-item.
        budget_bytes_per_lane: what a work-item may use.
        work_items: number of work-items dispatched.
        dma_bytes: bytes moved between DRAM and the cores (0 without timing).
        cycles: simulated core cycles (0 without timing).
        sa_utilization: busy share of the systolic arrays, 0..1.
        stalls: stall cycles by cause.
        max_ulp: largest error against the golden in units in the last place; None without verify.
    """

    name: str
    origins: tuple[str, ...]
    tile: dict[str, int]
    spad_bytes_per_lane: int
    budget_bytes_per_lane: int
    work_items: int
    dma_bytes: int = 0
    cycles: int = 0
    sa_utilization: float = 0.0
    stalls: dict[str, int] | None = None
    max_ulp: float | None = None


@dataclass(frozen=True, slots=True)
class Fallback:
    """An op that ran on the host: its name, the fx node, and how often."""

    op: str
    node: str
    count: int


def to_json(path: str | Path, machine: str, runs: Sequence[KernelRun], fallbacks: Sequence[Fallback]) -> None:
    """Write a report, with the resolved machine beside the figures."""
    data = {
        "machine": json.loads(machine),
        "cycles": sum(run.cycles for run in runs),
        "kernels": [asdict(run) for run in runs],
        "fallbacks": [asdict(item) for item in fallbacks],
    }
    Path(path).write_text(json.dumps(data, indent=1) + "\n")


def table(runs: Sequence[KernelRun]) -> str:
    """Plain text table of kernel calls, one line a kernel; calls of the same kernel are added up."""
    header = ("kernel", "calls", "origins", "tile", "spad B/lane", "DMA bytes", "cycles", "SA util", "max ulp")
    merged: dict[str, list[KernelRun]] = {}
    for run in runs:
        merged.setdefault(run.name, []).append(run)
    rows: list[tuple[str, ...]] = []
    for name, calls in merged.items():
        first = calls[0]
        cycles = sum(call.cycles for call in calls)
        busy = sum(call.sa_utilization * call.cycles for call in calls)
        ulps = [call.max_ulp for call in calls if call.max_ulp is not None]
        origins = ", ".join(first.origins)
        rows.append(
            (
                name,
                str(len(calls)),
                origins if len(origins) <= 40 else origins[:37] + "...",
                " ".join(f"{axis}={extent}" for axis, extent in first.tile.items()),
                f"{first.spad_bytes_per_lane}/{first.budget_bytes_per_lane}",
                f"{sum(call.dma_bytes for call in calls):,}",
                f"{cycles:,}",
                f"{busy / cycles:.1%}" if cycles else "-",
                f"{max(ulps):.3g}" if ulps else "-",
            )
        )
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [header, *rows])
