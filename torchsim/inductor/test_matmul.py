"""Matrix products: templates, what fuses into them, and the vector forms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

R = torch.randn


def matmul_of(group: Any) -> Any:
    return next(node for node in group.nodes if node.kind == "matmul")


@pytest.mark.req("C-1", "C-22")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_mm_is_a_template(check: Any, dtype: torch.dtype) -> None:
    backend = check(torch.mm, R(9, 20).to(dtype), R(20, 7).to(dtype), kernels=1)
    group, context, _ = backend.groups[0]
    assert [axis.name for axis in group.axes] == ["m", "n", "k"]
    assert [node.kind for node in group.nodes] == ["matmul"]
    assert context.golden == {group.args[-1].name: "mm"}


@pytest.mark.req("C-1", "F-6", "C-17")
def test_relu_addmm_is_one_kernel_with_one_store(check: Any) -> None:
    backend = check(lambda x, w, b: torch.relu(torch.addmm(b, x, w)), R(9, 20), R(20, 7), R(7), kernels=1)
    group = backend.groups[0][0]
    assert group.origins == ("addmm", "relu")
    assert [node.store is not None for node in group.nodes] == [False, True]


@pytest.mark.req("F-6")
def test_prologue_template_and_chained_epilogues_are_one_kernel(check: Any) -> None:
    backend = check(lambda x, w, b: torch.relu((x * 2 + 1) @ w.t() + b) * 3, R(9, 20), R(7, 20), R(7), kernels=1)
    assert any(op.name == "mul" for op in matmul_of(backend.groups[0][0]).ops)
    backend = check(lambda x, w, r: F.gelu(torch.tanh(x) @ w) + r, R(9, 20), R(20, 7), R(9, 7), kernels=1)
    assert next(node.kind for node in backend.groups[0][0].nodes) == "matmul"


@pytest.mark.req("C-17")
def test_live_product_under_an_epilogue_is_stored(check: Any) -> None:
    def live(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x @ w
        return y, torch.sigmoid(y + b)

    backend = check(live, R(9, 20), R(20, 7), R(7), kernels=1)
    assert [node.store is not None for node in backend.groups[0][0].nodes] == [True, True]


@pytest.mark.req("F-5")
def test_reductions_after_a_product_are_their_own_kernel(check: Any) -> None:
    check(lambda x, w: (x @ w).sum(-1), R(9, 20), R(20, 7), kernels=2)
    check(lambda x, w: torch.softmax(x @ w, -1), R(9, 20), R(20, 7), kernels=2)


@pytest.mark.req("C-1", "C-22")
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int32, torch.int8], ids=str)
def test_products_without_array_form(check: Any, dtype: torch.dtype) -> None:
    x, w = (R(5, 9) * 9).to(dtype), (R(9, 4) * 9).to(dtype)
    backend = check(torch.mm, x, w)
    assert all(node.kind != "matmul" for group, _, _ in backend.groups for node in group.nodes)


@pytest.mark.req("C-1", "C-23")
def test_shapes_and_strides(check: Any) -> None:
    big = R(30, 40)
    for x, w in (
        (big[:9, 3:23], R(20, 7)),
        (R(20, 9).t(), R(7, 20).t()),
        (R(1, 20), R(20, 1)),
        (R(9, 1), R(1, 7)),
        (big[::2, ::4], R(10, 3)),
        (R(1, 1), R(1, 1)),
    ):
        check(lambda x, w: torch.relu(x @ w + 1), x, w, kernels=1)
    check(torch.mm, R(4, 0), R(0, 3))
    check(torch.mm, torch.empty(0, 4), R(4, 3), kernels=0)


@pytest.mark.req("C-1")
def test_scaled_addmm_and_batched_inputs(check: Any) -> None:
    check(lambda b, x, w: torch.addmm(b, x, w, beta=0.5, alpha=2), R(9, 7), R(9, 20), R(20, 7), kernels=1)
    check(lambda b, x, w: torch.addmm(b, x, w, beta=0), R(9, 7), R(9, 20), R(20, 7), kernels=1)
    check(lambda x, w, b: F.gelu(F.linear(x, w, b)), R(2, 6, 20), R(7, 20), R(7), kernels=1)
    check(lambda x, w: x @ w, R(2, 6, 20), R(2, 20, 5))
    check(lambda x, w: x @ w, R(6, 20), R(20))
    check(lambda x: (x * 2) @ (x * 2), R(6, 6))
    check(lambda x: (lambda y: y @ y)(x + 1), R(6, 6))


@pytest.mark.req("C-1")
def test_views_of_a_product(check: Any) -> None:
    check(lambda x, w: (x @ w).t() + 1, R(9, 20), R(20, 6))
    check(lambda x, w: torch.relu((x @ w).view(9, 2, 3).transpose(0, 1)), R(9, 20), R(20, 6))
    check(lambda x, w, y: x @ w + y.t(), R(9, 20), R(20, 6), R(6, 9), kernels=1)
