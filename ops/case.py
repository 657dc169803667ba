"""One op family's cases: data that tests, coverage matrix and documentation share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)

SHAPES: tuple[tuple[int, ...], ...] = ((1,), (47, 10), (129,), (3, 5, 33))
"""Small shapes with ragged tails at 8, 32 and 128 lanes; float32 runs all of them, other types the second."""


@dataclass(frozen=True, slots=True)
class OpCase:
    """An op (or a small function) to be held against CPU eager.

    Attributes:
        name: unique in its family.
        function: takes the sample tensors.
        dtypes: element types of the samples.
        samples: makes lists of inputs for one dtype.
        exact: device and eager must agree bit for bit.
        length: longest reduction, for the derived tolerance.
        kernels: expected number of kernels, when the fusion matters.
        requirements: ids that the case proves.
    """

    name: str
    function: Callable[..., Any]
    dtypes: Sequence[torch.dtype]
    samples: Callable[[torch.dtype], list[tuple[torch.Tensor, ...]]]
    exact: bool = False
    length: int = 1
    kernels: int | None = None
    requirements: tuple[str, ...] = ()


def values(dtype: torch.dtype, shape: Sequence[int], seed: int = 0, *, low: float = -3.0, high: float = 3.0) -> torch.Tensor:
    """Seeded values in [low, high); for integers in [low * 8, high * 8); for bool a coin."""
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(tuple(shape), generator=generator, dtype=torch.float64) * (high - low) + low
    if dtype is torch.bool:
        return uniform > (high + low) / 2
    return (
        uniform.to(dtype)
        if dtype.is_floating_point
        else (uniform * 8).floor().clamp(torch.iinfo(dtype).min, torch.iinfo(dtype).max).to(dtype)
    )


def special_floats(dtype: torch.dtype) -> torch.Tensor:
    """Zeros of both signs, infinities, NaN, subnormals and large values of a float type."""
    info = torch.finfo(dtype)
    return torch.tensor(
        [
            0.0,
            -0.0,
            1.0,
            -1.0,
            float("inf"),
            -float("inf"),
            float("nan"),
            info.tiny,
            -info.tiny,
            info.tiny / 2,
            info.max,
            info.min,
            0.5,
            1.5,
            2.5,
            -0.5,
            -2.5,
        ],
        dtype=dtype,
    )


def unary(**options: Any) -> Callable[[torch.dtype], list[tuple[torch.Tensor, ...]]]:
    """Samples for one-argument ops: ragged shapes, and special values for floats."""

    def make(dtype: torch.dtype) -> list[tuple[torch.Tensor, ...]]:
        shapes = SHAPES if dtype is torch.float32 else SHAPES[1:2]
        plain: list[tuple[torch.Tensor, ...]] = [(values(dtype, shape, seed, **options),) for seed, shape in enumerate(shapes)]
        return [*plain, (special_floats(dtype),)] if dtype.is_floating_point else plain

    return make


def binary(dtype: torch.dtype) -> list[tuple[torch.Tensor, ...]]:
    """Samples for two-argument ops: equal shapes, broadcasting, transposed and sliced views, special values crossed."""
    square = values(dtype, (33, 33), 5)
    samples: list[tuple[torch.Tensor, ...]] = [
        (values(dtype, (47, 10), 1), values(dtype, (47, 10), 2)),
        (values(dtype, (5, 1, 9), 3), values(dtype, (7, 1), 4)),
        (square, square.clone().t()),
        (values(dtype, (6, 40), 6)[:, ::2], values(dtype, (6, 21), 7)[:, 1:]),
    ]
    if dtype is not torch.float32:
        samples = samples[3:]  # views and tails do not depend on the element type; one ragged sliced sample remains
    if dtype.is_floating_point:
        special = special_floats(dtype)
        samples.append((special[:, None].expand(-1, len(special)), special[None, :]))
    return samples


def parameters(cases: Sequence[OpCase]) -> list[Any]:
    """pytest parameters: one per case and dtype, marked with the requirement ids."""
    import pytest

    return [
        pytest.param(
            case,
            dtype,
            id=f"{case.name}-{str(dtype).removeprefix('torch.')}",
            marks=[pytest.mark.req(*case.requirements)] if case.requirements else [],
        )
        for case in cases
        for dtype in case.dtypes
    ]
