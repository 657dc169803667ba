from __future__ import annotations

import itertools

import pytest

from torchsim.dialect import togsim
from torchsim.dialect.build import collect, constant
from torchsim.dialect.togsim import Dim
from torchsim.errors import PlanError
from torchsim.passes.fine_grained_dma import fine_grained_dma
from torchsim.passes.test_support import MACHINE, kernel_module, records, transfer


@pytest.mark.req("L-4")
def test_pieces_are_row_major_with_a_tag_each() -> None:
    dims = (Dim(6, 100, 16, 2, None), Dim(32, 1, 1, 16, None))
    with kernel_module(lambda: transfer(dims, tag=5).build() and None) as module:
        fine_grained_dma(module, MACHINE)
        found = [(record[3], record[4], record[10], record[12][0][2:]) for record in records(module)]
    # 16 columns are two rows of eight lanes: two in-lane positions; a piece ends after 1 * 16 + 2 elements of 4 bytes
    expected = [
        (200 * i + 16 * j, (2, 16), 5 + 2 * i + j, ((2 * i * 16 + 2 * j) * 4, 72)) for i, j in itertools.product(range(3), range(2))
    ]
    assert found == expected


@pytest.mark.req("L-4", "C-20")
@pytest.mark.parametrize("high", [0, 1, 2, 3, 5, 6])
def test_bounds_are_cut_with_the_pieces(high: int) -> None:
    with kernel_module(lambda: transfer((Dim(6, 100, 16, 2, constant(high)), Dim(8, 1, 1, 8, None))).build() and None) as module:
        fine_grained_dma(module, MACHINE)
        assert [record[7][0] for record in records(module)] == [max(0, min(2, high - 2 * i)) for i in range(3)]


def test_a_whole_transfer_stays() -> None:
    with kernel_module(lambda: transfer((Dim(6, 100, 16, 6, None),)).build() and None) as module:
        before = str(module)
        fine_grained_dma(module, MACHINE)
        assert str(module) == before


@pytest.mark.parametrize("dims", [(Dim(6, 1, 1, 4, None),), (Dim(32, 1, 1, 4, None),)])
def test_illegal_cuts(dims: tuple[Dim, ...]) -> None:
    with kernel_module(lambda: None) as module:
        block = module.body.operations[1].regions[0].blocks[0]
        with togsim.ir.InsertionPoint.at_block_begin(block):
            op = transfer(dims).build()
        with pytest.raises(PlanError, match="subtile"):
            fine_grained_dma(module, MACHINE)
        assert collect(module, togsim.TRANSFER)
        op.erase()
