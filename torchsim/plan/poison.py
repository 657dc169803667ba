"""Make leaks of padding visible: replace every fill that the plan's masks claim to protect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from torchsim.plan.arena import leaves
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Block, ChunkLoop, Item, KernelPlan, TileLoop, Transfer

Poison = Literal["nan", "huge"]


def relied_upon(plan: KernelPlan) -> set[int]:
    """Buffers whose fill is part of the computation: zeros that go to the array unchanged."""
    found: set[int] = set()
    for item in leaves(plan.body):
        if isinstance(item, Block) and item.kind != "vector":
            found |= {entry.buffer for entry in (item.weight, item.data) if entry is not None}
    return found


def poisoned(plan: KernelPlan, poison: Poison = "nan") -> KernelPlan:
    """The same plan with NaN or huge fills (largest integer, True) in all loads that masks protect; the values must not change (rule 3)."""
    kept = relied_upon(plan)

    def change(items: Sequence[Item]) -> tuple[Item, ...]:
        changed: list[Item] = []
        for item in items:
            if isinstance(item, TileLoop | ChunkLoop):
                changed.append(replace(item, body=change(item.body)))
            elif isinstance(item, Transfer) and item.direction == "load" and item.buffer not in kept:
                changed.append(replace(item, fill=_fill(plan.buffers[item.buffer].dtype, poison)))
            else:
                changed.append(item)
        return tuple(changed)

    return replace(plan, body=change(plan.body))


def _fill(dtype: DType, poison: Poison) -> int | float | bool:
    if dtype.is_float:
        return math.nan if poison == "nan" else {DType.F16: 60000.0, DType.BF16: 3e38, DType.F32: 3e38, DType.F64: 1e308}[dtype]
    return True if dtype is DType.BOOL else int(np.iinfo(str(dtype.numpy)).max)
