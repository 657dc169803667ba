from __future__ import annotations

import itertools

import pytest

from torchsim.dialect import togsim
from torchsim.dialect.build import collect, constant
from torchsim.dialect.togsim import Dim, Transfer
from torchsim.passes.peel_transfer import peel_transfer
from torchsim.passes.test_support import MACHINE, kernel_module, records, transfer


def _dims(*extents: int) -> tuple[Dim, ...]:
    return tuple(Dim(extent, 10**i, 7 * i + 1, extent, None) for i, extent in enumerate(extents))


@pytest.mark.req("L-3")
def test_unit_dimensions_collapse_but_the_split_one() -> None:
    with kernel_module(lambda: transfer(_dims(1, 5, 1, 3, 1), split=2).build() and None) as module:
        peel_transfer(module, MACHINE)
        [one] = [Transfer.read(op) for op in collect(module, togsim.TRANSFER)]
        assert [dim.extent for dim in one.dims] == [5, 1, 3]
        assert one.split == 1


@pytest.mark.req("L-3")
def test_outermost_dimensions_become_loops() -> None:
    with kernel_module(lambda: transfer(_dims(2, 3, 4, 5, 6, 8), tag=9, split=0).build() and None) as module:
        peel_transfer(module, MACHINE)
        found = [(record[3], record[4], record[10], record[12][0][2]) for record in records(module)]
    # the split dimension stays outermost; dimensions 1 and 2 are peeled
    expected = [(10 * i + 100 * j, (2, 5, 6, 8), 9, (8 * i + 15 * j) * 4) for i, j in itertools.product(range(3), range(4))]
    assert found == expected


@pytest.mark.req("L-3", "C-20")
def test_a_peeled_part_out_of_bounds_is_issued_empty() -> None:
    def build() -> None:
        dims = list(_dims(3, 2, 2, 2, 8))
        dims[0] = Dim(3, 1, 1, 3, constant(2))
        dims[1] = Dim(2, 1, 1, 2, constant(1))
        transfer(tuple(dims)).build()

    with kernel_module(build) as module:
        peel_transfer(module, MACHINE)
        assert [record[7] for record in records(module)] == [(1, 2, 2, 8), (1, 2, 2, 8), (0, 0, 0, 0)]


def test_a_unit_dimension_that_fell_out_of_bounds_empties_the_rest() -> None:
    with kernel_module(lambda: transfer((Dim(1, 5, 5, 1, constant(0)), Dim(8, 1, 1, 8, None))).build() and None) as module:
        peel_transfer(module, MACHINE)
        assert [record[4:8] for record in records(module)] == [((8,), (1,), (0,), (0,))]
