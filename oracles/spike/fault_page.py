"""docs/iss-faults.md: written from a run of ``fault_campaign``, read back by its test."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from .fault_campaign import SAMPLE, SEED, TRIES, Verdict, share
from .faults import EQUIVALENT, enumerate_faults, equivalent

_HEAD = """# Can the differential fail? Seeded faults of the functional simulator

Written by `python -m oracles.spike faults docs/iss-faults.md`. Faults are enumerated from the instruction table
(`oracles/spike/faults.py`): each makes one row behave as a real bug would (`torchsim/iss/csrc/fault.hpp`). A sample drawn with a seed
goes through the differential of single instructions against stock Spike; a fault is *noticed* when one of the random cases of its row
ends in a different state. Not enumerated is what the kind cannot change: rounding modes that agree on a row (ties of square roots,
signs of unsigned numbers), flags that a row cannot raise, exchanged operands that commute, subnormal results that cannot be.
"""


def render(verdicts: Sequence[Verdict], later: Mapping[str, int | None]) -> str:
    """The page; ``later``: for each fault that was missed the cases after which a longer run noticed it, or None."""
    everything = list(enumerate_faults())
    same = [one for one in everything if equivalent(one.fault)]
    enumerated = Counter(one.group for one in everything)
    sampled = Counter(one.seeded.group for one in verdicts)
    noticed = Counter(one.seeded.group for one in verdicts if one.case is not None)
    misses = [one for one in verdicts if one.case is None]
    summary = (
        f"{len(everything)} faults enumerated, {len(same)} of them equivalent to the truth; sample of {len(verdicts)} with seed {SEED}, "
        f"up to {TRIES} cases each: **{len(verdicts) - len(misses)} noticed, {100 * share(verdicts):.1f} %**.\n"
    )
    lines = [
        _HEAD,
        summary,
        "| what goes wrong | enumerated | sampled | noticed |",
        "|---|---|---|---|",
        *(f"| {group} | {count} | {sampled[group]} | {noticed[group]} |" for group, count in sorted(enumerated.items())),
        "\n## Missed\n",
        f"Of the faults that {TRIES} cases did not show, and whether a longer run did:\n",
        "| fault | a longer run |",
        "|---|---|",
    ]
    for one in misses:
        after = later[str(one.seeded.fault)]
        lines.append(f"| `{one.seeded.fault}` | {'noticed after ' + str(after) + ' cases' if after else 'not noticed'} |")
    lines += ["\n## Equivalent\n", "No program can tell these from the truth; they are not sampled.\n"]
    lines += [f"- `{rows}` taken for `{other}` ({kind}): {reason}." for rows, kind, other, reason in EQUIVALENT]
    return "\n".join(lines) + "\n"


def missed(page: str) -> set[str]:
    """Faults that a page lists as missed."""
    section = page.partition("## Missed")[2].partition("## Equivalent")[0]
    return set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE))


def figures(page: str) -> tuple[int, int, int, float]:
    """Sample size, seed, cases a fault and share in per cent that a page states."""
    found = re.search(r"sample of (\d+) with seed (\d+), up to (\d+) cases each: \*\*\d+ noticed, ([\d.]+) %", page)
    if found is None:
        return 0, 0, 0, 0.0
    return int(found[1]), int(found[2]), int(found[3]), float(found[4])


def expected_figures() -> tuple[int, int, int]:
    """Sample size, seed and cases a fault of the current program."""
    return SAMPLE, SEED, TRIES
