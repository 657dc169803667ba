"""Results of scatters outlive the inputs that they were scattered into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

SCATTERS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "slice_scatter": lambda x, s: torch.slice_scatter(x, s[1:3], dim=0, start=1, end=3),
    "select_scatter": lambda x, s: torch.select_scatter(x, s[0], 0, 2),
    "scatter of a scatter": lambda x, s: torch.slice_scatter(torch.slice_scatter(x, s[:1], 0, 0, 1), s[2:3], 0, 3, 4),
}
OVERWRITES: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "zero_": lambda x, s: x.zero_(),
    "copy_ of another": lambda x, s: x.copy_(s),
    "add_": lambda x, s: x.add_(1),
    "part of it": lambda x, s: x[:2].zero_(),
}
USES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "itself": lambda y: y,
    "a view": lambda y: y[1:],
    "a value made later": lambda y: y * 2,
}


@pytest.mark.req("C-22")
@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_result_keeps_its_values(check: Any, scatter: str, overwrite: str) -> None:
    x, s = torch.randn(4, 6), torch.randn(4, 6)
    use = list(USES.values())[(list(SCATTERS).index(scatter) + list(OVERWRITES).index(overwrite)) % len(USES)]

    def function(x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        y = SCATTERS[scatter](x, s)
        OVERWRITES[overwrite](x, s)
        return use(y)

    check(function, x, s)


def test_scatter_back_into_the_input_stays_in_place(check: Any) -> None:
    """The input becomes the result: no copy of it is made."""
    check(lambda x, s: x.copy_(torch.slice_scatter(x, s[:2], 0, 1, 3)), torch.randn(4, 6), torch.randn(4, 6), kernels=1)


@pytest.mark.req("C-22")
def test_any_and_all_of_uint8_are_uint8(check: Any) -> None:
    x = torch.tensor([[0, 3], [0, 0], [7, 1]], dtype=torch.uint8)
    check(lambda x: (torch.any(x, 1), torch.any(x) * 200 + 100, torch.any(x, (0, 1), keepdim=True), torch.all(x, 1), torch.all(x) + 254), x)
