"""Time that ``import torchsim`` adds to ``import torch``: median over fresh processes, in one run, on one core."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

BEFORE = "import torch"
PROGRAM = "import time; {before}; start = time.perf_counter(); import torchsim; print(time.perf_counter() - start)"
LIMIT_SECONDS = 0.3


def seconds(before: str) -> float:
    """Seconds that ``import torchsim`` takes after ``before`` in a fresh process."""
    answer = subprocess.run([sys.executable, "-c", PROGRAM.format(before=before)], check=True, capture_output=True, text=True)
    return float(answer.stdout)


def main() -> int:
    """0 when the median is within the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    seconds(BEFORE)  # fills the file cache and writes the byte code
    times = sorted(seconds(BEFORE) for _ in range(options.repeat))
    median = statistics.median(times)
    if options.json:
        print(json.dumps({"import_torchsim_s": median, "min_s": times[0], "max_s": times[-1], "limit_s": LIMIT_SECONDS}))
    else:
        spread = f"{times[0] * 1e3:.0f} to {times[-1] * 1e3:.0f}"
        print(f"import torchsim adds {median * 1e3:.0f} ms to import torch ({spread}; limit {LIMIT_SECONDS * 1e3:.0f})")
    return int(median > LIMIT_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
