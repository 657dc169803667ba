"""Check special functions for all 2^32 binary32 inputs: ``python -m oracles.special.sweep --state FOLDER [--function exp ...]``.

Progress is kept in FOLDER/<function>.json after every 2^24 inputs, so a run can be stopped and continued. A finished
function is only reported.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from oracles.special.compare import Tally, compare_f32
from oracles.special.functions import FUNCTIONS, Function
from oracles.special.unit import SpecialUnit

ALL = 1 << 32
_STEP = 1 << 24


def sweep(function: Function, state: Path, *, seconds: float = float("inf"), everything: int = ALL) -> Tally:
    """Continue the check of one function at the place that ``state`` tells, for ``seconds`` at most.

    Args:
        function: what to check.
        state: JSON file of the progress, created when it does not exist.
        seconds: no new step of 2^24 inputs begins after that.
        everything: number of inputs that make up the check, counted from +0 upwards as bits.

    Raises:
        DivergenceError: a result out of bounds; the progress up to its step is kept.
    """
    tally = Tally(**json.loads(state.read_text(encoding="utf-8"))) if state.exists() else Tally()
    unit = SpecialUnit()
    end = time.monotonic() + seconds
    while tally.checked < everything and time.monotonic() < end:
        first = tally.checked
        last = min(everything, first + _STEP)
        compare_f32(unit, function, np.arange(first, last, dtype=np.uint64).astype(np.uint32), tally)
        state.parent.mkdir(parents=True, exist_ok=True)
        fresh = state.with_suffix(".new")
        fresh.write_text(json.dumps(tally.fields()), encoding="utf-8")
        fresh.replace(state)
    return tally


def line(function: Function, tally: Tally, seconds: float) -> str:
    """One function's result."""
    return (
        f"{function:5} {tally.checked:>10} inputs, {tally.misrounded_count} not correctly rounded, worst {tally.worst:.10f} ulp, "
        f"{tally.decided} decided with 200 bits, {seconds:.0f} CPU s now"
    )


def main() -> int:
    """0 when every function named was checked completely."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="folder of the progress files")
    parser.add_argument("--function", choices=FUNCTIONS, action="append", help="all of them by default")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="budget of this run")
    options = parser.parse_args()
    functions: list[Function] = options.function or list(FUNCTIONS)
    end = time.monotonic() + options.seconds
    complete = True
    for function in functions:
        began = time.process_time()
        tally = sweep(function, options.state / f"{function}.json", seconds=end - time.monotonic())
        print(line(function, tally, time.process_time() - began), flush=True)
        for given, found in tally.misrounded:
            print(f"      {function}({given:#010x}) gives {found:#010x}")
        complete &= tally.checked == ALL
    return 0 if complete else 1


if __name__ == "__main__":
    raise SystemExit(main())
