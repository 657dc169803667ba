"""Runs sampled faults through the differential: does ISS against stock Spike notice them?"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torchsim.iss.fault import Fault, seeded

from .both import Both
from .cases import SPAD_BYTES, Case, draw_case
from .faults import Seeded, enumerate_faults, equivalent

LANES = 4
SEED, SAMPLE, TRIES = 2024, 1000, 300
LONG = 10_000  # cases of the longer run of what was missed


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one fault.

    Attributes:
        seeded: the fault.
        tries: random cases of its row that were run.
        case: the case that showed it, or None.
    """

    seeded: Seeded
    tries: int
    case: Case | None


def sample(seed: int = SEED, count: int = SAMPLE) -> list[Seeded]:
    """``count`` faults that are not equivalent to the truth, drawn with a seed."""
    pool = [one for one in enumerate_faults() if equivalent(one.fault) is None]
    return random.Random(seed).sample(pool, count)


def try_fault(both: Both, fault: Fault, tries: int = TRIES) -> tuple[int, Case | None]:
    """Draw cases of the row at fault until one differs; (cases run, the case or None)."""
    rng = random.Random(str(fault))
    for number in range(1, tries + 1):
        case = draw_case(rng, fault.name)
        with seeded(both.iss, fault):
            if both.difference(case.program(), case.spad(both.lanes)) is not None:
                return number, case
    return tries, None


def run(faults: Iterable[Seeded], tries: int = TRIES) -> list[Verdict]:
    """Verdicts of the faults, in their order."""
    verdicts: list[Verdict] = []
    with Both(LANES, SPAD_BYTES) as both:
        for one in faults:
            count, case = try_fault(both, one.fault, tries)
            verdicts.append(Verdict(one, count, case))
    return verdicts


def try_longer(verdicts: Sequence[Verdict], tries: int = LONG) -> dict[str, int | None]:
    """For each fault that was missed: cases after which a longer run notices it, or None."""
    later: dict[str, int | None] = {}
    with Both(LANES, SPAD_BYTES) as both:
        for one in verdicts:
            if one.case is None:
                count, case = try_fault(both, one.seeded.fault, tries)
                later[str(one.seeded.fault)] = count if case else None
    return later


def share(verdicts: Sequence[Verdict]) -> float:
    """Part of the faults that was noticed."""
    return sum(one.case is not None for one in verdicts) / len(verdicts)
