"""Softmax and layer norm: reductions and pointwise tails fused into one kernel (requirements C-4, F-6)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F

from ops.case import OpCase, values


def _shape(*shape: int) -> Callable[[torch.dtype], list[tuple[torch.Tensor, ...]]]:
    return lambda dtype: [(values(dtype, shape, 21),)]


def _weighted(*shape: int) -> Callable[[torch.dtype], list[tuple[torch.Tensor, ...]]]:
    return lambda dtype: [(values(dtype, shape, 22), values(dtype, shape[-1:], 23), values(dtype, shape[-1:], 24))]


def _softmax(axis: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: torch.softmax(x, axis)


# A softmax along an inner axis is two kernels: Inductor's core does not offer that fusion to the backend.
CASES = [
    *(
        OpCase(
            f"softmax_{'x'.join(map(str, shape))}_{axis}",
            _softmax(axis),
            (torch.float32,),
            _shape(*shape),
            length=max(shape),
            kernels=1 if axis == len(shape) - 1 else 2,
            requirements=("C-4", "F-6"),
        )
        for shape, axis in [
            ((64, 128), 1),
            ((64, 128), 0),
            ((256, 128), 1),
            ((1, 16), 1),
            ((5, 8), 1),
            ((5, 8), 0),
            ((3, 4, 5, 6), 2),
            ((7,), 0),
        ]
    ),
    OpCase("softmax_half", _softmax(1), (torch.float16, torch.bfloat16), _shape(13, 40), length=40, requirements=("C-22",)),
    OpCase("softmax_long_row", _softmax(1), (torch.float32,), _shape(2, 30_000), length=30_000, requirements=("C-4", "T-6")),
    OpCase("log_softmax", lambda x: torch.log_softmax(x, 1), (torch.float32,), _shape(13, 40), length=40, requirements=("C-4",)),
    OpCase(
        "layer_norm",
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        (torch.float32,),
        _weighted(64, 768),
        length=768,
        kernels=1,
        requirements=("C-4", "F-6"),
    ),
    OpCase(
        "layer_norm_ragged",
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        (torch.float32,),
        _weighted(3, 5, 77),
        length=77,
        kernels=1,
        requirements=("C-6", "C-20"),
    ),
    OpCase(
        "layer_norm_long_row",
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        (torch.float32,),
        _weighted(2, 20_000),
        length=20_000,
        requirements=("C-4", "T-6"),
    ),
    OpCase(
        "rms_norm",
        lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w,
        (torch.float32,),
        lambda d: _weighted(9, 130)(d)[0:1] and [_weighted(9, 130)(d)[0][:2]],
        length=130,
        kernels=1,
        requirements=("F-6",),
    ),
]
