from __future__ import annotations

import numpy as np
import pytest

from torchsim.config import load_machine
from torchsim.dialect.build import collect
from torchsim.emit.invariants import frontier, invariant_ops
from torchsim.emit.kernel import emit_module
from torchsim.emit.test_support import axes_of, check_against_plan, random_array
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Group, Node, Op, TensorArg
from torchsim.plan.model import Block, BlockLoop, BlockOp, BlockReduce, BlockStore, BufferRef
from torchsim.plan.override import TileOverride

MACHINE = load_machine("8x8")
F32 = DType.F32
COLUMNS = {"several vectors": 517, "one vector": 24, "one vector, not a power of two": 21}


def _scaled(dtype: DType, rows: int, columns: int, name: str = "mul") -> Group:
    """``z[i, j] = name(x[i, j], r[i] * r[i]) * c[j]``: a value for each row and one for each column."""
    ops = [
        Op("load", dtype, (), Access("x", (columns, 1))),
        Op("load", dtype, (), Access("r", (1, 0))),
        Op("mul", dtype, (1, 1)),
        Op(name, dtype, (0, 2)),
        Op("load", dtype, (), Access("c", (0, 1))),
        Op("mul", dtype, (3, 4)),
    ]
    sizes = {"x": rows * columns, "r": rows, "c": columns}
    args = [TensorArg(tensor, dtype, size, "input") for tensor, size in sizes.items()]
    node = Node("node", "pointwise", tuple(ops), (5,), dtype, True, store=Access("z", (columns, 1)))
    return Group("scaled", (*args, TensorArg("z", dtype, rows * columns, "output")), axes_of([rows, columns]), (node,))


@pytest.mark.req("C-2")
@pytest.mark.parametrize("split", ["i0", "i1"])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS.keys())
@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.BOOL], ids=lambda dtype: dtype.value)
def test_values_that_an_inner_loop_does_not_change(dtype: DType, columns: int, split: str) -> None:
    """Each lane spreads its own value, whichever axis the vectors run along and however many there are."""
    extents = {"i0": 8, "i1": columns} if split == "i0" else {"i0": 3, "i1": columns}
    plan = build(_scaled(dtype, 12, columns), MACHINE, TileOverride(extents, split=split))
    rng = np.random.default_rng(3)
    check_against_plan(plan, MACHINE, [random_array(arg.dtype, arg.elements, rng) for arg in plan.args])


def test_a_row_value_is_computed_before_the_loop_over_its_columns() -> None:
    plan = build(_scaled(F32, 8, 512, "truediv"), MACHINE, TileOverride({"i0": 8, "i1": 512}, split="i0", vector_axis="i1"))
    module = emit_module(plan, MACHINE)
    with module.context:
        *_, innermost = collect(module, "scf.for")
        inside = [op.operation.name for op in innermost.regions[0].blocks[0].operations]
        everywhere = [op.name for op in collect(module, "arith.divf", "arith.mulf")]
    vectors = inside.count("arith.divf")
    assert vectors == 2
    assert (inside.count("arith.mulf"), inside.count("llvm.load")) == (vectors, 2 * vectors)
    assert everywhere.count("arith.mulf") == vectors + 1


def _block(ops: list[BlockOp], store: BufferRef, reduces: tuple[BlockReduce, ...] = ()) -> Block:
    loops = (BlockLoop(0, 4), BlockLoop(1, 300))
    stores = () if reduces else (BlockStore(store, len(ops) - 1),)
    return Block(0, "vector", (), (), loops, 32, tuple(ops), stores, reduces)


ROW, COLUMN, BOTH = (1, 0), (0, 1), (300, 1)


def test_what_is_invariant() -> None:
    """A load by its strides, an op by its arguments; masks stay where they are; constants are free everywhere."""
    ops = [
        BlockOp("load", F32, (), BufferRef(0, ROW)),
        BlockOp("load", F32, (), BufferRef(1, COLUMN)),
        BlockOp("constant", F32, (), 2.0),
        BlockOp("mul", F32, (0, 2)),
        BlockOp("lt", DType.BOOL, (0, 2)),
        BlockOp("where", F32, (4, 3, 0)),
        BlockOp("add", F32, (1, 5)),
    ]
    block = _block(ops, BufferRef(2, BOTH))
    assert invariant_ops(block, 1) == {0, 2, 3}
    assert frontier(block, invariant_ops(block, 1)) == {0, 3}
    assert invariant_ops(block, 0) == {1, 2}
    assert frontier(block, invariant_ops(block, 0)) == {1}


@pytest.mark.parametrize("reduces", [False, True])
def test_a_buffer_that_the_block_writes_is_read_every_time(reduces: bool) -> None:
    ops = [BlockOp("load", F32, (), BufferRef(0, ROW)), BlockOp("load", F32, (), BufferRef(1, BOTH)), BlockOp("mul", F32, (0, 1))]
    written = BufferRef(0, ROW)
    block = _block(ops, written, (BlockReduce(written, "sum", 2),) if reduces else ())
    assert invariant_ops(block, 1) == set()
