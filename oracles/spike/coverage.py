"""Every mnemonic at every SEW and LMUL through the differential: what was run, and that it was right.

A combination counts as covered when a case of it ran to its end on both machines and left equal states; combinations that RVV 1.0 forbids
must trap on both in every case.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torchsim.target.isa.table import BY_NAME

from .both import Both
from .cases import LMULS, SEWS, SPAD_BYTES, TESTABLE, Case, draw_case_at, legal

LANES = 4
ATTEMPTS = 40  # cases until one runs to its end
Combination = tuple[str, int, int]


@dataclass(slots=True)
class Coverage:
    """What a run has seen.

    Attributes:
        cases: cases run.
        ran: per combination, cases that ran to their end.
        found: cases that the two machines disagree on, with the difference.
    """

    cases: int = 0
    ran: dict[Combination, int] = field(default_factory=dict)
    found: list[tuple[Case, str]] = field(default_factory=list)


def vector_rows() -> tuple[str, ...]:
    """Rows whose meaning depends on vtype (fault-only-first loads are no instructions of the NPU)."""
    return tuple(name for name in TESTABLE if BY_NAME[name].extension == "V" and not name.endswith("ff.v") and not name.startswith("vset"))


def scalar_rows() -> tuple[str, ...]:
    """The other rows that make cases of their own."""
    return tuple(name for name in TESTABLE if BY_NAME[name].extension != "V" or name.startswith("vset"))


def combinations() -> Iterator[Combination]:
    """Every vector row at every vtype that a machine with ELEN 64 has, legal for the row or not."""
    for name in vector_rows():
        for sew in SEWS:
            for lmul in LMULS:
                if lmul > 0 or sew <= 64 // -lmul:
                    yield name, sew, lmul


def run(both: Both, what: Sequence[Combination], per_combination: int, seed: int = 0) -> Coverage:
    """``per_combination`` cases of each, more where none has run to its end yet; scalar rows get as many at SEW 32."""
    coverage = Coverage()
    for name, sew, lmul in what:
        rng = random.Random(f"{seed} {name} {sew} {lmul}")
        wanted = legal(name, sew, lmul)
        for number in range(ATTEMPTS):
            if number >= per_combination and (not wanted or coverage.ran.get((name, sew, lmul))):
                break
            case = draw_case_at(rng, name, sew, lmul)
            coverage.cases += 1
            difference = both.difference(case.program(), case.spad(both.lanes))
            if difference:
                coverage.found.append((case, difference))
            elif both.last_trap is None:
                coverage.ran[name, sew, lmul] = coverage.ran.get((name, sew, lmul), 0) + 1
    return coverage


def everything() -> list[Combination]:
    """All vector combinations, and each scalar row once."""
    return [*combinations(), *((name, 32, 1) for name in scalar_rows())]


def missing(coverage: Coverage) -> list[Combination]:
    """Legal combinations of ``everything`` that never ran to their end."""
    return [one for one in everything() if legal(*one) and one not in coverage.ran]


def surplus(coverage: Coverage) -> list[Combination]:
    """Combinations that ran though the rule says that they are illegal."""
    return [one for one in coverage.ran if not legal(*one)]


def complete() -> Coverage:
    """The whole run, two cases of each combination."""
    with Both(LANES, SPAD_BYTES) as both:
        return run(both, everything(), 2)
