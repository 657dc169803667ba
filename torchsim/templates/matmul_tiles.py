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

_FIXED_CYCLES = 150  # latency of the first loads
_TRANSFER_CYCLES = 12
_VECTOR_BYTES_PER_CYCLE = 32
_LARGEST_POWER = 64
_HIDDEN_TRAFFIC = 0.05
_SHARPNESS = 10
_DEPENDENT = 1.25
"""A vector instruction waits for the one before it for a part of its own time."""
_DRAM_EFFICIENCY = 0.9
_RUN_BYTES = 128
"""What a run of consecutive bytes costs beside its bytes, and what a long run reaches of the memory's width: between the figures of the
address mappings of the machines (runs of 512 bytes, 2 to 8 KiB apart, reach 0.4 to 0.9)."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A buffer of the kernel before a tile is known: its axes, the axis over the lanes, when it is live, and the tensor behind it.

    ``operations``: vector instructions for each of its vectors in the block that computes it, loads and stores included.
    """

    axes: tuple[int, ...]
    dtype: DType
    split: int
    in_loop: bool
    in_tail: bool
    access: Access | None
    operations: int = 0


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
                moved = (
                    _TRANSFER_CYCLES + (tile_granules(dims, phase.dtype.bytes) * GRANULE_BYTES + self._lost(phase, dims)) / self.bandwidth
                )
            self._known[key] = (buffer_bytes(shape, phase.dtype), moved, math.prod(shape))
        return self._known[key]

    def _lost(self, phase: Phase, dims: Sequence[tuple[int, int]]) -> float:
        """Bytes that the memory could have moved while it changes rows between the runs of a transfer; pieces are an array side wide."""
        run = 1
        for axis, (extent, stride) in zip(phase.axes, dims):
            if stride == 1:
                run = min(extent, self.lanes) if axis == phase.split and not phase.in_tail else extent
        return math.prod(extent for extent, stride in dims if stride) / max(run, 1) * _RUN_BYTES

    def footprint(self, extents: Sequence[int]) -> int:
        """Bytes per lane when what lives in the k loop and what lives behind it share the arena."""
        loop = tail = 0
        for index, phase in enumerate(self.phases):
            size, _, _ = self._phase(index, extents)
            loop += size * phase.in_loop
            tail += size * phase.in_tail
        return max(loop, tail)

    def cycles(self, extents: Sequence[int]) -> float:
        """Estimated core cycles of the whole kernel.

        A work-item loads, computes and stores; from its second step of k on it loads during the computation of the step before, as far
        as its share of the scratchpad holds both (a load opens a new version of its bytes beside the old one). The next work-item
        overlaps with all of that.
        """
        tiles = [-(-self.group.axes[axis].extent // extents[axis]) for axis in (self.m, self.n, self.k)]
        steps, items = max(tiles[2], 1), tiles[0] * tiles[1] * self.batch
        step = tail = prologue = epilogue = 0.0
        held = loop_bytes = largest = 0.0
        for index, phase in enumerate(self.phases):
            size, moved, elements = self._phase(index, extents)
            moved /= _DRAM_EFFICIENCY
            computed = phase.operations * elements * phase.dtype.bytes / _VECTOR_BYTES_PER_CYCLE * _DEPENDENT
            held += size * phase.in_loop
            if phase.in_loop and not phase.in_tail:
                step += moved
                largest = max(largest, moved)
                loop_bytes += size
                prologue += computed
            else:
                tail += moved
                epilogue += computed
        columns = extents[self.n] // self.lanes
        chunks = steps * (extents[self.k] // self.lanes) * columns
        rows, arrays = max(extents[self.m], self.lanes / 2), self.machine.num_systolic_array_per_core
        array = (math.ceil(chunks / arrays) if items == 1 else chunks / arrays) * rows
        compute = array + steps * prologue + epilogue
        spare = min(max(self.machine.dispatch_budget_bytes - held, 0.0) / max(loop_bytes, 1.0), 1.0)
        first = step - min(largest, array / steps / columns)
        later = step - min(step * spare, array / steps)
        one = first + (steps - 1) * later + compute + tail
        loads, dma = steps * step, steps * step + tail
        # The loads of one work-item fill the gaps that the memory has while the one before computes.
        memory_bound = items * dma + max(one - dma - loads, 0.0)
        compute_bound = first + items * compute + tail
        # Two resources that are both nearly busy all the time wait for each other now and then: a smooth maximum.
        both = (memory_bound**_SHARPNESS + compute_bound**_SHARPNESS) ** (1 / _SHARPNESS)
        total = one if items == 1 else max(one, both, items * one / 2)
        # Traffic that hides behind the array still costs energy, bandwidth of others and simulation time.
        return total + _FIXED_CYCLES + 3 * self.lanes + _HIDDEN_TRAFFIC * items * dma
