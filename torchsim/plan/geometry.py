"""Shapes of buffers and dimensions of transfers for one tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchsim.errors import UnsupportedError
from torchsim.plan import layout
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis
from torchsim.plan.model import Affine, TransferDim

ALIGNMENT = 64


def buffer_bytes(shape: Sequence[int], dtype: DType) -> int:
    """Allocation of a dense in-lane box: at least two elements, one of slack behind an odd innermost extent (a vector tail of one
    element may be handled as two), a multiple of 64 bytes."""
    elements = 1
    for extent in shape:
        elements *= extent
    elements += shape[-1] % 2 if shape else 1
    return -(-max(elements, 2) * dtype.bytes // ALIGNMENT) * ALIGNMENT


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for index in range(len(shape) - 2, -1, -1):
        strides[index] = strides[index + 1] * shape[index + 1]
    return tuple(strides)


@dataclass(frozen=True)
class Geometry:
    """A tile as laid over the lanes: ``split`` is the axis over the lanes (tile.split, or k for a matmul's left operand)."""

    axes: tuple[Axis, ...]
    extents: tuple[int, ...]
    split: int
    stride: int
    lanes: int

    def in_lane(self, axis: int) -> int:
        """In-lane extent of an axis."""
        return layout.in_lane_extent(self.extents[axis], self.stride, self.lanes) if axis == self.split else self.extents[axis]

    def shape(self, axes: Sequence[int]) -> tuple[int, ...]:
        """In-lane extents of several axes."""
        return tuple(self.in_lane(axis) for axis in axes)

    def tiles(self, axis: int) -> int:
        """Tiles along an axis."""
        return -(-self.axes[axis].extent // self.extents[axis])

    def ragged(self, axis: int) -> bool:
        """Whether the last tile sticks out of the axis."""
        return self.axes[axis].extent % self.extents[axis] != 0

    def element_offset(self, access: Access) -> Affine:
        """Of tile position 0, over the tile indices."""
        terms = {
            self.axes[axis].name: coefficient * self.extents[axis]
            for axis, coefficient in enumerate(access.coefficients)
            if coefficient and self.tiles(axis) > 1
        }
        return Affine(access.offset, tuple(sorted(terms.items())))

    def dims(
        self, access: Access, axes: Sequence[int], strides: Sequence[int], subtiles: dict[int, int]
    ) -> tuple[tuple[TransferDim, ...], int, int]:
        """Dimensions of the transfer between a tensor and a buffer with these axes; also split_dim and vlane_stride.

        The largest DRAM stride comes first, so that bursts run along the last dimension. ``subtiles``: extent of a piece, by axis.

        Raises:
            UnsupportedError: a DRAM stride beyond 32 bits.
        """
        found: list[TransferDim] = []
        for axis, stride in zip(axes, strides):
            if self.extents[axis] == 1 and axis != self.split:
                continue
            coefficient = access.coefficients[axis]
            if not -(1 << 31) <= coefficient < 1 << 31:
                raise UnsupportedError(
                    "a tensor stride does not fit the DMA", expected="32-bit strides", found=str(coefficient), where=access.tensor
                )
            extent = self.extents[axis]
            found.append(TransferDim(axis, extent, coefficient, stride, self.ragged(axis), subtiles.get(axis, extent)))
        found.sort(key=lambda dim: -abs(dim.dram_stride))
        if self.split not in axes:
            return (TransferDim(None, self.lanes, 0, 0, False, self.lanes), *found), 0, 1
        return tuple(found), next(i for i, dim in enumerate(found) if dim.axis == self.split), self.stride
