"""Where a tile lies in the lanes: the one place that owns the formulas of docs/isa.md section 2.

Everything takes integers or NumPy integer arrays (element by element). ``stride`` is the vlane_stride v >= 1, ``lanes`` is L.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Index = TypeVar("Index", int, NDArray[np.int64])


def lane(position: Index, stride: int, lanes: int) -> Index:
    """Lane that holds a split-axis position."""
    return position // stride % lanes


def row(position: Index, stride: int, lanes: int) -> Index:
    """Row of a split-axis position: how many whole turns over the lanes come before it."""
    return position // (stride * lanes)


def in_lane(position: Index, stride: int, lanes: int) -> Index:
    """Position inside its lane."""
    return row(position, stride, lanes) * stride + position % stride


def position(lane: Index, in_lane: Index, stride: int, lanes: int) -> Index:
    """Split-axis position from lane and in-lane position; inverse of ``lane`` and ``in_lane``."""
    return in_lane // stride * (lanes * stride) + lane * stride + in_lane % stride


def rows(extent: int, stride: int, lanes: int) -> int:
    """Rows that a split axis of this extent needs."""
    return -(-extent // (stride * lanes))


def in_lane_extent(extent: int, stride: int, lanes: int) -> int:
    """In-lane positions of a split axis of this extent, round-up positions included."""
    return rows(extent, stride, lanes) * stride


def hull_elements(extents: Iterable[int], strides: Iterable[int]) -> int:
    """Elements from the first to behind the last that an in-lane box touches (strides >= 0); 0 for an empty box."""
    span = 1
    for extent, stride in zip(extents, strides):
        if extent == 0:
            return 0
        span += (extent - 1) * stride
    return span
