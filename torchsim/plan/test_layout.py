"""The layout formulas against a literal simulation of dealing positions out to lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.plan import layout

pytestmark = pytest.mark.unit


def dealt(extent: int, stride: int, lanes: int) -> list[tuple[int, int]]:
    """(lane, in-lane position) of each position, by dealing runs of ``stride`` positions to the lanes in turn."""
    fill = [0] * lanes
    places: list[tuple[int, int]] = []
    for start in range(0, extent, stride):
        turn = (start // stride) % lanes
        places += [(turn, fill[turn] + step) for step in range(min(stride, extent - start))]
        fill[turn] += stride
    return places


@pytest.mark.req("C-18")
@settings(max_examples=200, deadline=None)
@given(st.integers(1, 300), st.sampled_from([1, 2, 3, 4, 8]), st.sampled_from([1, 2, 8, 32, 128]))
def test_positions_are_dealt_in_turn(extent: int, stride: int, lanes: int) -> None:
    """Lane, in-lane position and rebuilt position of every position, one by one and as arrays."""
    places = dealt(extent, stride, lanes)
    positions = np.arange(extent, dtype=np.int64)
    lane, inside = layout.lane(positions, stride, lanes), layout.in_lane(positions, stride, lanes)
    assert list(zip(lane.tolist(), inside.tolist())) == places
    assert layout.position(lane, inside, stride, lanes).tolist() == positions.tolist()
    assert all((layout.lane(p, stride, lanes), layout.in_lane(p, stride, lanes)) == places[p] for p in range(extent))
    assert layout.row(extent - 1, stride, lanes) == layout.rows(extent, stride, lanes) - 1


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 300), st.sampled_from([1, 2, 4]), st.sampled_from([8, 32]))
def test_every_lane_holds_the_in_lane_extent(extent: int, stride: int, lanes: int) -> None:
    """Places of all lanes up to the in-lane extent are exactly the positions up to the rounded extent."""
    size = layout.in_lane_extent(extent, stride, lanes)
    lane, inside = np.meshgrid(np.arange(lanes), np.arange(size), indexing="ij")
    found = np.sort(layout.position(lane.ravel(), inside.ravel(), stride, lanes))
    assert found.tolist() == list(range(layout.rows(extent, stride, lanes) * stride * lanes))
    assert size * lanes >= extent > (size - stride) * lanes


def test_arange_of_the_requirement() -> None:
    """arange(32) on 8 lanes, stride 2: the row counts lanes * stride (C-18)."""
    assert [layout.position(lane, 3, 2, 8) for lane in range(8)] == [17, 19, 21, 23, 25, 27, 29, 31]


@pytest.mark.parametrize(
    ("extents", "strides", "expected"), [((), (), 1), ((3,), (1,), 3), ((2, 3), (10, 2), 15), ((2, 0), (1, 1), 0), ((5,), (0,), 1)]
)
def test_hull(extents: tuple[int, ...], strides: tuple[int, ...], expected: int) -> None:
    """Elements between the first and the last of a box."""
    assert layout.hull_elements(extents, strides) == expected
