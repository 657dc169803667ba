"""Runs a Group directly on tensors with whole-array torch ops: the oracle leg between Inductor's graph and the kernel plan.

It knows nothing of tiles, lanes or passes; every node is evaluated over its whole domain, every access becomes an index array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from torchsim.errors import InternalError
from torchsim.inductor.analysis.types import TO_TORCH
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Group, IndexExpr, Node, Op

Tensor = torch.Tensor


def evaluate_group(group: Group, tensors: Sequence[Tensor]) -> None:
    """Execute a group on CPU tensors, in place.

    Args:
        group: the analysed kernel.
        tensors: one per argument; element 0 of the argument is the tensor's first element, strides are ignored.
    """
    with torch.no_grad():
        _Run(group, tensors).run()


def flat(tensor: Tensor, elements: int) -> Tensor:
    """The argument's memory as ``elements`` consecutive elements."""
    return torch.as_strided(tensor, (elements,), (1,), tensor.storage_offset())


class _Run:
    def __init__(self, group: Group, tensors: Sequence[Tensor]) -> None:
        self.group = group
        self.memory = {arg.name: flat(tensor, arg.elements) for arg, tensor in zip(group.args, tensors, strict=True)}
        self.values: dict[str, Tensor] = {}
        self.extents = [axis.extent for axis in group.axes]

    def run(self) -> None:
        for node in self.group.nodes:
            result = self._matmul(node) if node.kind == "matmul" else self._node(node)
            self.values[node.name] = result
            if node.store is not None:
                where = self._positions(node.store, full=result.dim() == len(self.extents) and self._spans_reductions(result))
                self.memory[node.store.tensor][where] = result.expand(where.shape)

    def _spans_reductions(self, value: Tensor) -> bool:
        return any(value.shape[axis] > 1 for axis in self.group.reductions)

    def _positions(self, access: Access | IndexExpr, full: bool) -> Tensor:
        """Index array over the domain (reduction axes only when ``full``)."""
        total = torch.tensor(access.offset).reshape([1] * len(self.extents))
        for axis, (extent, coefficient) in enumerate(zip(self.extents, access.coefficients)):
            if self.group.axes[axis].reduction and not full:
                continue
            shape = [1] * len(self.extents)
            shape[axis] = extent
            total = total + (torch.arange(extent) * coefficient).reshape(shape)
        return total

    def _node(self, node: Node) -> Tensor:
        full = node.full
        value = self._body(node.ops, full)[node.result[0]]
        if node.reduction is None:
            return value
        shape = list(self.extents)
        return _REDUCE[node.reduction](value.expand(shape), list(self.group.reductions), node.dtype)

    def _matmul(self, node: Node) -> Tensor:
        """(.., m, k) x (.., k, n), accumulated in f64 and rounded to f32, then to the node's type."""
        rank = len(self.extents)
        values = self._body(node.ops, True)
        left, right = (values[op].double() for op in node.result)
        product = torch.zeros([*self.extents[:-1], 1], dtype=torch.float64)
        k_extent = self.extents[-1]
        left = left.expand([*left.shape[: rank - 1], k_extent])
        right = right.expand([*right.shape[: rank - 1], k_extent])
        for k in range(k_extent):
            product += left[..., k : k + 1] * right[..., k : k + 1]
        return product.to(TO_TORCH[node.dtype.accumulator]).to(TO_TORCH[node.dtype])

    def _body(self, ops: Sequence[Op], full: bool) -> list[Tensor]:
        results: list[Tensor] = []
        for op in ops:
            result = self._op(op, [results[arg] for arg in op.args], full)
            if result.dtype != TO_TORCH[op.dtype]:
                raise InternalError(
                    "an op has another type than it says",
                    expected=op.dtype.value,
                    found=str(result.dtype),
                    where=f"{self.group.name}: {op.name}",
                )
            results.append(result)
        return results

    def _op(self, op: Op, args: list[Tensor], full: bool) -> Tensor:
        dtype = TO_TORCH[op.dtype]
        if op.name == "load":
            assert isinstance(op.attribute, Access)
            return self.memory[op.attribute.tensor][self._positions(op.attribute, full)]
        if op.name == "value":
            return self.values[str(op.attribute)]
        if op.name == "constant":
            return torch.tensor(op.attribute, dtype=dtype).reshape([1] * len(self.extents))
        if op.name == "index":
            assert isinstance(op.attribute, IndexExpr)
            return self._positions(op.attribute, full).to(dtype)
        if op.name == "cast":
            return args[0].to(dtype)
        if op.name == "bitcast":
            return args[0].contiguous().view(dtype)
        if len({arg.dtype for arg in args[1 if op.name == "where" else 0 :]}) > 1:
            raise InternalError(
                "operands of different types", found=", ".join(str(arg.dtype) for arg in args), where=f"{self.group.name}: {op.name}"
            )
        return EVALUATE[op.name](*args)


def _sum(value: Tensor, axes: list[int], dtype: DType) -> Tensor:
    wide = value.double() if dtype.is_float else value.to(torch.int64)
    return wide.sum(axes, keepdim=True).to(TO_TORCH[dtype])


def _prod(value: Tensor, axes: list[int], dtype: DType) -> Tensor:
    wide = value.double() if dtype.is_float else value.to(torch.int64)
    for axis in axes:
        wide = wide.prod(axis, keepdim=True)
    return wide.to(TO_TORCH[dtype])


_REDUCE: dict[str, Callable[[Tensor, list[int], DType], Tensor]] = {
    "sum": _sum,
    "prod": _prod,
    "max": lambda value, axes, dtype: value.amax(axes, keepdim=True).to(TO_TORCH[dtype]),
    "min": lambda value, axes, dtype: value.amin(axes, keepdim=True).to(TO_TORCH[dtype]),
    "any": lambda value, axes, dtype: value.any(axes, keepdim=True).to(TO_TORCH[dtype]),
    "all": lambda value, axes, dtype: value.all(axes, keepdim=True).to(TO_TORCH[dtype]),
}


def _floordiv(a: Tensor, b: Tensor) -> Tensor:
    if a.is_floating_point():
        return torch.floor_divide(a, b)
    return torch.where(b == 0, torch.zeros_like(a), torch.floor_divide(a, torch.where(b == 0, torch.ones_like(b), b)))


def _guarded(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Integer division by zero has no result on the host; the device gives the dividend for remainders and zero for quotients."""

    def apply(a: Tensor, b: Tensor) -> Tensor:
        return function(a, b) if a.is_floating_point() else function(a, torch.where(b == 0, torch.ones_like(b), b))

    return apply


def _wide(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Special functions: the f64 result rounded once (half types by way of f32)."""

    def apply(a: Tensor) -> Tensor:
        result = function(a.double())
        return result.to(torch.float32).to(a.dtype) if a.dtype != torch.float64 else result

    return apply


def _fma(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return (a.double() * b.double() + c.double()).to(a.dtype) if a.dtype != torch.float64 else torch.addcmul(c, a, b)


def _sqrt(a: Tensor) -> Tensor:
    """Correctly rounded; torch's own CPU square root (MKL's) is not always."""
    wide = a.to(torch.float32) if a.dtype in (torch.float16, torch.bfloat16) else a
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.asarray(np.sqrt(wide.numpy()))).to(a.dtype)


EVALUATE: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "truediv": torch.true_divide,
    "floordiv": _floordiv,
    "truncdiv": _guarded(lambda a, b: torch.div(a, b, rounding_mode="trunc")),
    "mod": _guarded(torch.fmod),
    "remainder": _guarded(torch.remainder),
    "neg": torch.neg,
    "abs": torch.abs,
    "sign": torch.sign,
    "fma": _fma,
    "sqrt": _sqrt,
    "rsqrt": lambda a: torch.reciprocal(_sqrt(a)),
    "reciprocal": torch.reciprocal,
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "relu": torch.relu,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": torch.round,
    "exp": _wide(torch.exp),
    "tanh": _wide(torch.tanh),
    "erf": _wide(torch.erf),
    "sin": _wide(torch.sin),
    "cos": _wide(torch.cos),
    "log": _wide(torch.log),
    "atan": _wide(torch.atan),
    "sigmoid": _wide(torch.sigmoid),
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "logical_not": torch.logical_not,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "bitwise_not": torch.bitwise_not,
    "shift_left": torch.bitwise_left_shift,
    "shift_right": torch.bitwise_right_shift,
    "where": torch.where,
}
"""Op name -> torch function with the meaning of plan.ops."""
