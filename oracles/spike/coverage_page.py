"""docs/iss-coverage.md: written from a run of ``coverage``, read back by its test."""

from __future__ import annotations

import re
from collections import defaultdict

from .cases import LMULS, SEWS, legal
from .coverage import Combination, Coverage, combinations, scalar_rows, vector_rows

_NAMES = {-8: "mf8", -4: "mf4", -2: "mf2", 1: "m1", 2: "m2", 4: "m4", 8: "m8"}
_HEAD = """# What the differential has run: mnemonic x SEW x LMUL

Written by `python -m oracles.spike coverage docs/iss-coverage.md`: random cases of every row of the instruction table at every `vtype`,
on the functional simulator and on stock Spike. A cell lists the LMULs at which a case ran to its end on both and left equal registers,
memory and flags; at every LMUL that is missing from a cell both trapped in all cases. `-`: no LMUL. Fault-only-first loads are left out,
because the NPU has none; NPU instructions, jumps and DMA have differentials of their own (`oracles/spike/test_iss_equals_spike.py`).
"""


def render(coverage: Coverage) -> str:
    """The page for a run without differences."""
    cells = {name: tuple(_cell(coverage, name, sew) for sew in SEWS) for name in vector_rows()}
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, row in cells.items():
        groups[row].append(name)
    ran = [coverage.ran[one] for one in combinations() if one in coverage.ran]
    summary = (
        f"{coverage.cases} cases, {len(coverage.found)} differences; {len(ran)} combinations of {len(cells)} vector rows, "
        f"each with at least {min(ran)} cases that ran to their end.\n"
    )
    lines = [
        _HEAD,
        summary,
        "| rows | e8 | e16 | e32 | e64 |",
        "|---|---|---|---|---|",
    ]
    for row, names in groups.items():
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {' | '.join(row)} |")
    scalar = [name for name in scalar_rows() if (name, 32, 1) in coverage.ran]
    lines += ["\n## Rows that do not depend on vtype\n", f"{len(scalar)} rows: {', '.join(f'`{name}`' for name in scalar)}."]
    return "\n".join(lines) + "\n"


def _cell(coverage: Coverage, name: str, sew: int) -> str:
    return " ".join(_NAMES[lmul] for lmul in LMULS if (name, sew, lmul) in coverage.ran) or "-"


def covered(page: str) -> tuple[set[Combination], set[str]]:
    """Combinations and scalar rows that a page lists."""
    numbers = {text: lmul for lmul, text in _NAMES.items()}
    found: set[Combination] = set()
    for line in page.splitlines():
        if line.startswith("| `"):
            names, *cells = (part.strip() for part in line.strip("|").split("|"))
            for name in re.findall(r"`([^`]+)`", names):
                found |= {(name, sew, numbers[text]) for sew, cell in zip(SEWS, cells) for text in cell.split() if text != "-"}
    scalar = page.partition("## Rows that do not depend on vtype")[2]
    return found, set(re.findall(r"`([^`]+)`", scalar))


def wanted() -> tuple[set[Combination], set[str]]:
    """Combinations and scalar rows that a complete page lists."""
    return {one for one in combinations() if legal(*one)}, set(scalar_rows())
