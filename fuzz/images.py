"""Fuzz decoder, loader and core with random and mutated bytes: ``python -m fuzz.images --seconds 600``; meant for a sanitized build.

Whatever the bytes, there is a result or an error of the documented kind: no crash, no other exception, no hang. A case is a function of its
seed and number, which a failure names; ``--seed S --first N --cases 1`` runs it again.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

from fuzz import image_cases

HANG_SECONDS = 60
Case = Callable[[random.Random], str]
CASES: dict[str, Case] = {
    "decode": image_cases.decode_words,
    "stored image": image_cases.read_stored_image,
    "object": image_cases.load_object,
    "random code": image_cases.run_random_code,
    "mutated code": image_cases.run_mutated_code,
}


class UnexpectedOutcomeError(Exception):
    """A case ended in neither a result nor an error of its kind."""


def run_case(seed: int, number: int) -> tuple[str, str]:
    """(kind of the case, how it ended)."""
    rng = random.Random(seed * 1_000_003 + number)
    kind = list(CASES)[number % len(CASES)]
    try:
        return kind, CASES[kind](rng)
    except Exception as error:
        raise UnexpectedOutcomeError(f"{kind}, seed {seed}, number {number}: {type(error).__name__}: {error}") from error


def campaign(seed: int, *, first: int = 0, cases: int | None = None, seconds: float = float("inf")) -> Counter[tuple[str, str]]:
    """Run cases until their number or the time is used up; a case that takes ``HANG_SECONDS`` ends the process with a traceback.

    Raises:
        UnexpectedOutcomeError: a case that is a finding.
    """
    outcomes: Counter[tuple[str, str]] = Counter()
    end = time.monotonic() + seconds
    number = first
    try:
        while (cases is None or number < first + cases) and time.monotonic() < end:
            if number % 64 == first % 64:
                faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
            outcomes[run_case(seed, number)] += 1
            number += 1
    finally:
        faulthandler.cancel_dump_traceback_later()
    return outcomes


def main() -> int:
    """0 when every case ended as it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, help="how many, at most")
    options = parser.parse_args()
    try:
        outcomes = campaign(options.seed, first=options.first, cases=options.cases, seconds=options.seconds)
    except UnexpectedOutcomeError as error:
        print(f"finding: {error}", file=sys.stderr)
        return 1
    print(f"{outcomes.total()} cases without a finding, seed {options.seed}")
    for (kind, outcome), count in sorted(outcomes.items()):
        print(f"  {kind:13} {outcome:32} {count}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
