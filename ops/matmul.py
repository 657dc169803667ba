"""Matmul family: mm, addmm, linear, fused prologues and epilogues (requirements C-1, C-17, F-6)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F

from ops.case import OpCase, values

_HALF = (torch.float32, torch.float16, torch.bfloat16)


def _mm(m: int, k: int, n: int) -> Callable[[torch.dtype], list[tuple[torch.Tensor, ...]]]:
    return lambda dtype: [(values(dtype, (m, k), 31, low=-1, high=1), values(dtype, (k, n), 32, low=-1, high=1))]


def _biased(m: int, k: int, n: int) -> Callable[[torch.dtype], list[tuple[torch.Tensor, ...]]]:
    return lambda dtype: [(values(dtype, (n,), 33), *_mm(m, k, n)(dtype)[0]), (values(dtype, (m, n), 34), *_mm(m, k, n)(dtype)[0])]


CASES = [
    *(
        OpCase(f"mm_{m}x{k}x{n}", torch.mm, (torch.float32,), _mm(m, k, n), length=k, kernels=1, requirements=("C-1",))
        for m, k, n in [
            (32, 32, 32),
            (128, 128, 128),
            (128, 256, 256),
            (128, 63, 56),
            (1, 1, 1),
            (3, 200, 5),
            (129, 61, 56),
            (260, 130, 135),
        ]
    ),
    OpCase("mm_half", torch.mm, (torch.float16, torch.bfloat16), _mm(37, 70, 41), length=70, kernels=1, requirements=("C-1", "C-22")),
    OpCase("mm_wide_types", torch.mm, (torch.float64, torch.int64, torch.int32), _mm(9, 20, 11), length=20, requirements=("C-1", "C-22")),
    OpCase("addmm", torch.addmm, _HALF, _biased(33, 60, 35), length=60, kernels=1, requirements=("C-1", "F-6")),
    OpCase(
        "mm_transposed",
        lambda x, w: x.t().contiguous().t() @ w.t().contiguous().t(),
        (torch.float32,),
        _mm(40, 50, 60),
        length=50,
        requirements=("C-23",),
    ),
    OpCase(
        "linear_gelu",
        lambda b, x, w: F.gelu(F.linear(x, w.t(), b)),
        (torch.float32,),
        lambda d: _biased(21, 64, 48)(d)[:1],
        length=64,
        kernels=1,
        requirements=("F-6",),
    ),
    OpCase(
        "relu_mm", lambda x, w: torch.relu(x @ w), (torch.float32,), _mm(64, 48, 72), length=48, kernels=1, requirements=("C-17", "F-6")
    ),
    OpCase(
        "chained_epilogue",
        lambda b, x, w: torch.sigmoid(x @ w + b) * 2 - 0.5,
        (torch.float32,),
        _biased(31, 40, 50),
        length=40,
        kernels=1,
        requirements=("F-6",),
    ),
    OpCase(
        "live_template_output",
        lambda b, x, w: (torch.sigmoid((y := x @ w) + b), y),
        (torch.float32,),
        lambda d: _biased(31, 40, 50)(d)[:1],
        length=40,
        kernels=1,
        requirements=("C-17",),
    ),
    OpCase("prologue", lambda x, w: (x * 2 + 1) @ torch.exp(w), (torch.float32,), _mm(31, 45, 50), length=45, requirements=("F-6", "C-20")),
    OpCase("mm_sum_last", lambda x, w: (x @ w).sum(-1), (torch.float32,), _mm(31, 45, 50), length=45 * 50, requirements=("F-5",)),
    OpCase("mm_softmax", lambda x, w: torch.softmax(x @ w, -1), (torch.float32,), _mm(31, 45, 50), length=50, requirements=("F-6",)),
]
