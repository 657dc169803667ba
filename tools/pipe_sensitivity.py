"""How the demo's cycles move when one figure of the pipeline is halved or doubled: ``python tools/pipe_sensitivity.py [--write]``.

The network is compiled once for each machine. Every variant measures the blocks of the same machine code again under the changed figure and
simulates the same calls, so what moves is the model's answer and not the compiler's choice. ``--write`` puts the table into
docs/timing-model.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from torchsim.config import Machine, load_machine  # noqa: E402  # the script runs from anywhere
from torchsim.demo.digits import timed_inference  # noqa: E402
from torchsim.runtime.cycles import measure  # noqa: E402
from torchsim.runtime.launch import Call  # noqa: E402
from torchsim.runtime.timing import run_mode  # noqa: E402

PAGE = ROOT / "docs" / "timing-model.md"
MACHINES = ("8x8", "32x32", "128x128")
_PART = re.compile(r"(<!-- measured: pipe_sensitivity -->\n).*?(<!-- end -->)", re.DOTALL)


def variants(machine: Machine) -> list[tuple[str, int, Machine]]:
    """(key, value, machine) with one ``pipe_*`` figure halved (rounded down, where it stays legal) or doubled."""
    result: list[tuple[str, int, Machine]] = []
    for key, field in Machine.model_fields.items():
        if not key.startswith("pipe_"):
            continue
        value: int = getattr(machine, key)
        for changed in sorted({value // 2, value * 2}):
            least = 0 if any(getattr(bound, "ge", None) == 0 for bound in field.metadata) else 1
            if changed >= least and changed != value:
                result.append((key, changed, machine.model_copy(update={key: changed})))
    return result


def cycles(calls: Sequence[Call], machine: Machine) -> int:
    """Cycles of the calls' machine code on ``machine``."""
    total = 0
    for call in calls:
        table = measure(call.kernel.plan, call.kernel.image, machine)
        kernel = dataclasses.replace(call.kernel, machine=machine, cycle_table=table)
        total += run_mode(kernel, call.bases, "fast").cycles
    return total


def table(names: Sequence[str]) -> str:
    """The Markdown table."""
    columns: dict[str, dict[tuple[str, int], str]] = {}
    base_row: list[str] = []
    rows: dict[tuple[str, int], int] = {}
    for name in names:
        machine, calls = load_machine(name), timed_inference(name).calls
        base = cycles(calls, machine)
        base_row.append(str(base))
        columns[name] = {}
        for key, value, changed in variants(machine):
            rows[key, value] = getattr(machine, key)
            columns[name][key, value] = f"{100 * (cycles(calls, changed) / base - 1):+.1f} %"
    lines = ["| key | figure | " + " | ".join(names) + " |", "| --- | --- |" + " --- |" * len(names)]
    lines.append("| (as configured, cycles) | | " + " | ".join(base_row) + " |")
    for (key, value), base_value in rows.items():
        cells = [columns[name].get((key, value), "") for name in names]
        lines.append(f"| `{key}` | {base_value} to {value} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", action="append", help=f"default: {', '.join(MACHINES)}")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = table(options.machine or MACHINES)
    print(text)
    if options.write:
        PAGE.write_text(_PART.sub(lambda match: f"{match[1]}{text}{match[2]}", PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
