"""Results of the special-function unit against the correctly rounded ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from oracles.special import estimate, exact
from oracles.special.functions import Function
from oracles.special.unit import SpecialUnit
from torchsim.errors import DivergenceError

CANONICAL_NAN = 0x7FC0_0000
BOUND = 0.5 + 2.0**-27
"""What docs/isa.md section 5 promises for binary32, in units in the last place."""

_CHUNK = 1 << 16


@dataclass
class Tally:
    """What a comparison has found.

    Attributes:
        checked: inputs compared.
        decided: those that the estimate left open and the exact evaluation decided.
        misrounded: (input bits, result bits) that are not the nearest binary32, at most 100 of them.
        misrounded_count: all of them.
        worst: largest error among the decided ones in units in the last place; the others are below it, being farther from a boundary.
    """

    checked: int = 0
    decided: int = 0
    misrounded: list[tuple[int, int]] = field(default_factory=list)
    misrounded_count: int = 0
    worst: float = 0.0

    def fields(self) -> dict[str, Any]:
        """As a dictionary for JSON."""
        return asdict(self)


def compare_f32(unit: SpecialUnit, function: Function, bits: npt.NDArray[np.uint32], tally: Tally) -> None:
    """Check f of every input and add to ``tally``.

    Raises:
        DivergenceError: an error above ``BOUND``, a wrong special value, or a NaN that is not canonical.
    """
    for first in range(0, len(bits), _CHUNK):
        given = bits[first : first + _CHUNK]
        found = np.asarray(unit.evaluate(function, given), np.uint32)
        nearest, certain = estimate.rounded(function, given.view(np.float32))
        expected = np.where(np.isnan(nearest), np.uint32(CANONICAL_NAN), nearest.view(np.uint32))
        tally.checked += len(given)
        for place in np.flatnonzero(~certain | (found != expected)):
            _decide(function, int(given[place]), int(found[place]), tally)


def _float(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def _decide(function: Function, given: int, found: int, tally: Tally) -> None:
    true = exact.value(function, _float(given))
    error = exact.error_in_ulps(_float(found), true)
    canonical = not np.isnan(_float(found)) or found == CANONICAL_NAN
    if error > BOUND or not canonical:
        raise DivergenceError(
            f"the special function {function} is wrong",
            expected=f"{exact.rounded(true)!s} within {BOUND:.9f} units in the last place, NaN as {CANONICAL_NAN:#x}",
            found=f"{found:#010x} ({_float(found)!r}), off by {error:.9f}",
            where=f"input {given:#010x} ({_float(given)!r})",
        )
    tally.decided += 1
    tally.worst = max(tally.worst, error)
    if np.float32(exact.rounded(true)).view(np.uint32) != found:
        tally.misrounded_count += 1
        if len(tally.misrounded) < 100:
            tally.misrounded.append((given, found))
