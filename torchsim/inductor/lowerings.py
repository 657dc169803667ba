"""Lowerings of device npu, gated on the device so that other devices keep Inductor's own (returning None means: not mine)."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import torch
from torch._inductor import ir
from torch._inductor import lowering as table
from torch._inductor.virtualized import V, ops
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND

from torchsim.device import DEVICE_TYPE
from torchsim.inductor.policy import REALISE, RESHAPES
from torchsim.inductor.templates import MatmulBuffer

aten = torch.ops.aten
_ARRAY_TYPES = (torch.float32, torch.float16, torch.bfloat16)
_HALF_TYPES = (torch.float16, torch.bfloat16)


def _on_npu(*values: Any) -> bool:
    return any(
        isinstance(value, ir.TensorBox) and (device := value.get_device()) is not None and device.type == DEVICE_TYPE for value in values
    )


def _call(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Inductor's own lowering of another op."""
    return table.lowerings[op](*args, **kwargs)


def _empty_product(lhs: Any, rhs: Any, *sizes: Any) -> Any | None:
    """Zeros when a matrix product has no elements or nothing to add up; else None."""
    if all(int(size) for size in (*lhs.get_size(), *rhs.get_size())):
        return None
    return _call(aten.full.default, list(sizes), 0, dtype=lhs.get_dtype(), device=lhs.get_device())


def _multiply_and_sum(lhs: Any, rhs: Any, axis: int) -> Any:
    """Product of two broadcastable tensors summed over one axis, in the operands' type (half types through f32)."""
    dtype = lhs.get_dtype()
    wide = torch.float32 if dtype in _HALF_TYPES else dtype
    product = _call(aten.mul.Tensor, table.to_dtype(lhs, wide), table.to_dtype(rhs, wide))
    total = _call(aten.sum.dim_IntList, product, [axis])
    return table.to_dtype(total, dtype)


def mm(lhs: Any, rhs: Any) -> Any | None:
    """(m, k) x (k, n): the array for f32, f16 and bf16; multiply and sum on the vector unit for f64 and integers."""
    if not _on_npu(lhs, rhs):
        return None
    empty = _empty_product(lhs, rhs, lhs.get_size()[0], rhs.get_size()[1])
    if empty is not None:
        return empty
    if lhs.get_dtype() in _ARRAY_TYPES and lhs.get_dtype() == rhs.get_dtype():
        return MatmulBuffer.create(lhs, rhs)
    return _multiply_and_sum(_call(aten.unsqueeze.default, lhs, 2), _call(aten.unsqueeze.default, rhs, 0), 1)


def addmm(bias: Any, lhs: Any, rhs: Any, *, beta: Any = 1, alpha: Any = 1) -> Any | None:
    """beta * bias + alpha * (lhs @ rhs): a product with an epilogue."""
    product = mm(lhs, rhs)
    if product is None:
        return None
    if alpha != 1:
        product = _call(aten.mul.Tensor, product, alpha)
    if beta == 0:
        return product
    return _call(aten.add.Tensor, product, bias if beta == 1 else _call(aten.mul.Tensor, bias, beta))


def bmm(lhs: Any, rhs: Any) -> Any | None:
    """(b, m, k) x (b, k, n) on the vector unit."""
    if not _on_npu(lhs, rhs):
        return None
    empty = _empty_product(lhs, rhs, lhs.get_size()[0], lhs.get_size()[1], rhs.get_size()[2])
    if empty is not None:
        return empty
    return _multiply_and_sum(_call(aten.unsqueeze.default, lhs, 3), _call(aten.unsqueeze.default, rhs, 1), 2)


def power(base: Any, exponent: Any) -> Any | None:
    """float16 to a constant power: eager computes it in f32 and rounds once (bfloat16 rounds after every factor)."""
    if not _on_npu(base) or base.get_dtype() != torch.float16:
        return None
    return table.to_dtype(_call(aten.pow.Tensor_Scalar, table.to_dtype(base, torch.float32), exponent), torch.float16)


def divide(op: Any) -> Any:
    """True division that stays a division: Inductor multiplies by the reciprocal of a constant divisor, which rounds twice."""

    def lowering(dividend: Any, divisor: Any) -> Any | None:
        if not _on_npu(dividend, divisor):
            return None
        with patch.object(table, "get_constant_value", lambda value: None):
            return _call(op, dividend, divisor)

    return lowering


def divide_with_mode(dividend: Any, divisor: Any, rounding_mode: str | None = None) -> Any | None:
    """Floor division of floats as eager computes it, from the exact remainder; floor(a / b) would be off by one where a / b rounds up."""
    integers = table.is_integer_type(dividend) and table.is_integer_type(divisor)
    if not _on_npu(dividend, divisor) or rounding_mode != "floor" or integers:
        return None
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    operands, _ = table.transform_args([dividend, divisor], {}, True, kind, False)
    return table.make_pointwise(ops.floordiv)(*operands)


def _reshape(op: Any) -> Any:
    """A reshape whose operand is realised first when the policy asks for it."""

    def lower(x: Any, size: Any) -> Any | None:
        if not _on_npu(x) or not V.graph.current_node.meta.get(REALISE, False):
            return None
        return _call(op, ir.TensorBox(ir.ExternKernel.require_contiguous(ir.ExternKernel.realize_input(x))), size)

    return lower


def any_(x: Any, dim: Any = None, keepdim: bool = False) -> Any | None:
    """uint8 stays uint8, as in eager; Inductor's own lowering makes bool of every type."""
    if not _on_npu(x) or x.get_dtype() is not torch.uint8:
        return None
    found = table.make_reduction("any")(table.to_dtype(x, torch.bool), axis=dim, keepdims=keepdim)
    return table.to_dtype(found, torch.uint8)


def register() -> None:
    """Put them into Inductor's table of user lowerings."""
    table.user_lowerings.update({op: _reshape(op) for op in RESHAPES if op in table.lowerings})
    table.user_lowerings.update(
        {
            aten.mm.default: mm,
            aten.addmm.default: addmm,
            aten.bmm.default: bmm,
            aten.pow.Tensor_Scalar: power,
            aten.div.Tensor_mode: divide_with_mode,
            aten.any.default: any_,
            aten.any.dim: any_,
            aten.any.dims: any_,
        }
    )
    for op in (aten.div.Tensor, aten.true_divide.Tensor, torch.ops.prims.div.default):
        table.user_lowerings[op] = divide(op)
