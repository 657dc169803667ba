"""Hypothesis strategies for programs of the covered op set."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from fuzz.program import Input, Program, Step

MAX_ELEMENTS = 20_000
"""Elements of one tensor: keeps an example under a second on the slowest oracle."""

_FLOATS = ("f32", "f32", "f32", "f16", "bf16", "f64")
_INTEGERS = ("i64", "i32", "i16", "i8")
_VIEWS = ("contiguous", "contiguous", "transposed", "sliced", "offset", "expanded")
_SMOOTH = ("exp", "tanh", "erf", "sigmoid", "gelu", "sqrt", "rsqrt")
_EXACT_BINARY = ("add", "sub", "maximum", "minimum")


@st.composite
def shapes(draw: st.DrawFn, *, min_rank: int = 1, max_rank: int = 4) -> tuple[int, ...]:
    """Extents 1..300 per axis, rank 1..4, at most MAX_ELEMENTS elements; small, odd and lane-sized extents are common."""
    rank = draw(st.integers(min_rank, max_rank))
    shape: list[int] = []
    for _ in range(rank):
        room = max(1, MAX_ELEMENTS // max(1, math.prod(shape)))
        usual = st.sampled_from(
            [size for size in (1, 2, 3, 5, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257) if size <= room]
        )
        shape.append(draw(st.one_of(usual, st.integers(1, min(300, room)))))
    return tuple(shape)


class _Builder:
    """Grows a program; knows shape, dtype and exactness of every value."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.inputs: list[Input] = []
        self.pending: list[tuple[Step, tuple[int, ...], str, bool]] = []
        self.values: list[tuple[tuple[int, ...], str, bool]] = []

    def new_input(self, shape: tuple[int, ...], dtype: str) -> int:
        """Inputs come first in the numbering, so all of them are made before the first step."""
        assert not self.pending
        self.inputs.append(Input(shape, dtype, self.draw(st.sampled_from(_VIEWS)), self.draw(st.integers(0, 2**16))))
        self.values.append((shape, dtype, True))
        return len(self.values) - 1

    def step(
        self, op: str, operands: tuple[int, ...], parameters: tuple[object, ...], shape: tuple[int, ...], dtype: str, exact: bool
    ) -> int:
        """Append a step; returns the number of its value."""
        self.pending.append((Step(op, operands, parameters), shape, dtype, exact))
        self.values.append((shape, dtype, exact))
        return len(self.values) - 1


def _pointwise(b: _Builder, current: int, others: list[int]) -> int:
    shape, dtype, exact = b.values[current]
    is_float = dtype in ("f32", "f64", "f16", "bf16")
    partners = [i for i in others if b.values[i][1] == dtype and _broadcasts(b.values[i][0], shape)]
    kinds = ["unary"] + (["binary"] if partners else []) + (["smooth"] if is_float else []) + (["compare"] if partners and exact else [])
    kind = b.draw(st.sampled_from(kinds))
    if kind == "smooth":
        return b.step(b.draw(st.sampled_from(_SMOOTH)), (current,), (), shape, dtype, False)
    if kind == "unary":
        op = b.draw(st.sampled_from(("neg", "abs", "relu") if dtype != "bool" else ("same",)))
        return current if op == "same" else b.step(op, (current,), (), shape, dtype, exact)
    other = b.draw(st.sampled_from(partners))
    both = exact and b.values[other][2]
    if kind == "compare" and both and dtype != "bool":
        mask = b.step(b.draw(st.sampled_from(("less", "equal"))), (current, other), (), shape, "bool", True)
        return b.step("select", (mask, current, other), (), shape, dtype, True)
    if dtype == "bool":
        return current
    op = b.draw(st.sampled_from((*_EXACT_BINARY, "mul", "divide") if is_float else (*_EXACT_BINARY, "mul")))
    return b.step(op, (current, other), (), shape, dtype, both and op != "divide")


def _reduction(b: _Builder, current: int) -> int:
    shape, dtype, _ = b.values[current]
    if b.draw(st.booleans()) and dtype != "f16":
        if len(shape) and b.draw(st.booleans()):
            return b.step("softmax", (current,), (b.draw(st.integers(0, len(shape) - 1)),), shape, dtype, False)
        return b.step("layer_norm", (current,), (), shape, dtype, False)
    axes = tuple(sorted(b.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1, max_size=len(shape)))))
    keepdim = b.draw(st.booleans())
    left = (
        tuple(1 if i in axes else size for i, size in enumerate(shape))
        if keepdim
        else tuple(size for i, size in enumerate(shape) if i not in axes)
    )
    op = b.draw(st.sampled_from(("sum", "mean", "amax", "amin", "var")))
    return b.step(op, (current,), (axes, keepdim), left, dtype, False if op not in ("amax", "amin") else b.values[current][2])


def _broadcasts(shape: tuple[int, ...], onto: tuple[int, ...]) -> bool:
    return len(shape) <= len(onto) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(onto), strict=False))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Chains of pointwise operations, reductions, softmax, layer norm and matmuls on mixed views, with an optional tile override."""
    b = _Builder(draw)
    if draw(st.integers(0, 3)) == 0:
        current, others = _matmul(b)
    else:
        shape = draw(shapes())
        dtype = draw(st.sampled_from((*_FLOATS, *_INTEGERS)))
        current = b.new_input(shape, dtype)
        others = [current]
        for _ in range(draw(st.integers(0, 2))):
            start = draw(st.integers(0, len(shape) - 1))
            partner = tuple(draw(st.sampled_from((size, 1))) for size in shape[start:])
            others.append(b.new_input(partner, dtype))
    is_float = b.values[current][1] in ("f32", "f64", "f16", "bf16")
    if not b.pending and draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(("f32", "f64", "i64", "i32", "f16", "bf16", "bool")))
        current = b.step("cast", (current,), (name,), b.values[current][0], name, True)
        is_float = name in ("f32", "f64", "f16", "bf16")
    for _ in range(draw(st.integers(1, 4))):
        current = _pointwise(b, current, others)
    if is_float and b.values[current][0] and draw(st.booleans()):
        current = _reduction(b, current)
        if b.values[current][0] and draw(st.booleans()):
            current = _pointwise(b, current, [current])
    if not b.pending:
        current = b.step(
            "abs" if b.values[current][1] != "bool" else "equal",
            (current,) if b.values[current][1] != "bool" else (current, current),
            (),
            b.values[current][0],
            "bool",
            True,
        )
    tiles = draw(st.one_of(st.just(()), _tiles()))
    return Program(tuple(b.inputs), tuple(item[0] for item in b.pending), (current,), tiles)


def _matmul(b: _Builder) -> tuple[int, list[int]]:
    m, k, n = (b.draw(st.integers(1, 140)) for _ in range(3))
    dtype = b.draw(st.sampled_from(("f32", "f32", "f16", "bf16")))
    lhs, rhs = b.new_input((m, k), dtype), b.new_input((k, n), dtype)
    bias = b.new_input(b.draw(st.sampled_from(((n,), (m, n)))), dtype)
    if b.draw(st.booleans()):
        lhs = b.step(b.draw(st.sampled_from(("relu", "neg", "tanh"))), (lhs,), (), (m, k), dtype, False)
    if b.draw(st.booleans()):
        return b.step("addmm", (bias, lhs, rhs), (), (m, n), dtype, False), [bias]
    return b.step("mm", (lhs, rhs), (), (m, n), dtype, False), [bias]


@st.composite
def _tiles(draw: st.DrawFn) -> tuple[tuple[str, int], ...]:
    """Tile extents for axes by name; axes that a kernel does not have are ignored."""
    names = draw(st.lists(st.sampled_from(("p0", "p1", "p2", "r0")), min_size=1, max_size=2, unique=True))
    return tuple((name, draw(st.sampled_from((1, 2, 3, 5, 8, 16, 32, 62, 64, 100)))) for name in names)
