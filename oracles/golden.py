"""CPU golden: the post-grad fx graph run on the host, every node's value recorded, in its own dtypes and in float64."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from oracles.tolerance import NOISE_SEEDS, error_scale, perturb

_EXACT = frozenset(
    {
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "abs",
        "relu",
        "maximum",
        "minimum",
        "clamp",
        "clamp_min",
        "clamp_max",
        "where",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "logical_not",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_not",
        "bitwise_xor",
        "isnan",
        "isinf",
        "sign",
        "convert_element_type",
        "_to_copy",
        "clone",
        "copy",
        "copy_",
        "view",
        "_unsafe_view",
        "reshape",
        "permute",
        "t",
        "transpose",
        "expand",
        "slice",
        "select",
        "squeeze",
        "unsqueeze",
        "as_strided",
        "amax",
        "amin",
        "max",
        "min",
        "any",
        "all",
        "full",
        "full_like",
        "cat",
        "flip",
        "alias",
        "detach",
        "empty",
        "arange",
        "iota",
        "ceil",
        "floor",
        "trunc",
        "round",
        "reciprocal",
        "zeros",
        "ones",
        "zeros_like",
        "ones_like",
        "lift_fresh_copy",
        "scalar_tensor",
        "fill",
        "getitem",
        "squeeze_",
    }
)
"""Ops that move values or round exactly once, so that device and eager must agree bit for bit (torch's vectorised sqrt is off by
an ulp on some hosts)."""

_UNSIGNED_ZERO = frozenset({"maximum", "minimum", "clamp", "clamp_min", "clamp_max", "relu", "amax", "amin", "max", "min", "sum", "mean"})
"""Ops whose zeros have a sign that eager leaves open."""


@dataclass(frozen=True, slots=True)
class Value:
    """One node: ``eager`` value, float64 ``truth``, whether bits must agree and zeros are signed, the longest reduction behind it,
    and the error scale E."""

    eager: torch.Tensor
    truth: torch.Tensor
    exact: bool
    signed_zero: bool
    length: int
    error: float


class Golden:
    """Runs a graph on copies of its inputs and answers by node name."""

    def __init__(self, graph_module: fx.GraphModule, inputs: Sequence[Any]) -> None:
        host = [_to_host(item) for item in inputs]
        self._eager = _Recorder(graph_module, None).record(host)
        self._truth = _Recorder(graph_module, torch.float64).record(host)
        has_wide = any(isinstance(value, torch.Tensor) and value.dtype is torch.float64 for value in self._eager.values())
        self._narrow = _Recorder(graph_module, torch.float32).record(host) if has_wide else {}
        self._noisy = [_Recorder(graph_module, torch.float64, noise=seed).record(host) for seed in NOISE_SEEDS]
        self._facts = _classify(graph_module)

    def value(self, node: str) -> Value | None:
        """The recorded tensor of an fx node; None when the node made no tensor."""
        eager = self._eager.get(node)
        if not isinstance(eager, torch.Tensor):
            return None
        truth = self._truth[node]
        assert isinstance(truth, torch.Tensor)
        facts = self._facts[node]
        error = error_scale(eager, truth, self._narrow.get(node, eager), [noisy[node] for noisy in self._noisy])
        return Value(eager, truth, facts.exact, facts.signed_zero, facts.length, error)


class _Recorder(fx.Interpreter):
    """Interpreter that runs on the host and keeps a copy of every node's value (in-place ops later change the original).

    Args:
        graph_module: the graph.
        floats: evaluate all floating-point values in this type; None keeps the graph's own.
        noise: seed of random rounding errors, see oracles.tolerance.perturb; None for none.
    """

    def __init__(self, graph_module: fx.GraphModule, floats: torch.dtype | None, noise: int | None = None) -> None:
        super().__init__(graph_module, garbage_collect_values=False)
        self._floats = floats
        self._noise = None if noise is None else torch.Generator().manual_seed(noise)
        self._values: dict[str, Any] = {}

    def record(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """Run on copies of host inputs; values by node name."""
        self.run(*[self._host(item.clone()) if isinstance(item, torch.Tensor) else item for item in inputs])
        return self._values

    def run_node(self, n: fx.Node) -> Any:
        if n.target is operator.getitem and isinstance(source := n.args[0], fx.Node) and self.env[source] is None:
            return None  # an in-place foreach op returns nothing; its results are its inputs
        value = super().run_node(n)
        value = self._host(value) if isinstance(value, torch.Tensor) else value
        if self._noise is not None and n.op == "call_function":
            value = perturb(value, n.meta.get("val"), self._noise)
        self._values[n.name] = value.clone() if isinstance(value, torch.Tensor) else value
        return value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args = fx.node.map_aggregate(args, self._host)  # type: ignore[assignment]
        kwargs = fx.node.map_aggregate(kwargs, self._host)  # type: ignore[assignment]
        return super().call_function(target, args, kwargs)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._host(_to_host(super().get_attr(target, args, kwargs)))

    def _host(self, item: Any) -> Any:
        """Device arguments become the host; float tensors and float dtypes become the chosen type."""
        if isinstance(item, torch.device):
            return torch.device("cpu")
        if self._floats is not None and isinstance(item, torch.dtype) and item.is_floating_point:
            return self._floats
        if self._floats is not None and isinstance(item, torch.Tensor) and item.dtype.is_floating_point:
            return item.to(self._floats)
        return item


def _to_host(item: Any) -> Any:
    return item.cpu() if isinstance(item, torch.Tensor) and item.device.type != "cpu" else item


def _base_name(node: fx.Node) -> str:
    target = node.target
    return target._opname if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", str(target))


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a node from the graph alone."""

    exact: bool
    signed_zero: bool
    length: int


def _classify(graph_module: fx.GraphModule) -> dict[str, _Facts]:
    facts: dict[str, _Facts] = {}
    for node in graph_module.graph.nodes:
        sources = [facts[source.name] for source in node.all_input_nodes]
        name = _base_name(node)
        own = node.op in ("placeholder", "get_attr", "output") or (name in _EXACT and not node.kwargs.get("alpha"))
        if len(node.args) == 3 and name in ("add", "sub"):
            own = False
        facts[node.name] = _Facts(
            own and all(source.exact for source in sources),
            name not in _UNSIGNED_ZERO and all(source.signed_zero for source in sources),
            max([_own_length(node), *(source.length for source in sources)]),
        )
    return facts


def _own_length(node: fx.Node) -> int:
    """Terms that one output element of the node adds up: input elements per output element, or K of a matmul."""
    if node.op != "call_function":
        return 1
    shapes = [source.meta["val"].shape for source in node.all_input_nodes if isinstance(source.meta.get("val"), torch.Tensor)]
    name = _base_name(node)
    if name in ("mm", "bmm", "addmm", "baddbmm", "dot", "mv") and shapes:
        return int(shapes[-1][-2]) if len(shapes[-1]) > 1 else int(shapes[-1][-1])
    value = node.meta.get("val")
    outputs = [item for item in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(item, torch.Tensor)]
    if not shapes or not outputs:
        return 1
    largest = max(math.prod(int(size) for size in shape) for shape in shapes)
    most = max(item.numel() for item in outputs)
    return max(1, largest // max(1, most))
