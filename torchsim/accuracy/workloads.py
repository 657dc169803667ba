"""The workloads as PyTorch programs. Values do not matter for cycles, so tensors are left uninitialised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def covered(workload: str) -> bool:
    """Whether this version compiles the workload completely."""
    return workload.split("_")[0] in _FAMILIES


def program(workload: str) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    """Function and float32 arguments of a covered workload."""
    family, sizes = workload.split("_")
    return _FAMILIES[family](*(int(size) for size in sizes.split("x")))


def _gemm(m: int, n: int, k: int) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    return torch.matmul, (torch.empty(m, k), torch.empty(k, n))


def _softmax(rows: int, columns: int) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    return lambda x: torch.softmax(x, -1), (torch.empty(rows, columns),)


def _layernorm(rows: int, columns: int) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    weight, bias = torch.empty(columns), torch.empty(columns)
    return lambda x, w, b: torch.nn.functional.layer_norm(x, (columns,), w, b), (torch.empty(rows, columns), weight, bias)


_FAMILIES: dict[str, Callable[..., tuple[Callable[..., Any], tuple[torch.Tensor, ...]]]] = {
    "gemm": _gemm,
    "softmax": _softmax,
    "layernorm": _layernorm,
}
