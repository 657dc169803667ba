"""The measured cycles, and what other simulators say of the same workloads (tpuv3.csv, which names its source)."""

from __future__ import annotations

import csv
import fnmatch
from dataclasses import dataclass
from pathlib import Path

from torchsim.errors import InvalidInputError

HARDWARE = "tpuv3_cycles"
_FILE = Path(__file__).with_name("tpuv3.csv")


@dataclass(frozen=True, slots=True)
class Row:
    """One workload.

    Attributes:
        workload: its name, ``gemm_256x256x256`` for example.
        measured: cycles of the hardware.
        others: cycles by simulator; a simulator without a value is left out.
    """

    workload: str
    measured: int
    others: dict[str, int]

    @property
    def family(self) -> str:
        """``gemm``, ``conv``, ``layernorm``, .."""
        return self.workload.split("_")[0]

    @property
    def held_out(self) -> bool:
        """Whether the row may never be used to choose a figure: all but the GEMM rows."""
        return self.family != "gemm"


def load() -> list[Row]:
    """All rows, in the order of the file."""
    lines = [line for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [
        Row(
            entry["workload"],
            int(entry[HARDWARE]),
            {name: int(value) for name, value in entry.items() if name not in ("workload", HARDWARE) and value},
        )
        for entry in csv.DictReader(lines)
    ]


def simulators() -> list[str]:
    """Names of the other simulators, in the order of the columns."""
    return list(dict.fromkeys(name for row in load() for name in row.others))


def select(patterns: str) -> list[Row]:
    """Rows whose name matches one of the comma separated patterns (``gemm_*``).

    Raises:
        InvalidInputError: a pattern that matches nothing.
    """
    rows = load()
    chosen: set[str] = set()
    for pattern in patterns.split(","):
        found = {row.workload for row in rows if fnmatch.fnmatchcase(row.workload, pattern.strip())}
        if not found:
            names = ", ".join(row.workload for row in rows)
            raise InvalidInputError(f"no workload matches {pattern!r}", expected=names, hint="name a workload, or use * as in gemm_*")
        chosen |= found
    return [row for row in rows if row.workload in chosen]
