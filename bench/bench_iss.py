"""Functional simulator against stock Spike with the lane extension: the same image on both in turn, CPU time, on one core.

Prints lane-instructions per second (vector instructions times lanes), the ratio, its spread over the rounds, the time of a 1024^3
matrix product and the cost of a call.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import time
from dataclasses import dataclass

import numpy as np
from iss_loops import LOOPS, SPAD_BYTES, Loop

from oracles.spike import SpikeOracle
from oracles.spike.protocol import IMAGE_BASE
from torchsim.iss import Simulator

TARGETS = {8: 30.0, 32: 60.0, 128: 100.0}
SPIKE_SECONDS = 0.15
MATMUL_LIMIT_S, CALL_LIMIT_S = 3.0, 50e-6


@dataclass(frozen=True)
class Figure:
    """One loop at one number of lanes; rates in lane-instructions per second of CPU time, one of each per round."""

    loop: str
    lanes: int
    iss: list[float]
    spike: list[float]

    @property
    def ratios(self) -> list[float]:
        """Ratio of each round."""
        return [ours / theirs for ours, theirs in zip(self.iss, self.spike)]

    @property
    def ratio(self) -> float:
        """Best rate over best rate: what else runs on the machine only ever slows down."""
        return max(self.iss) / max(self.spike)


def child_clock(pid: int) -> int:
    """The clock of another process's CPU time (clock_getcpuclockid(3))."""
    clock = ctypes.c_int()
    error = ctypes.CDLL(None, use_errno=True).clock_getcpuclockid(pid, ctypes.byref(clock))
    if error:
        raise OSError(error, os.strerror(error))
    return clock.value


class Pair:
    """The two simulators at one number of lanes."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.iss = Simulator(lanes, SPAD_BYTES)
        self.oracle = SpikeOracle(lanes, SPAD_BYTES)
        self.run_spike(LOOPS[0], 1)  # starts the child

    def run_iss(self, loop: Loop, turns: int) -> float:
        """CPU seconds."""
        start = time.process_time()
        self.iss.run(loop.image, IMAGE_BASE, IMAGE_BASE, argument_block=turns)
        return time.process_time() - start

    def run_spike(self, loop: Loop, turns: int) -> float:
        """CPU seconds of the child."""
        pid = self.oracle.server.pid
        clock = None if pid is None else child_clock(pid)
        start = 0.0 if clock is None else time.clock_gettime(clock)
        self.spad = self.oracle.run(loop.image, argument_block=turns).spad
        return 0.0 if clock is None else time.clock_gettime(clock) - start

    def measure(self, loop: Loop, rounds: int) -> Figure:
        """Runs of both in turn. The time that a run of one turn takes (start, results) is taken off on both sides."""
        spike_turns = max(4, int(SPIKE_SECONDS * 8e6 / (self.lanes * loop.vector_instructions * 3)))
        iss_turns = spike_turns * 20
        self.run_spike(loop, 50)
        self.run_iss(loop, 50)
        if not np.array_equal(self.iss.scratchpad(), self.spad):
            raise AssertionError(f"{loop.name} loop, {self.lanes} lanes: simulator and Spike leave different scratchpads")
        iss_start = min(self.run_iss(loop, 1) for _ in range(3))
        spike_start = min(self.run_spike(loop, 1) for _ in range(3))
        figure = Figure(loop.name, self.lanes, [], [])
        for _ in range(rounds):
            for run, start, turns, rates in (
                (self.run_spike, spike_start, spike_turns, figure.spike),
                (self.run_iss, iss_start, iss_turns, figure.iss),
            ):
                rates.append(loop.vector_instructions * self.lanes * (turns - 1) / (run(loop, turns) - start))
        return figure


def call_seconds(rounds: int = 2000) -> list[float]:
    """CPU seconds of calls that run a kernel of two instructions at 128 lanes, sorted."""
    simulator = Simulator(128, SPAD_BYTES)
    times: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        simulator.run(b"\x13\0\0\0\x82\x80", IMAGE_BASE, IMAGE_BASE)  # nop; ret
        times.append(time.process_time() - start)
    return sorted(times)


def matmul_seconds(rounds: int) -> list[float]:
    """CPU seconds in the functional simulator of a compiled 1024 x 1024 x 1024 f32 product at 128 lanes, sorted."""
    import torch

    import torchsim

    times: list[float] = []
    original = Simulator.run

    def timed(self: Simulator, *arguments: object, **options: object) -> object:
        start = time.process_time()
        result = original(self, *arguments, **options)  # type: ignore[arg-type]
        times.append(time.process_time() - start)
        return result

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    compiled = torch.compile(product, backend="torchsim", dynamic=False)
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    with torchsim.machine("128x128"):
        compiled(a, b)  # compiles, and finds the cycles of the blocks
        Simulator.run = timed  # type: ignore[method-assign,assignment]
        try:
            for _ in range(rounds):
                compiled(a, b)
        finally:
            Simulator.run = original  # type: ignore[method-assign]
    return sorted(times)


def main() -> int:
    """0 when every target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", default="8,32,128")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loops-only", action="store_true", help="neither the matrix product nor the call")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the child inherits it
    figures = [figure for lanes in options.lanes.split(",") for figure in measure_loops(int(lanes), options.rounds)]
    missed = [figure for figure in figures if figure.ratio < TARGETS.get(figure.lanes, 0)]
    report: dict[str, object] = {
        "loops": [
            {"loop": f.loop, "lanes": f.lanes, "iss_per_s": max(f.iss), "spike_per_s": max(f.spike), "ratio": f.ratio, "ratios": f.ratios}
            for f in figures
        ]
    }
    if not options.json:
        print("loop    lanes  simulator     Spike          ratio  (rounds, median)  target")
        for f in figures:
            spread = f"{min(f.ratios):.0f} to {max(f.ratios):.0f}, {statistics.median(f.ratios):.0f}"
            print(
                f"{f.loop:7} {f.lanes:5}  {max(f.iss) / 1e6:6.0f} M/s  {max(f.spike) / 1e6:6.2f} M/s  {f.ratio:8.1f}x  ({spread})"
                f"  {TARGETS.get(f.lanes, 0):.0f}x{'' if f not in missed else '  MISSED'}"
            )
    late = False
    if not options.loops_only:
        calls, products = call_seconds(), matmul_seconds(options.rounds)
        call, product = statistics.median(calls), statistics.median(products)
        late = call > CALL_LIMIT_S or product > MATMUL_LIMIT_S
        report |= {"call_s": call, "matmul_s": product}
        if not options.json:
            print(f"call of a small kernel, 128 lanes: {call * 1e6:.0f} us (best {calls[0] * 1e6:.0f}; limit {CALL_LIMIT_S * 1e6:.0f})")
            print(f"1024^3 f32 product, 128 lanes: {product:.3f} s ({products[0]:.3f} to {products[-1]:.3f}; limit {MATMUL_LIMIT_S:.0f})")
    if options.json:
        print(json.dumps(report))
    return int(bool(missed) or late)


def measure_loops(lanes: int, rounds: int) -> list[Figure]:
    """All loops at one number of lanes."""
    pair = Pair(lanes)
    try:
        return [pair.measure(loop, rounds) for loop in LOOPS]
    finally:
        pair.oracle.close()


if __name__ == "__main__":
    raise SystemExit(main())
