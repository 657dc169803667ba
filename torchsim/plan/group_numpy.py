"""Evaluate a group directly in NumPy, without any tile: what every plan of the group must compute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Group, IndexExpr, Node
from torchsim.plan.identity import identity
from torchsim.plan.numpy_ops import apply, reduce
from torchsim.plan.values import Array, cast, constant, decode, encode


def evaluate(group: Group, arrays: Sequence[Array]) -> None:
    """Compute every node and write the stored ones.

    Inputs are read before anything is written, as a kernel that works in place may.

    Args:
        arrays: one 1-d array of stored elements per argument; outputs are written in place.
    """
    before = {arg.name: array.copy() for arg, array in zip(group.args, arrays)}
    after = {arg.name: array for arg, array in zip(group.args, arrays)}
    values: dict[str, Array] = {}
    for node in group.nodes:
        results = _body(group, node, before, values)
        reduced = {axis for axis in range(len(group.axes)) if group.axes[axis].reduction}
        if node.kind == "matmul":
            value = _matmul(group, node, results)
        elif node.kind == "reduction":
            assert node.reduction is not None
            accumulator = node.dtype.accumulator
            full = np.broadcast_to(
                cast(results[node.result[0]], node.ops[node.result[0]].dtype, accumulator), tuple(axis.extent for axis in group.axes)
            )
            shape = tuple(1 if axis in reduced else group.axes[axis].extent for axis in range(len(group.axes)))
            start = np.broadcast_to(constant(identity(node.reduction, accumulator), accumulator), shape)
            value = cast(reduce(node.reduction, start, full, tuple(sorted(reduced))), accumulator, node.dtype)
        else:
            value = cast(results[node.result[0]], node.ops[node.result[0]].dtype, node.dtype)
        values[node.name] = value
        if node.store is not None:
            keep = tuple(axis.extent if not axis.reduction or (node.full and node.kind == "pointwise") else 1 for axis in group.axes)
            after[node.store.tensor][elements(group, node.store, keep)] = encode(np.broadcast_to(value, keep), node.dtype)


def elements(group: Group, access: Access, shape: Sequence[int] | None = None) -> NDArray[np.int64]:
    """Element numbers of an access at every position of the domain (or of a box with some extents 1)."""
    extents = tuple(axis.extent for axis in group.axes) if shape is None else tuple(shape)
    grids = np.indices(extents, dtype=np.int64)
    return access.offset + sum((c * grid for c, grid in zip(access.coefficients, grids)), np.zeros(extents, np.int64))


def _body(group: Group, node: Node, tensors: dict[str, Array], values: dict[str, Array]) -> list[Array]:
    extents = tuple(axis.extent if node.full or not axis.reduction or node.kind == "matmul" else 1 for axis in group.axes)
    results: list[Array] = []
    for op in node.ops:
        attribute = op.attribute
        if isinstance(attribute, Access):
            shape = tuple(extent if c else min(extent, 1) for extent, c in zip(extents, attribute.coefficients))
            results.append(decode(tensors[attribute.tensor][elements(group, attribute, shape)], op.dtype))
        elif isinstance(attribute, IndexExpr):
            grids = np.indices(extents, dtype=np.int64)
            index = attribute.offset + sum((c * grid for c, grid in zip(attribute.coefficients, grids)), np.zeros(extents, np.int64))
            results.append(index.astype(op.dtype.numpy))
        elif op.name == "value":
            source = next(item for item in group.nodes if item.name == attribute)
            results.append(cast(values[str(attribute)], source.dtype, op.dtype))
        elif op.name == "constant":
            assert attribute is not None
            assert not isinstance(attribute, str)
            results.append(constant(attribute, op.dtype))
        else:
            results.append(apply(op.name, op.dtype, [results[arg] for arg in op.args], [node.ops[arg].dtype for arg in op.args]))
    return results


def _matmul(group: Group, node: Node, results: Sequence[Array]) -> Array:
    """f64 products and sums for floats, wrapping ones for integers; rounded once to the node's type."""
    (k,) = group.reductions
    wide = np.dtype(np.float64) if node.dtype.is_float else node.dtype.numpy
    lhs, rhs = (np.asarray(results[index], wide) for index in node.result)
    with np.errstate(all="ignore"):
        products = np.broadcast_to(np.multiply(lhs, rhs), tuple(axis.extent for axis in group.axes))
        total = products.sum(axis=k, keepdims=True, dtype=wide)
    extents = tuple(axis.extent if not axis.reduction else 1 for axis in group.axes)
    source = DType.F64 if node.dtype.is_float else node.dtype
    return cast(np.broadcast_to(total, extents), source, node.dtype)
