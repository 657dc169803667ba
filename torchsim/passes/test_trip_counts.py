from __future__ import annotations

from dataclasses import replace

from torchsim.dialect import togsim
from torchsim.dialect.build import Index, add, collect, floordiv, mul
from torchsim.passes.loops import TILE, WORK_ITEM, bounds
from torchsim.passes.test_support import MACHINE, kernel_module, plan_loop, records, transfer
from torchsim.passes.trip_counts import trip_counts


def test_element_and_tile_uses() -> None:
    """Element positions become tile * step, divisions by the step become the tile index itself."""

    def body(i: Index) -> None:
        replace(transfer((togsim.Dim(4, 1, 1, 4, None),)), offset=i, tag=mul(floordiv(i, 4), 7)).build()

    with kernel_module(lambda: plan_loop(TILE, 12, 4, body)) as module:
        trip_counts(module, MACHINE)
        [loop] = collect(module, "scf.for")
        assert bounds(loop) == (0, 3, 1)
        assert not collect(module, "arith.divui")
        assert [(record[3], record[10]) for record in records(module)] == [(0, 0), (4, 7), (8, 14)]


def test_nested_work_items_keep_their_bodies_together() -> None:
    """The multiplications go to the innermost work-item loop, so that nothing of the body is left outside of it."""

    def body(i: Index) -> None:
        plan_loop(
            WORK_ITEM, 6, 2, lambda j: replace(transfer((togsim.Dim(4, 1, 1, 4, None),)), offset=add(mul(i, 100), j)).build() and None
        )

    with kernel_module(lambda: plan_loop(WORK_ITEM, 8, 4, body)) as module:
        trip_counts(module, MACHINE)
        assert [record[3] for record in records(module)] == [0, 2, 4, 400, 402, 404]
