"""Dtype conversions between all covered types (requirements C-2, C-22)."""

from __future__ import annotations

import torch

from ops.case import FLOATS, INTEGERS, OpCase, values

ALL = (*FLOATS, *INTEGERS, torch.bool)


def _samples(dtype: torch.dtype) -> list[tuple[torch.Tensor, ...]]:
    return [(values(dtype, (5, 27), 3, low=-15.9, high=15.9),)]


def _unsigned(dtype: torch.dtype) -> list[tuple[torch.Tensor, ...]]:
    return [(values(dtype, (5, 27), 3, low=0.0, high=15.9),)]


def _to(target: torch.dtype) -> OpCase:
    name = str(target).removeprefix("torch.")
    # A negative float has no defined value as uint8 in C, so eager's own result is not portable.
    samples = _unsigned if target is torch.uint8 else _samples
    return OpCase(
        f"to_{name}", lambda x: x.to(target), tuple(d for d in ALL if d is not target), samples, exact=True, requirements=("C-2", "C-22")
    )


CASES = [_to(target) for target in ALL]
