"""Speed of the timing simulator in CPU time on one pinned core, best of several: a 1024^3 matrix product with everything on
(interconnect, DRAM, statistics) on several machines, the portable build beside the one for this processor, and what the gated scan
gains over the forced one."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from togsim import Simulator, native, synthetic_producer
from togsim.simulator import Mode
from togsim.synthetic import gemm_trace

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
CYCLES = 0.65e6
"""Simulated cycles per CPU second that the crossbar machine must reach."""
REQUESTS = 8e6
"""DRAM requests per CPU second that it must reach."""
DDR4_CYCLES = 20 * 383e3
"""20 times what PyTorchSim's TOGSim reaches on ``8x8_ddr4``."""
GATE = 5.0
"""Least gain of the gated scan."""
PORTABLE = 2.0
"""Most that the portable build may take of the other's time."""


@dataclass(frozen=True)
class Figure:
    """Best of the runs of one case."""

    name: str
    cycles: int
    requests: int
    seconds: float

    @property
    def cycles_per_second(self) -> float:
        return self.cycles / self.seconds

    @property
    def requests_per_second(self) -> float:
        return self.requests / self.seconds


def machine(name: str, **changes: Any) -> dict[str, Any]:
    """A machine file, changed."""
    return {**yaml.safe_load((CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")), **changes}


def measure(name: str, config: dict[str, Any], size: int, tile: int, repeats: int, mode: Mode = "fast") -> Figure:
    """Simulate one matrix product ``repeats`` times."""
    records, table, bases = gemm_trace(size, tile, config["vpu_num_lanes"])
    producer = synthetic_producer(records)
    simulator = Simulator(config)
    best: Figure | None = None
    for _ in range(repeats):
        start = time.process_time()
        result = simulator.run_producer(producer, bases, table, mode=mode)
        seconds = time.process_time() - start
        requests = sum(core.read_requests + core.write_requests for core in result.cores)
        if best is None or seconds < best.seconds:
            best = Figure(name, result.cycles, requests, seconds)
    assert best is not None
    return best


def cases(size: int, repeats: int) -> dict[str, Callable[[], Figure]]:
    """What is measured, by the name under which ``--only`` finds it."""

    def on(name: str, config: dict[str, Any], tile: int, times: int) -> Callable[[], Figure]:
        return lambda: measure(name, config, size, tile, times)

    wide = size // 2
    # One work-item whose 44 x 44 preloads are all ready and wait for one weight slot: a forced scan passes over them in every cycle.
    crowded = machine("8x8", vpu_spad_size_kb_per_lane=1024, sa_weight_buffer_depth=1, num_systolic_array_per_core=1)
    return {
        "crossbar": on("128x128 hbm2x16, crossbar", machine("128x128", icnt_type="crossbar"), wide, repeats),
        "simple": on("128x128 hbm2x16, simple", machine("128x128"), wide, repeats),
        "two cores": on("2 x 128x128, crossbar", machine("128x128", icnt_type="crossbar", num_cores=2), wide, max(1, repeats // 2)),
        "mesh": on("128x128 hbm2x16, mesh", machine("128x128", icnt_type="mesh"), wide, 1),
        "8x8_ddr4": on("8x8_ddr4, simple", machine("8x8_ddr4"), 64, max(1, repeats // 2)),
        "gated": lambda: measure("gated scan, 1936 ready", crowded, 352, 352, 2),
        "forced": lambda: measure("forced scan, 1936 ready", crowded, 352, 352, 1, "forced_scan"),
    }


def portable(repeats: int, size: int) -> Figure:
    """The crossbar case in a process that runs the portable build."""
    command = [sys.executable, __file__, "--only", "crossbar", "--json", "--repeats", str(repeats), "--size", str(size)]
    environment = {**os.environ, native.VARIABLE: native.PORTABLE}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    row = json.loads(done.stdout)["figures"][0]
    return Figure("128x128 hbm2x16, crossbar, portable build", row["cycles"], row["requests"], row["seconds"])


def verdicts(figures: dict[str, Figure]) -> list[tuple[str, float, str, bool]]:
    """(what, found, target, reached) for every target whose figures were measured."""
    found: list[tuple[str, float, str, bool]] = []

    def judge(what: str, value: float, target: float, *, least: bool = True) -> None:
        reached = value >= target if least else value <= target
        found.append((what, value, f"{'at least' if least else 'at most'} {target:g}", reached))

    if crossbar := figures.get("crossbar"):
        judge("crossbar, M cycles/s", crossbar.cycles_per_second / 1e6, CYCLES / 1e6)
        judge("crossbar, M requests/s", crossbar.requests_per_second / 1e6, REQUESTS / 1e6)
        if slow := figures.get("portable"):
            judge("time of the portable build over the other's", slow.seconds / crossbar.seconds, PORTABLE, least=False)
    if ddr4 := figures.get("8x8_ddr4"):
        judge("8x8_ddr4, M cycles/s", ddr4.cycles_per_second / 1e6, DDR4_CYCLES / 1e6)
    if (gated := figures.get("gated")) and (forced := figures.get("forced")):
        judge("forced scan's time over the gated scan's", forced.seconds / gated.seconds, GATE)
    return found


def main() -> int:
    """0 when every target that was measured is reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", type=int, default=1024, help="side of the matrices; a multiple of 256")
    parser.add_argument("--only", action="append", help="a case by name: " + ", ".join([*cases(1024, 1), "portable"]))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    wanted = {**cases(options.size, options.repeats), "portable": lambda: portable(options.repeats, options.size)}
    figures = {name: run() for name, run in wanted.items() if options.only is None or name in options.only}
    judged = verdicts(figures)
    if options.json:
        print(json.dumps({"figures": [asdict(f) for f in figures.values()], "targets": judged}, indent=1))
    else:
        for f in figures.values():
            print(
                f"{f.name:<42} {f.cycles:>10,} cycles {f.requests:>9,} requests {f.seconds:8.3f} CPU s "
                f"{f.cycles_per_second / 1e6:7.3f} M cycles/s {f.requests_per_second / 1e6:7.3f} M requests/s"
            )
        for what, value, target, reached in judged:
            print(f"{'PASS' if reached else 'FAIL'}  {what}: {value:.2f} ({target})")
    return 0 if all(reached for *_, reached in judged) else 1


if __name__ == "__main__":
    raise SystemExit(main())
