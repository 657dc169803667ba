"""Replays an Inductor loop body into a RawBody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import sympy
import torch
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import V

from torchsim.errors import UnsupportedError
from torchsim.inductor.analysis.body import RawBody, RawLoad
from torchsim.inductor.analysis.builder import BodyBuilder, Value
from torchsim.inductor.analysis.decompose import DECOMPOSITIONS
from torchsim.inductor.analysis.expr import Expr, NonAffine, from_sympy
from torchsim.inductor.analysis.types import plan_dtype
from torchsim.plan.dtypes import DType

_REDUCTIONS = {"sum": "sum", "prod": "prod", "max": "max", "min": "min", "any": "any"}
_BOOL_REDUCTIONS = {"max": "any", "min": "all", "sum": "any", "prod": "all", "any": "any"}


@dataclass(frozen=True, slots=True)
class _Reduced:
    """Result of ops.reduction on its way to store_reduction."""

    value: Value
    kind: str
    dtype: DType


class _Capture(DefaultHandler):
    """The ops handler: builds ops instead of code."""

    def __init__(self, where: str, symbols: dict[sympy.Symbol, int], dtype_of: Callable[[str], torch.dtype]) -> None:
        self._where = where
        self._symbols = symbols
        self._dtype_of = dtype_of
        self._mask_depth = 0
        self.builder = BodyBuilder()
        self.stored: tuple[str, Expr, Value, str | None] | None = None

    # -- leaves
    def load(self, name: str, index: sympy.Expr) -> Value:
        return self.builder.emit(
            "load", plan_dtype(self._dtype_of(name), self._where), (), RawLoad(name, self._expr(index), self._mask_depth > 0)
        )

    def constant(self, value: bool | float | int, dtype: torch.dtype) -> Value:
        return self.builder.constant(value, plan_dtype(dtype, self._where))

    def index_expr(self, expr: sympy.Expr, dtype: torch.dtype) -> Value:
        target = plan_dtype(dtype, self._where)
        if not isinstance(expr, int) and isinstance(expr, sympy.Expr) and not expr.is_integer and not expr.is_Integer:
            if expr.is_number:
                return self.builder.constant(float(expr), target)
            raise self._unsupported("a floating point index expression", str(expr))
        integer = target if target in (DType.I64, DType.I32) else DType.I64
        return self.builder.cast(self.builder.emit("index", integer, (), self._expr(expr)), target)

    # -- conversions
    def to_dtype(self, x: Value, dtype: torch.dtype, src_dtype: torch.dtype | None = None, use_compute_types: bool = True) -> Value:
        return self.builder.cast(x, plan_dtype(dtype, self._where))

    def to_dtype_bitcast(self, x: Value, dtype: torch.dtype, src_dtype: torch.dtype) -> Value:
        target = plan_dtype(dtype, self._where)
        source = self.builder.cast(x, plan_dtype(src_dtype, self._where))
        if source.dtype.bytes != target.bytes:
            raise self._unsupported("a bitcast between widths", f"{source.dtype.value} to {target.value}")
        return source if source.dtype is target else self.builder.emit("bitcast", target, (source.op,))

    def _rounded(self, rounding: str, x: Value, dtype: torch.dtype) -> Value:
        return self.builder.cast(DECOMPOSITIONS[rounding](self.builder, x), plan_dtype(dtype, self._where))

    def floor_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self._rounded("floor", x, dtype)

    def ceil_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self._rounded("ceil", x, dtype)

    def trunc_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self._rounded("trunc", x, dtype)

    def round_to_int(self, x: Value, dtype: torch.dtype) -> Value:
        return self._rounded("round", x, dtype)

    # -- choice
    def where(self, condition: Value, input: Value, other: Value) -> Value:
        return self.builder.op("where", condition, input, other)

    def masked(self, mask: Value, body: Callable[[], Value], other: Any) -> Value:
        self._mask_depth += 1
        value = body()
        self._mask_depth -= 1
        otherwise = other if isinstance(other, Value) else self.builder.constant(other, value.dtype)
        return self.builder.op("where", mask, value, otherwise)

    def identity(self, x: Value) -> Value:
        return x

    # -- results
    def store(self, name: str, index: sympy.Expr, value: Value, mode: str | None = None) -> None:
        if mode is not None:
            raise self._unsupported(f"a store that combines with memory ({mode})", name)
        self._finish(name, index, value, None)

    def reduction(self, dtype: torch.dtype, src_dtype: torch.dtype, reduction_type: str, value: Any) -> _Reduced:
        if not isinstance(value, Value) or reduction_type not in _REDUCTIONS:
            raise self._unsupported(f"reduction {reduction_type}", "a kind that has no NPU kernel yet")
        target = plan_dtype(dtype, self._where)
        kind = _REDUCTIONS[reduction_type]
        if target is DType.BOOL or kind == "any":
            return _Reduced(self.builder.as_bool(value), _BOOL_REDUCTIONS[kind], target)
        return _Reduced(self.builder.cast(value, target), kind, target)

    def store_reduction(self, name: str, index: sympy.Expr, value: _Reduced) -> None:
        self._finish(name, index, value.value, value.kind)

    def _finish(self, name: str, index: sympy.Expr, value: Value, reduction: str | None) -> None:
        if self.stored is not None:
            raise self._unsupported("a node with two stores", name)
        self.stored = (name, self._expr(index), value, reduction)

    # -- what has no kernel
    def indirect_indexing(self, x: Value, size: Any, check: bool = True, wrap_neg: bool = True) -> sympy.Symbol:
        raise self._unsupported("a gather or scatter (an index read from a tensor)", str(size))

    def check_bounds(self, *args: Any, **kwargs: Any) -> None:
        raise self._unsupported("a gather or scatter (an index read from a tensor)", "a bounds check")

    def _default(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Value:
        decomposition = DECOMPOSITIONS.get(name)
        if decomposition is None or not all(isinstance(value, (Value, int, float, bool)) for value in args):
            raise self._unsupported(f"op {name}", "an op that has no NPU kernel yet")
        values = [value if isinstance(value, Value) else self.builder.constant(value, _python_type(value)) for value in args]
        return decomposition(self.builder, *values)

    def _expr(self, index: sympy.Expr | int) -> Expr:
        try:
            return from_sympy(index, self._variable)
        except NonAffine as error:
            raise self._unsupported("an index expression", str(error)) from None

    def _variable(self, symbol: sympy.Symbol) -> int:
        number = self._symbols.get(symbol)
        if number is None:
            raise self._unsupported("a size or index that is not known at compile time", str(symbol))
        return number

    def _unsupported(self, what: str, found: str) -> UnsupportedError:
        return UnsupportedError(
            f"cannot compile {what}",
            found=found,
            where=self._where,
            hint="torchsim.set_options(fallback='cpu') runs the fx nodes concerned on the host and lists them in the session",
        )


def _python_type(number: float | int | bool) -> DType:
    return DType.BOOL if isinstance(number, bool) else DType.I64 if isinstance(number, int) else DType.F32


def capture(
    body: Any,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    origins: tuple[str, ...],
    dtype_of: Callable[[str], torch.dtype],
    target_of: Callable[[str], str],
) -> RawBody:
    """The computation of one scheduler node.

    Args:
        body: Inductor LoopBody.
        sizes: iteration and reduction extents.
        origins: fx node names, for messages and reports.
        dtype_of: element type of a buffer.
        target_of: buffer whose memory a write to a name goes to (in-place updates).

    Raises:
        UnsupportedError: an op, reduction, type or index without NPU code; names it and the fx nodes.
    """
    iterations, reduced = sizes
    # Inductor asserts that a body is replayed with symbols that are not its own.
    fresh = [
        [sympy.Symbol(f"{prefix}{i}", integer=True, nonnegative=True) for i in range(len(extents))]
        for prefix, extents in (("npu_i", iterations), ("npu_r", reduced))
    ]
    symbols = {symbol: number for number, symbol in enumerate([*fresh[0], *fresh[1]])}
    handler = _Capture(f"fx nodes {', '.join(origins) or '(unknown)'}", symbols, dtype_of)
    with V.set_ops_handler(handler):
        body(*fresh)
    if handler.stored is None:
        raise handler._unsupported("a node without a store", "")
    name, index, value, reduction = handler.stored
    dtype = plan_dtype(dtype_of(name), handler._where)
    if reduction is None:
        value = handler.builder.cast(value, dtype)
    raw = RawBody(
        name=name,
        target=target_of(name),
        sizes=(*iterations, *reduced),
        iterations=len(iterations),
        ops=tuple(handler.builder.ops),
        result=value.op,
        reduction=reduction,
        dtype=dtype,
        store=index,
        origins=origins,
    )
    return prune(raw)


def prune(raw: RawBody) -> RawBody:
    """Drop ops that the result does not need (casts of constants leave some behind)."""
    needed: set[int] = set()
    stack = [raw.result]
    while stack:
        position = stack.pop()
        if position not in needed:
            needed.add(position)
            stack.extend(raw.ops[position].args)
    order = sorted(needed)
    renumber = {old: new for new, old in enumerate(order)}
    ops = tuple(replace(raw.ops[old], args=tuple(renumber[arg] for arg in raw.ops[old].args)) for old in order)
    return replace(raw, ops=ops, result=renumber[raw.result])
