"""Groups for the tests of emission, and comparison of a compiled kernel with the plan interpreter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis, Group, Node, Op, TensorArg
from torchsim.plan.ops import OPS


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def size_of(shape: Sequence[int]) -> int:
    """Number of elements."""
    return int(np.prod(shape)) if shape else 1


def axes_of(shape: Sequence[int], reduced: Sequence[int] = ()) -> tuple[Axis, ...]:
    """Parallel axes, then the reduced ones."""
    order = [i for i in range(len(shape)) if i not in reduced] + list(reduced)
    return tuple(Axis(f"i{i}", shape[i], i in reduced) for i in order)


def pointwise_group(shape: Sequence[int], ops: Sequence[Op], inputs: Sequence[TensorArg], dtype: DType) -> Group:
    """One node over ``shape`` whose last op is stored to ``z``, contiguous."""
    node = Node("node", "pointwise", tuple(ops), (len(ops) - 1,), dtype, True, store=Access("z", strides_of(shape)), origins=("fx",))
    return Group("pointwise", (*inputs, TensorArg("z", dtype, size_of(shape), "output")), axes_of(shape), (node,))


def op_group(name: str, types: Sequence[DType], result: DType, shape: Sequence[int]) -> Group:
    """``z = name(x0, x1, ..)`` on contiguous tensors."""
    inputs = [TensorArg(f"x{i}", dtype, size_of(shape), "input") for i, dtype in enumerate(types)]
    ops = [Op("load", arg.dtype, (), Access(arg.name, strides_of(shape))) for arg in inputs]
    return pointwise_group(shape, [*ops, Op(name, result, tuple(range(len(types))))], inputs, result)


def argument_types(name: str, dtype: DType) -> tuple[list[DType], DType]:
    """Argument types and result type of an op on one type."""
    spec = OPS[name]
    types = [DType.BOOL, dtype, dtype] if name == "where" else [dtype] * spec.arity
    return types, DType.BOOL if spec.result == "bool" else dtype


def reduction_group(kind: str, dtype: DType, shape: Sequence[int], reduced: Sequence[int], accumulate: DType | None = None) -> Group:
    """``z = kind(x)`` over the axes ``reduced``; half types are cast to ``accumulate`` first."""
    kept = [i for i in range(len(shape)) if i not in reduced]
    order = [*kept, *reduced]
    strides = strides_of(shape)
    out = strides_of([shape[i] for i in kept])
    ops = [Op("load", dtype, (), Access("x", tuple(strides[i] for i in order)))]
    result = accumulate or dtype
    if result is not dtype:
        ops.append(Op("cast", result, (0,)))
    node = Node(
        "node",
        "reduction",
        tuple(ops),
        (len(ops) - 1,),
        result,
        True,
        reduction=kind,
        store=Access("z", (*out, *[0] * len(reduced))),
        origins=("fx",),
    )
    args = (TensorArg("x", dtype, size_of(shape), "input"), TensorArg("z", result, size_of([shape[i] for i in kept]), "output"))
    return Group(f"reduce_{kind}", args, axes_of(shape, reduced), (node,))


def matmul_group(m: int, n: int, k: int, *, dtype: DType = DType.F32, relu: bool = False) -> Group:
    """``z = a @ b`` (row-major), with or without a fused relu."""
    axes = (Axis("m", m), Axis("n", n), Axis("k", k, True))
    loads = (Op("load", dtype, (), Access("a", (k, 0, 1))), Op("load", dtype, (), Access("b", (0, 1, n))))
    store = Access("z", (n, 1, 0))
    nodes = [Node("mm", "matmul", loads, (0, 1), dtype, True, store=None if relu else store, origins=("mm",))]
    if relu:
        nodes.append(
            Node(
                "act",
                "pointwise",
                (Op("value", dtype, (), "mm"), Op("relu", dtype, (0,))),
                (1,),
                dtype,
                False,
                store=store,
                origins=("relu",),
            )
        )
    args = (TensorArg("a", dtype, m * k, "input"), TensorArg("b", dtype, k * n, "input"), TensorArg("z", dtype, m * n, "output"))
    return Group("matmul", args, axes, tuple(nodes))
