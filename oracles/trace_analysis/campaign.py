"""Which oracle notices which fault: ``python -m oracles.trace_analysis.campaign`` writes docs/togsim-faults.md again.

Each fault is seeded into the simulator and meets the cases in a fixed order until an oracle objects; the row names every oracle that
objects to that case. Cases and faults are deterministic, so a row can be checked by running it again.
"""

from __future__ import annotations

import argparse
import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from oracles.trace_analysis.cases import HAND_MADE, seeded_case
from oracles.trace_analysis.faults import Fault, MemoryFault, enumerate_faults
from oracles.trace_analysis.memory_probes import probes
from oracles.trace_analysis.trial import Case, objections

SEEDS = 160
"""Random cases that a fault meets after those made by hand."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "togsim-faults.md"
BEGIN, END = "<!-- campaign -->\n", "<!-- end of campaign -->\n"


@dataclass(frozen=True)
class Outcome:
    """The first case that exposes a fault, and the oracles that object to it; no case: missed."""

    fault: Fault
    case: str
    oracles: tuple[str, ...]

    @property
    def row(self) -> str:
        """A line of the page's table."""
        return f"| `{self.fault.name}` | {self.fault.kind} | {', '.join(self.oracles) or '**missed**'} | {self.case or '-'} |"


@functools.cache
def _case(number: int) -> tuple[str, Case]:
    if number < len(HAND_MADE):
        return HAND_MADE[number].__name__.removesuffix("_case"), HAND_MADE[number]()
    return f"seed {number - len(HAND_MADE)}", seeded_case(number - len(HAND_MADE))


def try_fault(fault: Fault) -> Outcome:
    """Run a fault against the cases, or the probes of its part of the memory, until an oracle objects."""
    if isinstance(fault, MemoryFault):
        oracle = "network probe" if fault.part == "network" else "DRAM probe"
        objecting = (probe.name for probe in probes(fault.part) if probe.objection(fault.figure, fault.step))
        name = next(objecting, "")
        return Outcome(fault, name, (oracle,) if name else ())
    for number in range(len(HAND_MADE) + SEEDS):
        name, case = _case(number)
        found = objections(case, fault.told)
        if found:
            return Outcome(fault, name, tuple(sorted(found)))
    return Outcome(fault, "", ())


def report(outcomes: Iterable[Outcome]) -> str:
    """The generated part of the page."""
    rows = list(outcomes)
    caught = [o for o in rows if o.oracles]
    votes = Counter(oracle for o in caught for oracle in o.oracles)
    alone = Counter(o.oracles[0] for o in caught if len(o.oracles) == 1)
    kinds = Counter(o.fault.kind for o in rows)
    kinds_caught = Counter(o.fault.kind for o in caught)
    lines = [f"{len(caught)} of {len(rows)} faults are noticed ({100 * len(caught) / len(rows):.1f} %).", ""]
    lines += ["| kind of fault | run | noticed |", "|---|---|---|", *(f"| {k} | {n} | {kinds_caught[k]} |" for k, n in kinds.items()), ""]
    lines += ["| oracle | objects to | alone |", "|---|---|---|", *(f"| {o} | {votes[o]} | {alone[o]} |" for o in sorted(votes)), ""]
    lines += ["| fault | kind | noticed by | first case |", "|---|---|---|---|", *(o.row for o in rows)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all faults and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="print the result and leave the page alone")
    dry_run: bool = parser.parse_args().dry_run
    text = report(try_fault(fault) for fault in enumerate_faults())
    if dry_run:
        print(text)
        return
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + text + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
