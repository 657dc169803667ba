"""Whole functions through torch.compile and the group evaluator, against eager CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

R = torch.randn

# Inductor itself calls deprecated helpers of torch.
pytestmark = pytest.mark.filterwarnings("ignore:.torch._prims_common.check. is deprecated:FutureWarning")


def ints(*size: int, low: int = -50, high: int = 50, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.randint(low, high, size).to(dtype)


def rest(*values: Any) -> list[Any]:
    """Parameters that only the full run draws."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)

UNARY = {
    "neg": torch.neg,
    "abs": torch.abs,
    "sign": torch.sign,
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.1),
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 0.5),
    "relu": torch.relu,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": torch.round,
    "exp": torch.exp,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sin": torch.sin,
    "cos": torch.cos,
    "log": lambda x: torch.log(x.abs() + 0.1),
    "atan": torch.atan,
    "sigmoid": torch.sigmoid,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "square": torch.square,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "softsign": F.softsign,
    "elu_like": lambda x: torch.where(x > 0, x, x * 0.5),
    "clamp": lambda x: torch.clamp(x, -0.5, 0.7),
    "pow2": lambda x: x**2,
    "pow3": lambda x: x**3,
    "powhalf": lambda x: x.abs() ** 0.5,
    "scalar_mul": lambda x: x * 0.1,
    "scalar_div": lambda x: x / 3,
    "rsub": lambda x: 1.3 - x,
    "signbit": torch.signbit,
    "frac": torch.frac,
    "logical_not": torch.logical_not,
    "relu6": F.relu6,
}
IN_F64 = {
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log1p": lambda x: torch.log1p(x.abs()),
    "log2": lambda x: torch.log2(x.abs() + 0.1),
    "log10": lambda x: torch.log10(x.abs() + 0.1),
    "erfc": torch.erfc,
    "tan": torch.tan,
    "pow1.5": lambda x: x.abs() ** 1.5,
    "pow-0.7": lambda x: (x.abs() + 0.1) ** -0.7,
    "softplus": F.softplus,
    "elu": F.elu,
    "logaddexp": lambda x: torch.log(torch.exp(x) + 1),
}


@pytest.mark.req("C-2", "C-22")
@pytest.mark.parametrize("dtype", [*FLOATS[:3], *rest(torch.float64)], ids=str)
@pytest.mark.parametrize("group", range(3))
def test_unary_functions(check: Any, dtype: torch.dtype, group: int) -> None:
    """A third of the unary functions at once, special values included, in one multi-output graph."""
    functions = list(UNARY.values())[group::3]
    x = torch.cat([R(37) * 3, torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 0.5, 1.5, 2.5, -0.5])]).to(
        dtype
    )
    check(lambda x: [function(x) for function in functions], x)


@pytest.mark.req("C-2")
@pytest.mark.parametrize("dtype", [torch.float32, *rest(torch.float16, torch.bfloat16)], ids=str)
def test_functions_computed_in_f64(check: Any, dtype: torch.dtype) -> None:
    x = torch.cat([R(60) * 3, R(20) * 1e-6, torch.tensor([0.0, 1.0, -1.0, 5.0, -5.0, 9.0, 1e-3])]).to(dtype)
    check(lambda x: [function(x) for function in IN_F64.values()], x)


@pytest.mark.req("C-2")
def test_power_with_tensor_exponent(check: Any) -> None:
    values = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, float("inf"), float("-inf"), float("nan"), 7.5])
    base, exponent = torch.meshgrid(values, values, indexing="ij")
    check(torch.pow, base.contiguous(), exponent.contiguous())


@pytest.mark.req("C-2")
@pytest.mark.parametrize(
    "dtype", [*FLOATS[:2], torch.int32, torch.uint8, *rest(*FLOATS[2:], torch.int64, torch.int16, torch.int8)], ids=str
)
def test_binary_functions(check: Any, dtype: torch.dtype) -> None:
    if dtype.is_floating_point:
        x, y = (R(90) * 4).to(dtype), (R(90) * 3).to(dtype)
    else:
        low = 0 if dtype is torch.uint8 else -100
        x, y = ints(90, low=low, high=100, dtype=dtype), ints(90, low=max(low, 1), high=9, dtype=dtype)
    functions = [
        torch.add,
        torch.sub,
        torch.mul,
        torch.true_divide,
        torch.minimum,
        torch.maximum,
        torch.eq,
        torch.ne,
        torch.lt,
        torch.le,
        torch.gt,
        torch.ge,
    ]
    functions += [
        torch.fmod,
        torch.remainder,
        torch.floor_divide,
        lambda x, y: torch.add(x, y, alpha=2),
        lambda x, y: torch.where(x > y, x, y),
        torch.logical_and,
    ]
    functions += [torch.logical_or, torch.logical_xor, lambda x, y: torch.div(x, y, rounding_mode="trunc")]
    if not dtype.is_floating_point:
        functions += [
            torch.bitwise_and,
            torch.bitwise_or,
            torch.bitwise_xor,
            lambda x, y: torch.bitwise_not(x),
            lambda x, y: x << (y & 3),
            lambda x, y: x >> (y & 3),
        ]
    check(lambda x, y: [function(x, y) for function in functions], x, y)


@pytest.mark.req("C-2")
def test_floor_division_of_floats_is_exact(check: Any) -> None:
    """1.0 // 0.1 is 9 in eager, though 1.0 / 0.1 rounds to 10."""
    x, y = (
        torch.tensor([1.0, 3.0, -1.0, 0.3, 7.5, 1.0, float("inf"), -2.0]),
        torch.tensor([0.1, 0.1, 0.1, 0.1, -2.5, 0.0, 2.0, float("inf")]),
    )
    check(lambda x, y: [x // y, torch.floor_divide(x, 0.1), torch.div(x, y, rounding_mode="floor"), x % y], x, y)
    check(lambda x, y: x // y, x.bfloat16(), y.bfloat16())


@pytest.mark.req("C-2", "C-22")
def test_bool_functions(check: Any) -> None:
    x, y = R(40) > 0, R(40) > 0.3
    check(
        lambda x, y: [
            x & y,
            x | y,
            x ^ y,
            ~x,
            x.logical_and(y),
            x == y,
            x + y,
            x * y,
            torch.maximum(x, y),
            torch.where(x, y, ~y),
            x.float() + 1,
            x.any(),
            y.all(),
            x.sum(),
        ],
        x,
        y,
    )


@pytest.mark.req("C-22")
@pytest.mark.parametrize("source", [*FLOATS, torch.int32, torch.int8, torch.bool, *rest(torch.int64, torch.int16, torch.uint8)], ids=str)
def test_casts(check: Any, source: torch.dtype) -> None:
    x = (R(60) * 20).abs().to(source) if source is torch.uint8 else (R(60) * 20).to(source)
    targets = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.bool]
    check(lambda x: [x.to(target) for target in targets], x)


@pytest.mark.req("C-3")
def test_float_functions_of_integers_compute_in_f32(check: Any) -> None:
    x = ints(30, low=1, high=20)
    backend = check(lambda x: [torch.exp(x * 1.0), torch.sqrt(x), torch.sigmoid(x), torch.tanh(x), x / 3, torch.rsqrt(x), torch.log(x)], x)
    for group, _, _ in backend.groups:
        assert {
            op.dtype.value for node in group.nodes for op in node.ops if op.name in ("exp", "sqrt", "sigmoid", "tanh", "truediv", "log")
        } == {"f32"}


@pytest.mark.req("C-22")
def test_half_rounds_after_every_op(check: Any) -> None:
    """A sum that only comes out as eager's when each of the three additions rounds to the half type."""
    x = torch.tensor([2048.0, 1.0, 4096.0], dtype=torch.float16)
    check(lambda x: (x + 1) + 1 - x, x, rtol=0, atol=0)
    y = (R(200) * 5).bfloat16()
    check(lambda y: (y * 1.1 + y) * y - 0.3, y, rtol=0, atol=0)


REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": torch.amax,
    "amin": torch.amin,
    "var": torch.var,
    "std0": lambda x, dim: torch.std(x, dim, correction=0),
    "logsumexp": torch.logsumexp,
}


@pytest.mark.req("C-4")
@pytest.mark.parametrize("dims", [(0,), (2,), (0, 2), (0, 1, 2), *rest((1,), (0, 1), (1, 2))], ids=str)
def test_reductions_over_any_axes(check: Any, dims: tuple[int, ...]) -> None:
    x = R(5, 6, 7)
    check(lambda x: [reduce(x, dim=dims) for reduce in REDUCTIONS.values()], x)
    check(lambda x: [x.sum(dims, keepdim=True) + x, *torch.var_mean(x, dims)], x)


@pytest.mark.req("C-4", "C-22")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, *rest(torch.float64)], ids=str)
def test_reductions_of_other_floats(check: Any, dtype: torch.dtype) -> None:
    x = R(9, 31).to(dtype)
    check(lambda x: [reduce(x, dim=1) for reduce in REDUCTIONS.values()], x)


@pytest.mark.req("C-4", "C-5")
@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, *rest(torch.int64, torch.int16, torch.int8)], ids=str)
def test_integer_reductions(check: Any, dtype: torch.dtype) -> None:
    x = ints(6, 20, low=0 if dtype is torch.uint8 else -100, high=100, dtype=dtype)
    check(lambda x: [x.sum(1), x.amax(0), x.amin(1), x.prod(0), (x > 3).any(1), (x > -90).all(0), x.max(), x.min()], x)


@pytest.mark.req("C-4")
def test_whole_reductions_and_prod(check: Any) -> None:
    x = R(4, 5, 6)
    check(lambda x: [x.sum(), x.mean(), x.max(), x.min(), x.prod(), x.var(), x.norm()], x)
    check(lambda x: [x.max(), x.amin(1), torch.relu(x).amax()], torch.tensor([[1.0, float("nan")], [2.0, 3.0]]))


@pytest.mark.req("C-4", "C-23")
def test_reductions_over_nothing_and_of_scalars(check: Any) -> None:
    check(lambda x: [x.sum(1), x.prod(1), x.any(1), x.all(1)], torch.empty(4, 0))
    check(lambda x: [x.sum(), x + 1, x.mean()], torch.tensor(3.0))
    check(lambda x: [x.sum(0), x.sum(1), x.amax((0, 2))], R(1, 3, 1))


@pytest.mark.req("C-23")
def test_zero_size_outputs_emit_no_kernel(check: Any) -> None:
    check(lambda x: [x + 1, x.t() * 2], torch.empty(0, 4), kernels=0)


VIEWS = {
    "transpose": lambda x: x.t() * 2,
    "slice": lambda x: x[1:, ::2] + 1,
    "flip": lambda x: x.flip(0) + x.flip((0, 1)),
    "expand": lambda x: x[:, :1].expand(6, 10) + x,
    "reshape": lambda x: x.reshape(4, 15) * x.view(4, 15),
    "unflatten": lambda x: (x.view(2, 3, 10) + 1).permute(2, 0, 1).reshape(10, 6),
    "select": lambda x: x[2] + x[:, 3].sum(),
    "narrow": lambda x: x.narrow(1, 3, 4).contiguous(),
    "unsqueeze": lambda x: x[:, None, :] * x[None, :, :],
    "as_strided": lambda x: x.as_strided((4, 3), (7, 2), 5) + 1,
    "diagonal": lambda x: x.diagonal() + 1,
    "repeat_interleave": lambda x: x[:, :, None].expand(6, 10, 2).reshape(6, 20) + 1,
    "movedim": lambda x: x.view(2, 3, 10).movedim(0, 2).contiguous() - 1,
    "view_of_transpose": lambda x: x.t().reshape(60) + x.reshape(60),
    "chunk": lambda x: [part * 2 for part in x.chunk(2, 1)],
    "split_view": lambda x: x.view(6, 5, 2).transpose(1, 2).reshape(6, 10) + x,
    "clone": lambda x: x.t().clone(),
    "fill": lambda x: torch.full_like(x, 2.5) + x,
    "arange": lambda x: x + torch.arange(10, device=x.device),
    "triu": torch.triu,
    "eye": lambda x: torch.eye(6, 10, device=x.device) + x,
    "tril_mask": lambda x: x.masked_fill(torch.ones(6, 10, device=x.device).tril() == 0, float("-inf")),
    "regroup_transposed": lambda x: x.t().reshape(-1, 4).sum(1),
    "regroup_twice": lambda x: (x.view(2, 3, 10).transpose(0, 1) * 2).reshape(4, 15).sum(0),
    "regroup_flip": lambda x: (x.flip(1) + 1).reshape(4, 15) * 2,
    "pixel_unshuffle": lambda x: x.view(2, 3, 5, 2).permute(0, 3, 1, 2).reshape(4, 15) * 2,
    "mod_index": lambda x: x + (torch.arange(60, device=x.device) % 7).view(6, 10),
}


@pytest.mark.req("C-23", "C-13", "C-18")
@pytest.mark.parametrize("name", rest(*VIEWS))
def test_view_alone(check: Any, name: str) -> None:
    check(VIEWS[name], R(6, 10))


@pytest.mark.req("C-23", "C-13", "C-18")
@pytest.mark.parametrize("group", range(7))
def test_views_together(check: Any, group: int) -> None:
    """Some views of one tensor in one graph, so that they meet in fused kernels."""
    views = list(VIEWS.values())[group::7]
    check(lambda x: [view(x) for view in views], R(6, 10))


@pytest.mark.req("C-23")
def test_non_contiguous_inputs(check: Any) -> None:
    base = R(12, 20)
    for view in (base.t(), base[2:9, 1::3], base[3], base[:, 5:6].expand(12, 7), base.flip(0), base[::2].t()):
        check(lambda x: [x * 2 + 1, x.sum(0), x.sum(-1)], view)


@pytest.mark.req("F-6", "C-4")
def test_softmax_is_one_kernel(check: Any) -> None:
    backend = check(lambda x: torch.softmax(x, -1), R(7, 33), kernels=1)
    group = backend.groups[0][0]
    assert [node.kind for node in group.nodes] == ["reduction", "reduction", "pointwise"]
    assert group.origins == ("amax", "sub", "exp", "sum_1", "div")
    assert [arg.role for arg in group.args] == ["input", "output"]
    check(lambda x: torch.log_softmax(x, 1), R(3, 8, 5))
    check(lambda x: torch.softmax(x * 2 + 1, -1) * 3, R(2, 3, 4, 10).bfloat16(), kernels=1)


@pytest.mark.req("F-6", "C-4")
def test_layer_norm_is_one_kernel(check: Any) -> None:
    backend = check(lambda x, w, b: F.layer_norm(x, (40,), w, b), R(7, 40), R(40), R(40), kernels=1)
    assert {node.reduction for node in backend.groups[0][0].nodes} == {"sum", None}
    check(lambda x: F.layer_norm(x, (4, 10)), R(3, 4, 10), kernels=1)
    check(lambda x, w: F.rms_norm(x, (40,), w), R(7, 40), R(40), kernels=1)


@pytest.mark.req("D-7")
def test_cpu_scalars_and_transfers(check: Any, backend: Any) -> None:
    x, scale = R(4, 5), torch.tensor(2.5)
    result = torch.compile(lambda x, s: (x * s + s).cpu())(x.to("npu"), scale)
    assert result.device.type == "cpu"
    torch.testing.assert_close(result, x * scale + scale)
    assert len(backend.groups) == 1


@pytest.mark.req("C-22")
def test_nan_and_infinity_propagate(check: Any) -> None:
    x = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0])
    y = x.flip(0).contiguous()
    check(
        lambda x, y: [
            torch.maximum(x, y),
            torch.minimum(x, y),
            torch.relu(x),
            torch.clamp(x, -1, 1),
            x + y,
            x * y,
            x == y,
            x != y,
            x.max(),
            x.sum(),
        ],
        x,
        y,
    )
