"""Identities of the reductions: what an accumulator starts from and what masked positions are replaced by."""

from __future__ import annotations

import math

import numpy as np

from torchsim.plan.dtypes import DType


def identity(kind: str, dtype: DType) -> int | float | bool:
    """Value e with combine(x, e) = x for every x of the type.

    Integers use the type's own extremes, bool uses 0 and 1 (requirement C-5).

    Raises:
        KeyError: no such reduction.
    """
    if kind in ("sum", "prod"):
        value = {"sum": 0, "prod": 1}[kind]
        return float(value) if dtype.is_float else bool(value) if dtype is DType.BOOL else value
    if kind in ("any", "all"):
        return kind == "all"
    low = {"max": True, "min": False}[kind]
    if dtype.is_float:
        return -math.inf if low else math.inf
    if dtype is DType.BOOL:
        return not low
    info = np.iinfo(str(dtype.numpy))
    return int(info.min if low else info.max)
