"""Choose the tile of a matmul on the array: enumeration over array multiples, exact footprint, closed-form cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torchsim.config import Machine
from torchsim.plan.cost import GRANULE_BYTES, dram_bytes_per_cycle, tile_granules
from torchsim.plan.dtypes import DType
from torchsim.plan.geometry import buffer_bytes
from torchsim.plan.group import Access, Group
from torchsim.plan.override import MAX_EXTENT

_FIXED_CYCLES = 300  # latency of the first loads, drain of the array
_TRANSFER_CYCLES = 12
_VECTOR_BYTES_PER_CYCLE = 32
_LARGEST_POWER = 64
_HIDDEN_TRAFFIC = 0.1


@dataclass(frozen=True, slots=True)
class Phase:
    """A buffer of the kernel before a tile is known: its axes, the axis over the lanes, when it is live, and the tensor behind it."""

    axes: tuple[int, ...]
    dtype: DType
    split: int
    in_loop: bool
    in_tail: bool
    access: Access | None


def extents_of_interest(extent: int, unit: int) -> list[int]:
    """Multiples of ``unit``: powers of two, even shares of the axis, the axis rounded up; ascending, at most ``MAX_EXTENT``."""
    limit = min(max(-(-extent // unit), 1), MAX_EXTENT // unit)
    powers = {1 << shift for shift in range(_LARGEST_POWER.bit_length())}
    shares = {limit, -(-limit // 2)}
    return sorted({size * unit for size in powers | shares if size <= limit})


def rows_of_interest(extent: int) -> list[int]:
    """Tile extents for the rows that are pushed through the array: even shares of the axis, powers of four, one row."""
    limit = min(max(extent, 1), MAX_EXTENT)
    powers = {1 << shift for shift in range(0, 12, 2)}
    shares = {-(-limit // count) for count in range(1, 5)}
    return sorted({size for size in powers | shares if size <= limit}, reverse=True)


class TileModel:
    """Footprint and cost of the tiles of one matmul group; what depends on one buffer alone is computed once per shape."""

    def __init__(self, phases: Sequence[Phase], group: Group, machine: Machine) -> None:
        self.phases, self.group, self.machine, self.lanes = phases, group, machine, machine.lanes
        *_, self.m, self.n = group.parallel
        (self.k,) = group.reductions
        self.bandwidth = dram_bytes_per_cycle(machine)
        self.batch = math.prod(group.axes[axis].extent for axis in group.parallel if axis not in (self.m, self.n))
        self._known: dict[tuple[int, tuple[int, ...]], tuple[int, float, int]] = {}

    def _phase(self, index: int, extents: Sequence[int]) -> tuple[int, float, int]:
        """Bytes per lane of a buffer, cycles of its transfer, elements per lane."""
        phase = self.phases[index]
        key = (index, tuple(extents[axis] for axis in phase.axes))
        if key not in self._known:
            shape = [-(-extents[axis] // self.lanes) if axis == phase.split else extents[axis] for axis in phase.axes]
            moved = 0.0
            if phase.access is not None:
                dims = [(min(extents[axis], self.group.axes[axis].extent), phase.access.coefficients[axis]) for axis in phase.axes]
                moved = _TRANSFER_CYCLES + tile_granules(dims, phase.dtype.bytes) * GRANULE_BYTES / self.bandwidth
            self._known[key] = (buffer_bytes(shape, phase.dtype), moved, math.prod(shape))
        return self._known[key]

    def footprint(self, extents: Sequence[int]) -> int:
        """Bytes per lane when what lives in the k loop and what lives behind it share the arena."""
        loop = tail = 0
        for index, phase in enumerate(self.phases):
            size, _, _ = self._phase(index, extents)
            loop += size * phase.in_loop
            tail += size * phase.in_tail
        return max(loop, tail)

    def cycles(self, extents: Sequence[int]) -> float:
        """Estimated core cycles of the whole kernel."""
        tiles = [-(-self.group.axes[axis].extent // extents[axis]) for axis in (self.m, self.n, self.k)]
        steps, items = max(tiles[2], 1), tiles[0] * tiles[1] * self.batch
        dma = vector = 0.0
        for index, phase in enumerate(self.phases):
            _, moved, elements = self._phase(index, extents)
            repeats = steps if phase.in_loop and not phase.in_tail else 1
            dma += moved * repeats
            vector += 2 * elements * phase.dtype.bytes / _VECTOR_BYTES_PER_CYCLE * (repeats if phase.access is None or phase.in_tail else 0)
        chunks = steps * (extents[self.k] // self.lanes) * (extents[self.n] // self.lanes)
        array = chunks * (extents[self.m] + self.lanes / 2) / self.machine.num_systolic_array_per_core
        one = dma + array + vector + _FIXED_CYCLES
        # Traffic that hides behind the array still costs energy, bandwidth of others and simulation time.
        return one + max(items - 1, 0) * max(dma, array + vector, one / 2) + _HIDDEN_TRAFFIC * items * dma
