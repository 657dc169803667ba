"""A closed-form estimate of a tile's cost in core cycles: DMA granules, vector work, padding, overlap of two work-items.

Only an ordering of candidates is asked of it. The footprint in contrast is exact: it comes from the axes of the buffers that a plan of
this group has, whatever the tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torchsim.config import Machine
from torchsim.plan.arena import leaves
from torchsim.plan.geometry import Geometry, buffer_bytes
from torchsim.plan.model import Block, KernelPlan, SpadBuffer, Transfer

GRANULE_BYTES = 32
_TRANSFER_CYCLES = 12  # configuration and issue of one transfer
_BLOCK_CYCLES = 10  # drain at both ends
_CHUNK_CYCLES = 3  # loop control per vector
_LATENCY_CYCLES = 150  # first response of DRAM and interconnect
_VECTOR_BITS = 256


@dataclass(frozen=True, slots=True)
class Traffic:
    """Transfers between one buffer and one tensor: DRAM strides by axis, repetitions in a work-item when the reduction is tiled."""

    strides: tuple[tuple[int, int], ...]
    element_bytes: int
    repeats: int
    load: bool


@dataclass(frozen=True, slots=True)
class Work:
    """A block: operations per element, their width, and the axes that it loops over."""

    operations: int
    bits: int
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Profile:
    """What does not change with the tile: buffers, traffic and work of a kernel, read off a plan with the smallest tile."""

    buffers: tuple[SpadBuffer, ...]
    traffic: tuple[Traffic, ...]
    work: tuple[Work, ...]

    @classmethod
    def of(cls, plan: KernelPlan) -> Profile:
        """Read a profile off a plan."""
        items = list(leaves(plan.body))
        found: dict[tuple[int, bool], Traffic] = {}
        for item in items:
            if isinstance(item, Transfer):
                key = (item.buffer, item.direction == "load")
                strides = dict(item.element_offset.terms)
                # With tile extents 1 the offset's coefficients are the tensor's strides.
                by_axis = tuple((axis, strides.get(plan.axes[axis].name, 0)) for axis in plan.buffers[item.buffer].axes)
                repeats = found[key].repeats + 1 if key in found else 1
                found[key] = Traffic(by_axis, plan.buffers[item.buffer].dtype.bytes, repeats, key[1])
        work: list[Work] = []
        for item in items:
            if isinstance(item, Block) and item.ops:
                touched = {axis for entry in (*item.reads, *item.writes) for axis in plan.buffers[entry.buffer].axes}
                bits = max(op.dtype.bytes * 8 for op in item.ops)
                work.append(Work(len(item.ops) + len(item.stores) + 2 * len(item.reduces), bits, tuple(sorted(touched))))
        return cls(plan.buffers, tuple(found.values()), tuple(work))

    def footprint(self, geometry: Geometry) -> int:
        """Bytes per lane of all buffers for a tile, without reuse by liveness (an upper bound of the arena)."""
        return sum(buffer_bytes(geometry.shape(buffer.axes), buffer.dtype) for buffer in self.buffers)

    def cycles(self, geometry: Geometry, machine: Machine) -> float:
        """Estimated core cycles of the whole kernel."""
        axes = range(len(geometry.axes))
        items = math.prod(geometry.tiles(axis) for axis in axes if not geometry.axes[axis].reduction)
        inner = [axis for axis in axes if geometry.axes[axis].reduction and geometry.tiles(axis) > 1]
        bandwidth = dram_bytes_per_cycle(machine)
        dma = 0.0
        for entry in self.traffic:
            repeated = any(axis in inner for axis, _ in entry.strides)
            count = entry.repeats * math.prod(geometry.tiles(axis) for axis in inner) if repeated else 1
            granules = tile_granules([(geometry.extents[axis], stride) for axis, stride in entry.strides], entry.element_bytes)
            dma += count * (_TRANSFER_CYCLES + granules * GRANULE_BYTES / bandwidth)
        compute = 0.0
        for block in self.work:
            elements = math.prod(geometry.in_lane(axis) for axis in block.axes)
            longest = max((geometry.in_lane(axis) for axis in block.axes), default=1)
            count = math.prod(geometry.tiles(axis) for axis in inner) if any(axis in inner for axis in block.axes) else 1
            rows = elements / longest
            per_row = math.ceil(longest * block.bits / (4 * _VECTOR_BITS)) * _CHUNK_CYCLES + block.operations * math.ceil(
                longest * block.bits / _VECTOR_BITS
            )
            compute += count * (_BLOCK_CYCLES + rows * per_row)
        one = dma + _LATENCY_CYCLES * (1 + 2 * bool(inner)) + compute
        return one + max(items - 1, 0) * max(dma, compute, one / 2)


def dram_bytes_per_cycle(machine: Machine) -> float:
    """Bytes that DRAM and injection ports can move in a core cycle, by their widths alone."""
    dram = machine.dram_channels * machine.dram_req_size_byte * machine.dram_freq_mhz / machine.core_freq_mhz
    ports = machine.icnt_injection_ports_per_core * machine.dram_req_size_byte * machine.icnt_freq_mhz / machine.core_freq_mhz
    return min(dram, ports)


def tile_granules(dims: Sequence[tuple[int, int]], element_bytes: int) -> float:
    """DRAM granules that a tile touches: (extent, stride in elements) per dimension; broadcast dimensions are fetched once.

    Half a granule is added per run for runs that do not start at a granule's beginning.
    """
    span, runs = 1, 1
    for extent, stride in sorted(((extent, abs(stride)) for extent, stride in dims if extent > 1 and stride), key=lambda dim: dim[1]):
        if runs == 1 and (stride <= span or (stride - span) * element_bytes < GRANULE_BYTES // 2):
            span += stride * (extent - 1)
        else:
            runs *= extent
    size = span * element_bytes
    aligned = size % GRANULE_BYTES == 0
    return runs * (math.ceil(size / GRANULE_BYTES) + (0.0 if aligned else 0.5))
