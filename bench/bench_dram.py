"""Speed of one DRAM channel alone: requests per second of CPU time, best of several runs. ``taskset -c 1`` pins it to a core.

python bench/bench_dram.py [--count N] [--repeat N] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from togsim import _core
from togsim.dram_traces import TRANSACTION_BYTES, channel_config, stream

WINDOW = 200
"""DRAM cycles between two looks at the channel."""

TARGETS = {"seq": 8.0, "rand": 3.0, "randmix": 2.5}
"""Million requests per second on either device: row hits, random reads, 70/30 random mix. What is aimed at: 14, 6, 4.5."""


def main() -> int:
    """0 when every figure reaches its target, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for kind, size in TRANSACTION_BYTES.items():
        for name, target in TARGETS.items():
            config = channel_config(kind, "RoBaRaCoCh")
            requests = stream(name, size, options.count)
            seconds, steps = min(_core.dram_channel_time(config, requests, WINDOW) for _ in range(options.repeat))
            rate = options.count / seconds / 1e6
            rows.append(
                {"dram": kind, "stream": name, "mreq_per_s": rate, "target": target, "steps_per_request": steps / options.count,
                 "verdict": "PASS" if rate >= target else "FAIL"}
            )  # fmt: skip
    if options.json:
        print(json.dumps(rows))
    else:
        line = "{dram} {stream:8} {mreq_per_s:6.2f} M requests/s (target {target}) {verdict}, {steps_per_request:.2f} steps/request"
        for row in rows:
            print(line.format(**row))
    return int(any(row["verdict"] == "FAIL" for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
