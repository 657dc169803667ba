"""The derived tolerance accepts honest sums in any order and always catches half-precision accumulators and lost or doubled elements."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.tolerance import compare, ulp


def _rows(length: int, seed: int) -> torch.Tensor:
    return torch.randn(32, length, generator=torch.Generator().manual_seed(seed))


def _sequential(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(x.shape[0])
    for column in x.unbind(1):
        total = total + column
    return total


@pytest.mark.req("H-3")
@settings(max_examples=40)
@given(length=st.integers(2, 600), seed=st.integers(0, 1000))
def test_sums_in_another_order_pass(length: int, seed: int) -> None:
    x = _rows(length, seed)
    outcome = compare(_sequential(x), x.sum(1), x.double().sum(1), exact=False, length=length)
    assert outcome.difference is None, outcome.difference


@pytest.mark.req("H-3")
@settings(max_examples=40)
@given(length=st.integers(4, 600), seed=st.integers(0, 1000), fault=st.sampled_from(["half", "dropped", "doubled"]))
def test_faults_are_caught(length: int, seed: int, fault: str) -> None:
    x = _rows(length, seed)
    wrong = {"half": lambda: x.half().sum(1).float(), "dropped": lambda: x[:, :-1].sum(1), "doubled": lambda: x.sum(1) + x[:, 0]}[fault]()
    outcome = compare(wrong, x.sum(1), x.double().sum(1), exact=False, length=length)
    assert outcome.difference is not None
    assert outcome.difference.elements == 32


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_ulp_is_the_gap_to_the_next_number(dtype: torch.dtype) -> None:
    values = torch.tensor([1.0, 1.5, 3.0, 1000.0, 0.1, 2.0**-10], dtype=dtype)
    gaps = torch.nextafter(values, torch.full_like(values, float("inf"))).double() - values.double()
    assert torch.equal(ulp(values.double(), dtype), gaps)


def test_exact_is_exact() -> None:
    x = torch.tensor([1.0, -0.0, float("nan"), float("inf")])
    assert compare(x.clone(), x, x.double(), exact=True).difference is None
    assert compare(torch.tensor([1.0, 0.0, float("nan"), float("inf")]), x, x.double(), exact=True).difference is not None
    off = compare(torch.tensor([1.0, -0.0, float("nan"), -float("inf")]), x, x.double(), exact=True).difference
    assert off is not None
    assert off.first_index == (3,)


def test_report_names_first_and_worst() -> None:
    x = torch.zeros(4, 5)
    found = x.clone()
    found[1, 2], found[3, 4] = 1.0, 7.0
    difference = compare(found, x, x.double(), exact=False).difference
    assert difference is not None
    assert (difference.count, difference.first_index, difference.worst_index, difference.max_abs) == (2, (1, 2), (3, 4), 7.0)


def test_other_shape_or_type_is_refused() -> None:
    with pytest.raises(ValueError, match="shape or dtype"):
        compare(torch.zeros(2), torch.zeros(3), torch.zeros(3).double(), exact=True)


@pytest.mark.req("H-3")
def test_error_scale_of_an_ill_conditioned_chain_covers_honest_rounding() -> None:
    """Layer norm of nearly equal values: eager's own error over three elements may be lucky, random rounding errors are not."""
    from oracles.golden import Golden

    def chain(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(torch.rsqrt(x + 1000) * 1e4, (3,))

    x = torch.tensor([0.5, -1.25, 2.0])
    graph = torch.fx.symbolic_trace(chain)
    golden = Golden(graph, [x])
    value = golden.value(next(node.name for node in graph.graph.nodes if node.name.startswith("layer_norm")))
    assert value is not None
    spread = float((value.truth - value.eager.double()).abs().max())
    assert value.error >= spread
    assert 1e-6 < value.error < 1e-2


@pytest.mark.req("H-3")
def test_error_scale_of_a_float64_sum_that_cancels_covers_another_order() -> None:
    """tanh saturates exactly in float32, so a float32 evaluation alone would say that nothing is ever rounded."""
    from oracles.golden import Golden

    x = torch.tensor([29.0, -31.0, 12.0, -12.5, 40.0, -9.5, 3.0], dtype=torch.float64)
    graph = torch.fx.symbolic_trace(lambda x: torch.tanh(x).sum())
    golden = Golden(graph, [x])
    value = golden.value("sum_1")
    assert value is not None
    orders = [sum(torch.tanh(x)[torch.randperm(7, generator=torch.Generator().manual_seed(seed))].tolist()) for seed in range(50)]
    spread = max(abs(total - float(value.truth)) for total in orders)
    assert 0 < spread <= 3 * value.error
    assert value.error < 1e-14
