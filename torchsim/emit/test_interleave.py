from __future__ import annotations

import numpy as np
import pytest

from torchsim.config import load_machine
from torchsim.emit.interleave import vectors_together
from torchsim.emit.test_support import check_against_plan, op_group, random_array, reduction_group
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Block, BlockLoop, BlockOp, BlockStore, BufferRef

MACHINE = load_machine("8x8")
F32 = DType.F32


def _chain(inputs: int, stored: BufferRef) -> Block:
    """The sum of some loads, all alive at once."""
    ops = [BlockOp("load", F32, (), BufferRef(i, (1,))) for i in range(inputs)]
    total = 0
    for i in range(1, inputs):
        ops.append(BlockOp("add", F32, (total, i)))
        total = len(ops) - 1
    return Block(0, "vector", (), (), (BlockLoop(0, 4096),), 32, tuple(ops), (BlockStore(stored, total),))


@pytest.mark.parametrize(
    ("inputs", "length", "known", "carried", "together"),
    [(2, 32, 0, 0, 2), (3, 32, 0, 0, 1), (2, 32, 2, 0, 1), (2, 32, 0, 2, 1), (6, 16, 0, 0, 2), (7, 16, 0, 0, 1), (2, 64, 0, 0, 1)],
)
def test_vectors_side_by_side_fit_the_registers(inputs: int, length: int, known: int, carried: int, together: int) -> None:
    """Of 32 registers one group is kept for masks, and one for each value that lives through the loop."""
    assert vectors_together(_chain(inputs, BufferRef(9, (1,))), length, range(known), carried) == together


def test_a_vector_that_may_read_what_another_one_stored_stays_alone() -> None:
    assert vectors_together(_chain(2, BufferRef(1, (1,))), 16, ()) == 2
    assert vectors_together(_chain(2, BufferRef(1, (1,), 1)), 16, ()) == 1


@pytest.mark.req("C-2")
@pytest.mark.parametrize("columns", [33, 63, 64, 65, 96, 127, 130, 997])
@pytest.mark.parametrize("reduced", [False, True])
def test_no_element_is_left_out(columns: int, reduced: bool) -> None:
    """Pairs of vectors, the vector without a partner, the shorter rest; every vector joins the sum once."""
    group = reduction_group("sum", DType.I32, (8, columns), (1,)) if reduced else op_group("truediv", [F32, F32], F32, (8, columns))
    plan = build(group, MACHINE)
    rng = np.random.default_rng(columns)
    check_against_plan(plan, MACHINE, [random_array(arg.dtype, arg.elements, rng) for arg in plan.args])
