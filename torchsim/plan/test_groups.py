"""Random groups, machines and tile overrides for the property tests of the plan, and a check that they are well formed.

Inputs are small integers, so that sums are exact in any order and results can be compared bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.config import Machine, load_machine
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis, Group, IndexExpr, Node, Op, TensorArg
from torchsim.plan.group_numpy import evaluate
from torchsim.plan.normalise import normalise
from torchsim.plan.override import TileOverride
from torchsim.plan.values import Array, encode

FLOATS = (DType.F32, DType.F32, DType.F16, DType.BF16, DType.F64)
TYPES = (*FLOATS, DType.I32, DType.I64, DType.I8, DType.U8, DType.BOOL)
UNARY = {True: ("neg", "abs", "relu", "sign", "floor"), False: ("neg", "abs", "bitwise_not", "sign")}
BINARY = {
    True: ("add", "sub", "mul", "minimum", "maximum"),
    False: ("add", "sub", "mul", "minimum", "maximum", "bitwise_and", "bitwise_xor"),
}


@dataclass
class Case:
    """A group with the contents of its arguments (stored elements)."""

    group: Group
    arrays: list[Array]


def machines() -> st.SearchStrategy[Machine]:
    """8, 32 or 128 lanes with 2..32 KiB a lane."""
    return st.builds(
        lambda name, kib: load_machine(name).model_copy(update={"vpu_spad_size_kb_per_lane": kib}),
        st.sampled_from(["8x8", "8x8", "32x32", "128x128"]), st.sampled_from([2, 4, 8, 32]),
    )  # fmt: skip


class _Builder:
    """Draws one group."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.args: list[TensorArg] = []
        self.nodes: list[Node] = []

    def axes(self, largest: int) -> None:
        parallel, reductions = self.draw(st.integers(0, 4)), self.draw(st.integers(0, 3))
        if parallel + reductions == 0:
            parallel = 1
        extents: list[int] = []
        for _ in range(min(parallel + reductions, 6)):
            room = max(largest // int(np.prod(extents or [1])), 1)
            extents.append(self.draw(st.integers(1, min(room, 300)) | st.integers(1, min(room, 9))))
        self.axes_ = tuple(
            Axis(f"{'pr'[i >= parallel]}{i if i < parallel else i - parallel}", e, i >= parallel) for i, e in enumerate(extents)
        )

    def full_axes(self, full: bool) -> list[int]:
        return [i for i, axis in enumerate(self.axes_) if full or not axis.reduction]

    def access(self, name: str, axes: list[int], injective: bool) -> tuple[Access, int]:
        """A dense, padded, stepped or flipped layout over a permutation of the axes (a subset, for loads), and the elements it spans."""
        order = self.draw(st.permutations(axes))
        if not injective:
            order = [axis for axis in order if self.draw(st.integers(0, 3))]
        coefficients, step = [0] * len(self.axes_), self.draw(st.sampled_from([1, 1, 1, 2, 3]))
        offset = self.draw(st.sampled_from([0, 0, 5]))
        last = offset
        for axis in reversed(order):
            flip = not injective and self.draw(st.integers(0, 9)) == 0
            coefficients[axis] = -step if flip else step
            reach = step * (self.axes_[axis].extent - 1)
            offset += reach if flip else 0
            last += reach
            step = step * self.axes_[axis].extent + self.draw(st.sampled_from([0, 0, 0, 1]))
        return Access(name, tuple(coefficients), offset), last + 1

    def input(self, full: bool, dtype: DType | None = None) -> tuple[Access, DType]:
        """A new input, or the same access as before."""
        loads = [(op.attribute, op.dtype) for node in self.nodes for op in node.ops if isinstance(op.attribute, Access)]
        loads = [(access, kind) for access, kind in loads if (full or self._parallel(access)) and dtype in (None, kind)]
        if loads and self.draw(st.booleans()):
            return self.draw(st.sampled_from(loads))
        kind = dtype or self.draw(st.sampled_from(TYPES))
        access, elements = self.access(f"in{len(self.args)}", self.full_axes(full), False)
        self.args.append(TensorArg(access.tensor, kind, elements, "input"))
        return access, kind

    def _parallel(self, access: Access) -> bool:
        return not any(c for c, axis in zip(access.coefficients, self.axes_) if axis.reduction)

    def body(self, full: bool) -> tuple[list[Op], int]:
        """Loads, values of earlier nodes, positions, and a few operations on them; the index of the result."""
        ops: list[Op] = []

        def add(op: Op) -> int:
            ops.append(op)
            return len(ops) - 1

        def to(index: int, dtype: DType) -> int:
            return index if ops[index].dtype is dtype else add(Op("cast", dtype, (index,)))

        for _ in range(self.draw(st.integers(1, 3))):
            usable = [node for node in self.nodes if full or node.kind == "reduction" or not node.full]
            if usable and self.draw(st.booleans()):
                node = self.draw(st.sampled_from(usable))
                add(Op("value", node.dtype, (), node.name))
            elif self.draw(st.integers(0, 5)) == 0:
                axes = self.full_axes(full)
                row = tuple(self.draw(st.integers(-1, 2)) if axis in axes else 0 for axis in range(len(self.axes_)))
                add(Op("index", DType.I64, (), IndexExpr(row, self.draw(st.integers(-2, 2)))))
            else:
                access, dtype = self.input(full)
                add(Op("load", dtype, (), access))
        result = 0
        for leaf in range(len(ops)):
            dtype = ops[result].dtype
            if dtype is DType.BOOL:
                dtype = DType.F32
            a = to(result, dtype)
            if leaf:
                a = add(Op(self.draw(st.sampled_from(BINARY[dtype.is_float])), dtype, (a, to(leaf, dtype))))
            elif dtype is not DType.U8 and self.draw(st.booleans()):
                a = add(Op(self.draw(st.sampled_from(UNARY[dtype.is_float])), dtype, (a,)))
            if self.draw(st.integers(0, 3)) == 0:
                constant = add(Op("constant", dtype, (), 1.5 if dtype.is_float else 2))
                a = add(Op("where", dtype, (add(Op("lt", DType.BOOL, (a, constant))), a, constant)))
            result = a
        return ops, result

    def node(self, number: int) -> None:
        kinds = ["pointwise", "full"] + ["reduction"] * 2 * any(axis.reduction for axis in self.axes_)
        kind = self.draw(st.sampled_from(kinds))
        full = kind != "pointwise"
        ops, result = self.body(full)
        dtype, reduction = ops[result].dtype, None
        if kind == "reduction":
            reduction = self.draw(st.sampled_from(["sum", "sum", "max", "min", "any", "all", "prod"]))
            if reduction in ("any", "all"):
                dtype = DType.BOOL
                ops.append(Op("cast", dtype, (result,)))
                result = len(ops) - 1
            elif reduction == "prod":
                ops.append(Op("sign", dtype, (result,)))
                result = len(ops) - 1
        store = None
        if self.draw(st.booleans()) or number == 0:
            store, elements = self.access(f"out{len(self.args)}", self.full_axes(full and kind != "reduction"), True)
            self.args.append(TensorArg(store.tensor, dtype, elements, "output"))
        self.nodes.append(
            Node(f"n{len(self.nodes)}", "reduction" if reduction else "pointwise", tuple(ops), (result,), dtype, full, reduction, store)
        )

    def in_place(self) -> None:
        """Perhaps let the last node write over an input that it reads through an injective map of its own axes."""
        node = self.nodes[-1]
        if node.store is None or self.draw(st.booleans()):
            return
        axes = [axis for axis in self.full_axes(node.full and node.kind == "pointwise") if self.axes_[axis].extent > 1]
        for index, arg in enumerate(self.args):
            maps = {
                op.attribute
                for item in self.nodes
                for op in item.ops
                if isinstance(op.attribute, Access) and op.attribute.tensor == arg.name
            }
            if arg.role != "input" or arg.dtype is not node.dtype or len(maps) != 1:
                continue
            (access,) = maps
            if {axis for axis, c in enumerate(access.coefficients) if c and self.axes_[axis].extent > 1} == set(axes):
                self.args = [item for item in self.args if item.name != node.store.tensor]
                self.args[index] = TensorArg(arg.name, arg.dtype, arg.elements, "inout")
                self.nodes[-1] = Node(node.name, node.kind, node.ops, node.result, node.dtype, node.full, node.reduction, access)
                return


@st.composite
def vector_cases(draw: st.DrawFn, largest: int = 3000) -> Case:
    """Groups of pointwise nodes and reductions."""
    builder = _Builder(draw)
    builder.axes(largest)
    for number in reversed(range(draw(st.integers(1, 4)))):
        builder.node(number)
    builder.in_place()
    return _case(draw, Group("drawn", tuple(builder.args), builder.axes_, tuple(builder.nodes)))


@st.composite
def matmul_cases(draw: st.DrawFn, types: tuple[DType, ...] = FLOATS) -> Case:
    """Matmuls with optional batch axis, prologues and epilogues."""
    builder = _Builder(draw)
    batch = [draw(st.integers(1, 3))] if draw(st.integers(0, 4)) == 0 else []
    sizes = [draw(st.integers(1, 70) | st.integers(1, 12)) for _ in range(3)]
    names = [*(f"b{i}" for i in range(len(batch))), "m", "n", "k"]
    builder.axes_ = tuple(Axis(name, extent, name == "k") for name, extent in zip(names, [*batch, *sizes]))
    rank, dtype = len(names), draw(st.sampled_from(types))
    m, n, k = rank - 3, rank - 2, rank - 1
    ops: list[Op] = []
    results: list[int] = []
    for axes in ([*range(m), m, k], [*range(m), k, n]):
        access, elements = builder.access(f"in{len(builder.args)}", axes, draw(st.integers(0, 4)) > 0)
        builder.args.append(TensorArg(access.tensor, dtype, elements, "input"))
        ops.append(Op("load", dtype, (), access))
        if draw(st.integers(0, 2)) == 0:
            ops.append(Op("constant", dtype, (), 1.0 if dtype.is_float else 1))
            ops.append(Op(draw(st.sampled_from(["add", "mul", "maximum"])), dtype, (len(ops) - 2, len(ops) - 1)))
        results.append(len(ops) - 1)
    epilogues = draw(st.integers(0, 2))
    store = None
    if epilogues == 0 or draw(st.integers(0, 3)) == 0:
        store, elements = builder.access(f"out{len(builder.args)}", list(range(k)), True)
        builder.args.append(TensorArg(store.tensor, dtype, elements, "output"))
    builder.nodes.append(Node("product", "matmul", tuple(ops), tuple(results), dtype, True, None, store))
    for number in reversed(range(epilogues)):
        body, result = builder.body(False)
        target = None
        if number == 0 or draw(st.booleans()):
            target, elements = builder.access(f"out{len(builder.args)}", list(range(k)), True)
            builder.args.append(TensorArg(target.tensor, body[result].dtype, elements, "output"))
        builder.nodes.append(Node(f"e{number}", "pointwise", tuple(body), (result,), body[result].dtype, False, None, target))
    return _case(draw, Group("product", tuple(builder.args), builder.axes_, tuple(builder.nodes)))


def _case(draw: st.DrawFn, group: Group) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    arrays: list[Array] = []
    for arg in group.args:
        low = 0 if arg.dtype in (DType.BOOL, DType.U8) else -2
        high = 2 if arg.dtype is DType.BOOL else 4
        numbers = rng.integers(low, high, arg.elements)
        arrays.append(encode(numbers.astype(np.float32 if arg.dtype.is_float else np.int64), arg.dtype))
    return Case(group, arrays)


@st.composite
def overrides(draw: st.DrawFn, group: Group) -> TileOverride | None:
    """Nothing, or a legal tile of the group, with axis names of its merged or plain form."""
    if draw(st.integers(0, 3)) == 0:
        return None
    form = draw(st.sampled_from([group, normalise(group, merge=True)]))
    extents = {axis.name: draw(st.integers(1, max(axis.extent, 1))) for axis in form.axes if axis.extent and draw(st.booleans())}
    parallel = [axis.name for axis in form.axes if not axis.reduction]
    return TileOverride(
        {name: extent for name, extent in extents.items() if name != "one"},
        draw(st.none() | st.sampled_from([name for name in parallel if name != "one"] or [None])),
        draw(st.sampled_from([None, None, 1, 2, 4])),
        draw(st.none() | st.sampled_from([axis.name for axis in form.axes if axis.name != "one"] or [None])),
    )


@pytest.mark.unit
@settings(max_examples=50, deadline=None)
@given(vector_cases())
def test_drawn_groups_compute_something(case: Case) -> None:
    """The strategy's groups evaluate, and merging axes changes no value."""
    results = [[array.copy() for array in case.arrays] for _ in range(2)]
    evaluate(case.group, results[0])
    evaluate(normalise(case.group, merge=True), results[1])
    assert any(node.store is not None for node in case.group.nodes)
    for arg, one, other in zip(case.group.args, *results):
        assert one.tobytes() == other.tobytes(), arg
