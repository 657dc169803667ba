"""One scheduler node's computation in its own loop variables, before any domain is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torchsim.inductor.analysis.expr import Expr
from torchsim.plan.dtypes import DType


@dataclass(frozen=True, slots=True)
class RawLoad:
    """Read of a buffer; ``masked``: under a mask, so its index may leave the buffer where the mask is false."""

    buffer: str
    index: Expr
    masked: bool = False


@dataclass(frozen=True, slots=True)
class RawOp:
    """As plan.group.Op; a load carries RawLoad, an index carries Expr."""

    name: str
    dtype: DType
    args: tuple[int, ...] = ()
    attribute: RawLoad | Expr | int | float | bool | None = None


@dataclass(frozen=True, slots=True)
class RawBody:
    """What a node computes.

    Attributes:
        name: buffer that the node writes (the scheduler's name).
        target: buffer whose memory is written; differs from ``name`` for an in-place update.
        sizes: extents of the loop variables, iteration variables first.
        iterations: how many of them are iteration variables; the others are reduced.
        ops: the computation.
        result: op that is stored or reduced.
        reduction: kind in plan.ops.REDUCTIONS, or None.
        dtype: element type of the written buffer.
        store: index at which the result is written.
        origins: fx node names.
    """

    name: str
    target: str
    sizes: tuple[int, ...]
    iterations: int
    ops: tuple[RawOp, ...]
    result: int
    reduction: str | None
    dtype: DType
    store: Expr
    origins: tuple[str, ...]

    @property
    def kind(self) -> Literal["pointwise", "reduction"]:
        """Node kind."""
        return "reduction" if self.reduction else "pointwise"

    @property
    def loads(self) -> tuple[RawLoad, ...]:
        """All reads."""
        return tuple(op.attribute for op in self.ops if isinstance(op.attribute, RawLoad))
