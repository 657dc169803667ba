"""Reduction family (requirements C-4, C-5, C-6, C-20, C-22): any axes, any rank up to 6, rows that fit and rows that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ops.case import FLOATS, OpCase, values


def _shape(*shape: int) -> Callable[[torch.dtype], list[tuple[torch.Tensor, ...]]]:
    return lambda dtype: [(values(dtype, shape, 11),)]


def _axes(name: str, axes: tuple[int, ...] | None, keepdim: bool = False) -> Callable[..., Any]:
    def apply(x: torch.Tensor) -> torch.Tensor:
        return getattr(torch, name)(x) if axes is None else getattr(torch, name)(x, dim=axes, keepdim=keepdim)

    return apply


def _nan_rows(dtype: torch.dtype) -> list[tuple[torch.Tensor, ...]]:
    x = values(dtype, (9, 37), 2)
    x[2, 5], x[4, 36], x[5, 0] = float("nan"), float("inf"), -float("inf")
    return [(x,)]


CASES = [
    *(
        OpCase(f"sum_{i}", _axes("sum", axes, keep), (torch.float32,), _shape(*shape), length=length, kernels=1, requirements=("C-4",))
        for i, (shape, axes, keep, length) in enumerate(
            [
                ((29, 47), (1,), False, 47),
                ((17, 68), (0,), False, 17),
                ((327, 447), (1,), True, 447),
                ((327, 447), (0,), False, 327),
                ((5, 6, 7), (0, 2), False, 35),
                ((300,), None, False, 300),
                ((2, 3, 4, 5, 6, 7), (1, 3, 5), False, 105),
                ((2, 3, 4, 5, 6, 7), (0, 2, 4), True, 48),
                ((3, 1, 5), (1,), False, 1),
                ((1, 1), (0, 1), False, 1),
            ]
        )
    ),
    OpCase("sum_long_row", _axes("sum", (1,)), (torch.float32,), _shape(3, 40_000), length=40_000, requirements=("C-4", "T-6")),
    OpCase(
        "sum_dtypes",
        _axes("sum", (1,)),
        (*FLOATS, torch.int64, torch.int32, torch.int8, torch.bool),
        _shape(13, 70),
        length=70,
        requirements=("C-4", "C-22"),
    ),
    OpCase("mean", _axes("mean", (1,)), FLOATS, _shape(13, 70), length=70, requirements=("C-4",)),
    OpCase(
        "amax",
        _axes("amax", (1,)),
        (*FLOATS, torch.int64, torch.int32, torch.int8),
        _shape(13, 70),
        exact=True,
        requirements=("C-4", "C-5"),
    ),
    OpCase(
        "amin",
        _axes("amin", (0,)),
        (*FLOATS, torch.int64, torch.int32, torch.int8),
        _shape(13, 70),
        exact=True,
        requirements=("C-4", "C-5"),
    ),
    OpCase("amax_special", _axes("amax", (1,)), FLOATS, _nan_rows, exact=True, requirements=("C-22",)),
    OpCase("amin_special", _axes("amin", (0,)), FLOATS, _nan_rows, exact=True, requirements=("C-22",)),
    OpCase("amax_long_row", _axes("amax", (1,)), (torch.float32,), _shape(2, 40_000), exact=True, requirements=("C-4",)),
    OpCase("any", _axes("any", (1,)), (torch.bool, torch.float32), _shape(9, 33), exact=True, requirements=("C-4",)),
    OpCase("all", _axes("all", (1,)), (torch.bool, torch.int64), _shape(9, 33), exact=True, requirements=("C-4",)),
    OpCase("prod", lambda x: torch.prod(x, 1), (torch.float32, torch.int64), _shape(9, 21), length=21, requirements=("C-4",)),
    OpCase("var_mean", lambda x: torch.var_mean(x, (1,)), (torch.float32, torch.float64), _shape(13, 70), length=70, requirements=("C-4",)),
    OpCase("var_offset", lambda x: torch.var(x + 1000, 1), (torch.float32,), _shape(13, 70), length=70, requirements=("C-4",)),
    OpCase("std", lambda x: torch.std(x, 0), (torch.float32,), _shape(13, 70), length=13, requirements=("C-4",)),
    OpCase(
        "prologue_not_identity",
        lambda x: torch.sum(torch.exp(x) + 3, 1),
        (torch.float32,),
        _shape(11, 37),
        length=37,
        requirements=("C-20",),
    ),
    OpCase(
        "prologue_not_identity_long",
        lambda x: torch.sum(torch.exp(x) + 3, 1),
        (torch.float32,),
        _shape(3, 20_011),
        length=20_011,
        requirements=("C-20",),
    ),
    OpCase("two_outputs", lambda x: (x.sum(1), x.amax(1)), (torch.float32,), _shape(128, 96), length=96, kernels=1, requirements=("F-6",)),
    OpCase("empty", _axes("sum", (1,)), (torch.float32,), _shape(4, 0), exact=True, requirements=("C-23",)),
    OpCase("empty_output", _axes("sum", (1,)), (torch.float32,), _shape(0, 4), exact=True, requirements=("C-23",)),
]
