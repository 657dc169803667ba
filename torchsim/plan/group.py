"""What the front end hands over: one fused group, analysed into affine accesses, without any tile.

A group has one domain: parallel axes first, then reduction axes. Every node iterates over the parallel axes alone or over
all axes. Inside a body a later node sees an earlier node's result by name (op ``value``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torchsim.plan.dtypes import DType

NodeKind = Literal["pointwise", "reduction", "matmul"]
Role = Literal["input", "output", "inout"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of the domain; ``extent`` in elements (0 allowed for a reduction over nothing)."""

    name: str
    extent: int
    reduction: bool = False


@dataclass(frozen=True, slots=True)
class TensorArg:
    """A tensor in DRAM. ``elements``: how many elements from the base the kernel may touch; the base is element 0 of the argument."""

    name: str
    dtype: DType
    elements: int
    role: Role


@dataclass(frozen=True, slots=True)
class Access:
    """Element ``offset + sum(coefficients[a] * position[a])`` of a tensor; one coefficient per group axis, 0 = broadcast."""

    tensor: str
    coefficients: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class IndexExpr:
    """Affine integer expression of the logical axis positions, one coefficient per group axis."""

    coefficients: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Op:
    """One SSA operation of a body: ``args`` are indices of earlier ops; ``attribute`` by kind: load Access, value str, constant
    number, index IndexExpr."""

    name: str
    dtype: DType
    args: tuple[int, ...] = ()
    attribute: Access | IndexExpr | str | int | float | bool | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One buffer's computation.

    ``result``: op whose value is stored or reduced (pointwise, reduction); for a matmul the pair ``(lhs, rhs)`` of ops: lhs over
    (.., m, k), rhs over
    (.., k, n). ``reduction``: kind in plan.ops.REDUCTIONS. ``dtype``: of the result as later nodes see it and as it is stored.
    ``store``: where the result goes in DRAM, or None when nobody outside reads it. ``full``: iterates over all axes (a reduction's
    body does; its result
    lives on the parallel axes).
    """

    name: str
    kind: NodeKind
    ops: tuple[Op, ...]
    result: tuple[int, ...]
    dtype: DType
    full: bool
    reduction: str | None = None
    store: Access | None = None
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """One kernel to be. A matmul group has axes (batch.., m, n) parallel and (k,) reduction, and exactly one matmul node, which
    comes first."""

    name: str
    args: tuple[TensorArg, ...]
    axes: tuple[Axis, ...]
    nodes: tuple[Node, ...]

    @property
    def parallel(self) -> tuple[int, ...]:
        """Indices of the parallel axes."""
        return tuple(i for i, axis in enumerate(self.axes) if not axis.reduction)

    @property
    def reductions(self) -> tuple[int, ...]:
        """Indices of the reduction axes."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.reduction)

    @property
    def origins(self) -> tuple[str, ...]:
        """fx node names of all nodes, in order, without repeats."""
        return tuple(dict.fromkeys(origin for node in self.nodes for origin in node.origins))

    def arg(self, name: str) -> TensorArg:
        """The argument called ``name``; KeyError if there is none."""
        for arg in self.args:
            if arg.name == name:
                return arg
        raise KeyError(name)
