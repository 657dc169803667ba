"""Random programs: chains of ops over random shapes and views, compiled and evaluated as groups, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Tensor = torch.Tensor
STEPS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "affine": lambda x: x * 0.5 + 1,
    "tanh": torch.tanh,
    "square": torch.square,
    "where": lambda x: torch.where(x > 0.2, x, x * 0.1),
    "center": lambda x: x - x.mean(-1, keepdim=True),
    "softmax": lambda x: torch.softmax(x, 0),
    "normalise": lambda x: x / (x.abs().amax(0, keepdim=True) + 1),
    "transpose": lambda x: x.transpose(0, -1),
    "flip": lambda x: x.flip(0),
    "step": lambda x: x[..., ::2],
    "drop": lambda x: x[1:] if x.shape[0] > 1 else x,
    "flatten": lambda x: x.reshape(x.shape[0], -1),
    "add_transposed": lambda x: x + x.reshape(-1).sum(),
    "expand": lambda x: x.unsqueeze(0).expand(2, *x.shape) if x.dim() < 4 else x,
    "gram": lambda x: torch.tanh(x.reshape(x.shape[0], -1) @ x.reshape(x.shape[0], -1).t()),
    "half": lambda x: x.half().float(),
    "integers": lambda x: (x * 4).to(torch.int32).to(x.dtype) + 0.25,
    "fold": lambda x: x.reshape(-1, 2).sum(1) if x.numel() % 2 == 0 else x.reshape(-1),
    "sum_first": lambda x: x.sum(0) if x.dim() > 1 else x,
    "var": lambda x: x.var(0, correction=0) if x.dim() > 1 else x,
    "max_last": lambda x: x.amax(-1) if x.dim() > 1 else x,
}
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1),
    "sliced": lambda x: x[..., 1:] if x.shape[-1] > 1 else x,
    "broadcast": lambda x: x[:1].expand(3, *x.shape[1:]),
}


@pytest.mark.req("F-6", "C-23", "C-4")
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    view=st.sampled_from(sorted(VIEWS)),
    steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5),
    keep=st.booleans(),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_random_chains(check: Any, sizes: list[int], view: str, steps: list[str], keep: bool, seed: int) -> None:
    x = VIEWS[view](torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)))

    def program(x: Tensor) -> list[Tensor]:
        results: list[Tensor] = []
        for step in steps:
            x = STEPS[step](x)
            if keep:
                results.append(x)
        return [*results, x * 1]

    torch._dynamo.reset()
    check(program, x, rtol=2e-4, atol=2e-5)
