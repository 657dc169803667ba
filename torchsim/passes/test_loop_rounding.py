from __future__ import annotations

import pytest

from torchsim.dialect import togsim
from torchsim.dialect.build import collect
from torchsim.passes.loop_rounding import loop_rounding
from torchsim.passes.loops import CHUNK, TILE, WORK_ITEM, bounds
from torchsim.passes.test_support import MACHINE, kernel_module, plan_loop, records, transfer
from torchsim.passes.trip_counts import trip_counts


@pytest.mark.req("L-5")
@pytest.mark.parametrize(
    ("kind", "extent", "step", "expected"),
    [(WORK_ITEM, 10, 4, 12), (TILE, 8, 4, 8), (TILE, 1, 7, 7), (WORK_ITEM, 0, 4, 0), (CHUNK, 10, 4, 10)],
)
def test_bounds_become_whole_tiles(kind: str, extent: int, step: int, expected: int) -> None:
    with kernel_module(lambda: plan_loop(kind, extent, step, lambda i: None)) as module:
        loop_rounding(module, MACHINE)
        [loop] = collect(module, "scf.for")
        assert bounds(loop) == (0, expected, step)


@pytest.mark.req("L-5")
def test_transfers_are_not_touched() -> None:
    one = transfer((togsim.Dim(8, 3, 1, 8, None),))
    with kernel_module(lambda: plan_loop(WORK_ITEM, 10, 4, lambda i: one.build() and None)) as module:
        before = str(collect(module, togsim.TRANSFER)[0])
        loop_rounding(module, MACHINE)
        assert str(collect(module, togsim.TRANSFER)[0]) == before


@pytest.mark.parametrize("rounding", [True, False])
def test_without_rounding_the_ragged_tile_is_lost(rounding: bool) -> None:
    """Trip counts are exact divisions: the pass is what keeps the last tile."""
    one = transfer((togsim.Dim(8, 1, 1, 8, None),))
    with kernel_module(lambda: plan_loop(TILE, 10, 4, lambda i: one.build() and None)) as module:
        if rounding:
            loop_rounding(module, MACHINE)
        trip_counts(module, MACHINE)
        assert len(records(module)) == (3 if rounding else 2)
