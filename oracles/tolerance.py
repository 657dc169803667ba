"""How far a device value may be from the truth (requirement H-3).

The truth is the same graph evaluated in float64. Let E be the largest error that CPU eager itself makes against it in this tensor, n the
longest reduction behind the value. A device element may be off by

    allowed = (2 + sqrt(n) / 2) * E + 4 ulp(|truth|)

Twice eager's error is the rule; the length term pays for adding n terms in another order than eager (rounding errors of a sum of n
terms grow like sqrt(n), eager's pairwise sums like log n; of 600 tensors of 32 sums of 300 terms, added one after another, the
worst needs 0.49 sqrt(n)); 4 ulp covers short chains in which eager happens to be exact. A half-precision accumulator (error 2^13
times larger) or a lost element (error of the size of a term) is far outside. Values that only moves and exactly rounded single
operations produced must be equal bit for bit; the sign of zero counts only where eager defines it (not behind max, min and their
relatives, whose zero depends on the position in eager's vector loops). E is at least what random rounding errors of half an ulp
after every op do to the float64 evaluation (``perturb``): the error of a few elements behind an ill-conditioned op is a poor sample
of what rounding may do there. For float64 values there is no wider truth: E is what float32 rounding errors do (a float32
evaluation, and random ones), scaled by 2^-29, and at least eager's error, which a float64 value made of narrower ones has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

_DIGITS = {torch.float64: 52, torch.float32: 23, torch.float16: 10, torch.bfloat16: 7}
_LOWEST = {torch.float64: -1022, torch.float32: -126, torch.float16: -14, torch.bfloat16: -126}


def ulp(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Unit in the last place of ``dtype`` at each |value|, in float64 (the smallest subnormal at 0)."""
    magnitude = value.abs().to(torch.float64)
    exponent = torch.frexp(magnitude).exponent.to(torch.float64) - 1
    exponent = torch.where(magnitude == 0, torch.full_like(exponent, _LOWEST[dtype]), exponent.clamp(min=_LOWEST[dtype]))
    return torch.exp2(exponent - _DIGITS[dtype])


@dataclass(frozen=True, slots=True)
class Difference:
    """First and worst mismatch of one tensor. Indices are logical; ``max_ulp`` is over all finite elements."""

    count: int
    elements: int
    first_index: tuple[int, ...]
    worst_index: tuple[int, ...]
    expected: float
    found: float
    max_abs: float
    max_rel: float
    max_ulp: float
    allowed: float

    def __str__(self) -> str:
        return (
            f"{self.count} of {self.elements} elements differ; first at {self.first_index}, worst at {self.worst_index}: "
            f"expected {self.expected!r}, found {self.found!r} "
            f"(max abs {self.max_abs:.4g}, max rel {self.max_rel:.4g}, max ulp {self.max_ulp:.4g}, allowed there {self.allowed:.4g})"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcome: ``difference`` is None when the tensors agree; ``max_ulp`` is the largest error seen either way."""

    difference: Difference | None
    max_ulp: float


def compare(
    found: torch.Tensor,
    eager: torch.Tensor,
    truth: torch.Tensor,
    *,
    exact: bool,
    length: int = 1,
    error: float | None = None,
    signed_zero: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """Compare a device tensor with the goldens.

    Args:
        found: device result, any strides.
        eager: CPU eager result, same shape and dtype.
        truth: float64 evaluation (equal to ``eager`` for non-float dtypes).
        exact: require equal bits (NaN equals NaN, -0 equals +0 only where eager's sign agrees).
        length: longest reduction behind the value.
        error: E of the rule above; by default eager's largest error against ``truth``.
        signed_zero: whether -0 and +0 differ in an exact comparison.
        rtol, atol: replace the derived tolerance when given.
    """
    if found.shape != eager.shape or found.dtype != eager.dtype:
        raise ValueError(f"shape or dtype differ: expected {tuple(eager.shape)} {eager.dtype}, found {tuple(found.shape)} {found.dtype}")
    if found.numel() == 0:
        return Comparison(None, 0.0)
    if not found.dtype.is_floating_point:
        bad = found != eager
        return _outcome(bad, found, eager, torch.zeros(found.shape, dtype=torch.float64), torch.ones(found.shape, dtype=torch.float64))
    got, want = found.to(torch.float64), eager.to(torch.float64)
    step = ulp(want, found.dtype)
    special = ~(want.isfinite() & truth.isfinite())
    if exact:
        allowed = torch.zeros_like(want)
        same_sign = (torch.signbit(got) == torch.signbit(want)) if signed_zero else torch.ones_like(got, dtype=torch.bool)
        bad = ~((got == want) & same_sign | (got.isnan() & want.isnan()))
        return _outcome(bad, found, eager, allowed, step)
    if rtol is not None or atol is not None:
        allowed = (atol or 0.0) + (rtol or 0.0) * want.abs()
        reference = want
    else:
        largest = largest_error(eager, truth) if error is None else error
        allowed = (2 + length**0.5 / 2) * largest + 4 * ulp(truth, found.dtype)
        reference = truth
    off = (got - reference).abs()
    bad = torch.where(special, ~((got == want) | (got.isnan() & want.isnan())), ~(off <= allowed))
    return _outcome(bad, found, eager, allowed, step)


def largest_error(value: torch.Tensor, truth: torch.Tensor) -> float:
    """Largest finite |value - truth|; 0 when there is none."""
    off = (value.to(torch.float64) - truth.to(torch.float64)).abs()
    off = off[off.isfinite()]
    return float(off.max()) if off.numel() else 0.0


NARROW_TO_WIDE = 2.0**-29
"""Rounding unit of float64 over that of float32."""


NOISE_SEEDS = (1, 2, 3)
"""Evaluations with random rounding errors."""


def perturb(value: Any, like: Any, generator: torch.Generator) -> Any:
    """A float64 tensor times 1 + u r, u the rounding unit of ``like``'s type and r uniform in -1..1; anything else as it is.

    For float64, whose own rounding errors could not be told from those of the evaluation, u is that of float32 (``error_scale``
    scales the outcome).
    """
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.float64:
        return value
    dtype = like.dtype if isinstance(like, torch.Tensor) and like.dtype in _DIGITS else torch.float32
    dtype = torch.float32 if dtype is torch.float64 else dtype
    unit = 2.0 ** -(_DIGITS[dtype] + 1)
    return value * (1 + unit * (2 * torch.rand(value.shape, generator=generator, dtype=torch.float64) - 1))


def error_scale(eager: torch.Tensor, truth: torch.Tensor, narrow: torch.Tensor, noisy: Sequence[torch.Tensor]) -> float:
    """E of the rule.

    Args:
        eager: CPU eager's value.
        truth: float64 evaluation.
        narrow: float32 evaluation; float64 values have its error, scaled.
        noisy: float64 evaluations with random rounding errors, those of float32 for float64 values.
    """
    if eager.dtype is torch.float64:
        scaled = max(largest_error(value, truth) for value in (narrow, *noisy)) * NARROW_TO_WIDE
        return max(scaled, largest_error(eager, truth))
    if not eager.dtype.is_floating_point:
        return 0.0
    return max(largest_error(value, truth) for value in (eager, *noisy))


def _outcome(bad: torch.Tensor, found: torch.Tensor, eager: torch.Tensor, allowed: torch.Tensor, step: torch.Tensor) -> Comparison:
    got, want = found.to(torch.float64), eager.to(torch.float64)
    off = (got - want).abs()
    finite = off.isfinite()
    ulps = torch.where(finite, off / step, torch.zeros_like(off))
    max_ulp = float(ulps.max())
    if not bool(bad.any()):
        return Comparison(None, max_ulp)
    severity = torch.where(bad, torch.where(finite, ulps, torch.full_like(ulps, float("inf"))), torch.full_like(ulps, -1.0))
    worst = int(severity.reshape(-1).argmax())
    first = int(bad.reshape(-1).to(torch.uint8).argmax())
    index = [tuple(int(i) for i in torch.unravel_index(torch.tensor(at), found.shape)) if found.dim() else () for at in (first, worst)]
    scale = torch.where(want == 0, torch.full_like(want, float("nan")), want.abs())
    relative = (off / scale).nan_to_num(0.0, 0.0, 0.0)
    return Comparison(
        Difference(
            int(bad.sum()),
            found.numel(),
            index[0],
            index[1],
            float(want.reshape(-1)[worst]),
            float(got.reshape(-1)[worst]),
            float(off[finite].max()) if bool(finite.any()) else float("inf"),
            float(relative.max()),
            max_ulp,
            float(allowed.reshape(-1)[worst]),
        ),
        max_ulp,
    )
