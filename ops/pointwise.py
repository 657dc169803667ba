"""Pointwise family: arithmetic, compares, selection, special functions, activations (requirements C-2, C-3, C-22, C-23)."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ops.case import FLOATS, INTEGERS, OpCase, binary, unary, values

_ARITHMETIC = (*FLOATS, torch.int64, torch.int32, torch.int8)


def _three(dtype: torch.dtype) -> list[tuple[torch.Tensor, ...]]:
    return [(values(torch.bool, (13, 11), 1), values(dtype, (13, 11), 2), values(dtype, (11,), 3))]


CASES = [
    OpCase("add", torch.add, _ARITHMETIC, binary, exact=True, kernels=1, requirements=("C-2", "C-22")),
    OpCase("sub", torch.sub, _ARITHMETIC, binary, exact=True, requirements=("C-2",)),
    OpCase("mul", torch.mul, _ARITHMETIC, binary, exact=True, requirements=("C-2",)),
    OpCase("div", torch.div, FLOATS, binary, exact=True, requirements=("C-2",)),
    OpCase("maximum", torch.maximum, _ARITHMETIC, binary, exact=True, requirements=("C-2", "C-22")),
    OpCase("minimum", torch.minimum, _ARITHMETIC, binary, exact=True, requirements=("C-2", "C-22")),
    OpCase("lt", torch.lt, _ARITHMETIC, binary, exact=True, requirements=("C-2",)),
    OpCase("le", torch.le, (torch.float32, torch.int64), binary, exact=True),
    OpCase("gt", torch.gt, (torch.float32, torch.int64), binary, exact=True),
    OpCase("ge", torch.ge, (torch.float32, torch.int64), binary, exact=True),
    OpCase("eq", torch.eq, (*_ARITHMETIC, torch.bool), binary, exact=True, requirements=("C-2",)),
    OpCase("ne", torch.ne, (*_ARITHMETIC, torch.bool), binary, exact=True, requirements=("C-2",)),
    OpCase("where", torch.where, (*FLOATS, torch.int64, torch.int8), _three, exact=True, requirements=("C-2",)),
    OpCase("neg", torch.neg, (*FLOATS, torch.int64, torch.int32), unary(), exact=True, requirements=("C-2",)),
    OpCase("abs", torch.abs, (*FLOATS, torch.int64, torch.int32), unary(), exact=True, requirements=("C-2",)),
    OpCase("relu", torch.relu, (*FLOATS, torch.int64), unary(), exact=True, requirements=("C-2", "C-22")),
    OpCase("sqrt", torch.sqrt, FLOATS, unary(), requirements=("C-2",)),
    OpCase("rsqrt", torch.rsqrt, FLOATS, unary(low=0.01), requirements=("C-2",)),
    OpCase("reciprocal", torch.reciprocal, FLOATS, unary(), exact=True, requirements=("C-2",)),
    OpCase("isnan", torch.isnan, FLOATS, unary(), exact=True, requirements=("C-2",)),
    OpCase("exp", torch.exp, (*FLOATS, torch.int64, torch.int32), unary(), requirements=("C-2", "C-3")),
    OpCase("tanh", torch.tanh, (*FLOATS, torch.int32), unary(), requirements=("C-2", "C-3")),
    OpCase("erf", torch.erf, FLOATS, unary(), requirements=("C-2",)),
    OpCase("sigmoid", torch.sigmoid, FLOATS, unary(), requirements=("C-2",)),
    OpCase("gelu", F.gelu, FLOATS, unary(), kernels=1, requirements=("C-2", "F-6")),
    OpCase("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), (torch.float32, torch.float16), unary(), requirements=("C-2",)),
    OpCase("silu", F.silu, (torch.float32, torch.bfloat16), unary(), requirements=("C-2",)),
    OpCase("clamp", lambda x: torch.clamp(x, -1, 2), (torch.float32, torch.int64), unary(), exact=True, requirements=("C-2", "C-22")),
    OpCase("logical", lambda a, b: torch.logical_and(a, b) | ~a, (torch.bool,), binary, exact=True, requirements=("C-2",)),
    OpCase("bitwise", lambda a, b: (a & b) ^ (a | b), (*INTEGERS, torch.bool), binary, exact=True, requirements=("C-2",)),
    OpCase("chain", lambda a, b: torch.relu(a * b - a) / (b.abs() + 0.5), FLOATS, binary, kernels=1, requirements=("F-6",)),
    OpCase("scalars", lambda x: (x * 2 + 1.5 - 0.25) / 3, FLOATS, unary(), requirements=("C-2",)),
]
