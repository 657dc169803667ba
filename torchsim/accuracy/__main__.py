"""``make accuracy``: run the covered rows, print them beside the hardware and the other simulators, write the page's table and picture."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from torchsim.accuracy import picture, reference, summary, workloads
from torchsim.accuracy.measure import Measurement, measure
from torchsim.config import load_machine
from torchsim.errors import ConfigError, InvalidInputError

PICTURE = "pictures/accuracy.svg"
PAGE = "accuracy.md"
_TABLE = re.compile(r"(<!-- generated: accuracy-table -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every chosen row ran; a wrong argument gives 2."""
    parser = argparse.ArgumentParser(prog="python -m torchsim.accuracy", description=__doc__)
    parser.add_argument("--rows", default="*", help="comma separated workloads, * allowed (default: all that the compiler covers)")
    parser.add_argument("--machine", default="tpuv3", help="name in configs/ or path of a YAML file")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--docs", type=Path, help="folder whose accuracy.md and picture are brought up to date (all rows only)")
    options = parser.parse_args(arguments)
    try:
        rows = reference.select(options.rows)
        machine = load_machine(options.machine)
    except (InvalidInputError, ConfigError) as error:
        print(error, file=sys.stderr)
        return 2
    measurements: list[Measurement] = []
    for row in rows:
        if not workloads.covered(row.workload):
            continue
        one = measure(row, machine)
        measurements.append(one)
        print(f"{row.workload}: {one.cycles:,} cycles, {one.cpu_seconds:.1f} CPU s", file=sys.stderr, flush=True)
    left_out = [row.workload for row in rows if not workloads.covered(row.workload)]
    print(summary.text(measurements))
    if left_out:
        print(f"not covered by the compiler, not run: {', '.join(left_out)}")
    print(f"{sum(one.cpu_seconds for one in measurements):.1f} CPU s")
    if options.json is not None:
        data = summary.to_dict(measurements, json.loads(machine.model_dump_json()))
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if options.docs is not None:
        if options.rows != "*":
            print("the page shows all rows: --docs needs --rows '*'", file=sys.stderr)
            return 2
        write_page(options.docs, measurements, machine.name)
    return 0


def write_page(docs: Path, measurements: Sequence[Measurement], machine: str) -> None:
    """Bring the table of accuracy.md and its picture up to date."""
    page = docs / PAGE
    table = summary.markdown(measurements)
    page.write_text(_TABLE.sub(lambda match: match[1] + table + match[2], page.read_text(encoding="utf-8")), encoding="utf-8")
    picture.draw(docs / PICTURE, measurements, machine)


if __name__ == "__main__":
    raise SystemExit(main())
