"""Random DMA kernels: several transfers with tags and waits over two windows, most of them legal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .descriptor import TYPE_CODES, Descriptor, Four, Index
from .program import SPAD, Program
from .protocol import SpikeWindow
from .values import mixed

SPAD_BYTES, REGION_BYTES = 16384, 4096
WINDOW_BYTES = 32768
WRITABLE, READABLE = 0x10_0000_0000, 0x10_0001_0000
_SUMS = {1: ("i1", "u1"), 2: ("i2",), 4: ("i4", "f4"), 8: ("i8", "f8")}
_LOADS = ("npu.mvin", "npu.mvin2", "npu.mvin3")


@dataclass(frozen=True, slots=True)
class Step:
    """A transfer: instruction, configuration, addresses, and how it completes.

    Attributes:
        tag: slot under which it completes, None for a transfer that completes at issue.
        waits: (slot, count) of the WAITs that follow it.
    """

    name: str
    descriptor: Descriptor
    dram: int
    spad: int
    tag: int | None
    waits: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class DmaCase:
    """Transfers in order, and the seed of windows and scratchpad."""

    steps: tuple[Step, ...]
    seed: int

    def program(self) -> Program:
        """Issue the transfers; what is still open at the end is waited for."""
        program = Program()
        for step in self.steps:
            step.descriptor.issue(program, step.name, step.dram, step.spad, tag=step.tag)
            for slot, count in step.waits:
                program.dma("npu.wait", slot, count)
        for slot in sorted({step.tag for step in self.steps if step.tag is not None}):
            program.dma("npu.wait", slot, 0)
        return program

    def windows(self) -> list[SpikeWindow]:
        """A writable and a read-only window."""
        rng = np.random.default_rng(self.seed)
        data = [np.concatenate([mixed(rng, WINDOW_BYTES // 4 // size, 8 * size) for size in (1, 2, 4, 8)]).tobytes() for _ in range(2)]
        return [SpikeWindow(WRITABLE, data[0], True, "writable"), SpikeWindow(READABLE, data[1], False, "readable")]

    def spad(self, lanes: int) -> npt.NDArray[np.uint8]:
        """Initial scratchpad [lanes, SPAD_BYTES]: random, small indices (4 bytes, then 8) in the last quarter."""
        rng = np.random.default_rng(self.seed + 1)
        spad = mixed(rng, lanes * SPAD_BYTES // 4, 32).reshape(lanes, SPAD_BYTES)
        spad[:, INDICES[4] - SPAD : INDICES[8] - SPAD] = rng.integers(-4, 9, (lanes, 512)).astype("<i4").view(np.uint8)
        spad[:, INDICES[8] - SPAD :] = rng.integers(-4, 9, (lanes, 256)).astype("<i8").view(np.uint8)
        return spad


INDICES = {4: SPAD + 12288, 8: SPAD + 14336}


def draw_dma(rng: random.Random, lanes: int) -> DmaCase:
    """One to four transfers; in one of ten cases an address may lie anywhere near the ends of windows and scratchpad."""
    wild = rng.random() < 0.1
    return DmaCase(tuple(_step(rng, lanes, wild) for _ in range(rng.randint(1, 4))), rng.getrandbits(32))


def _step(rng: random.Random, lanes: int, wild: bool) -> Step:
    store = rng.random() < 0.4
    name = "npu.mvout" if store else rng.choice(_LOADS)
    one = _descriptor(rng, lanes, store)
    size = one.element_bytes
    dram = (WRITABLE if store else rng.choice([WRITABLE, READABLE])) + WINDOW_BYTES // 2 // size * size
    region = rng.randrange(3) * REGION_BYTES
    if wild:
        dram += rng.randrange(-WINDOW_BYTES, WINDOW_BYTES)
        region += rng.randrange(-SPAD_BYTES // 4, SPAD_BYTES // 4)
    tag = rng.choice([None, None, 0, 1, 1023])
    waits = tuple((slot, 0) for slot in (0, 1, 1023) if rng.random() < 0.3)
    if wild and rng.random() < 0.3:
        waits += ((rng.choice([0, 1]), rng.randint(1, 2)),)
    return Step(name, one, dram, SPAD + region, tag, waits)


def _descriptor(rng: random.Random, lanes: int, store: bool) -> Descriptor:
    """A tile that fits a region: compact in the scratchpad in any order of axes; stores may also overlap there."""
    size = rng.choice([1, 2, 4, 8])
    split, v = rng.randrange(4), rng.choice([1, 1, 2, 3, 4, 8])
    extents = [rng.choice([1, 1, 2, 3, 4]) for _ in range(4)]
    extents[split] = rng.randint(1, 6 * lanes)
    inner = list(extents)
    inner[split] = -(-extents[split] // (v * lanes)) * v
    while inner[0] * inner[1] * inner[2] * inner[3] * size > REGION_BYTES // 2:
        axis = max((axis for axis in range(4) if axis != split), key=lambda axis: inner[axis])
        extents[axis] = inner[axis] = 1
    strides, step = [0] * 4, 1
    for axis in rng.sample(range(4), 4):
        strides[axis], step = step, step * inner[axis]
    if store and rng.random() < 0.3:
        strides = [rng.randrange(3) for _ in range(4)]
    dram_strides = [rng.choice([0, 1, rng.randint(-12, 12)]) for _ in range(4)]
    low = [rng.choice([0, 0, rng.randint(0, extent)]) for extent in extents] if rng.random() < 0.5 else None
    high = [rng.choice([extent, extent, rng.randint(0, extent)]) for extent in extents] if rng.random() < 0.5 else None
    index = None
    if rng.random() < 0.25:
        index_bytes = rng.choice([4, 8])
        index = Index(INDICES[index_bytes], rng.randint(0, 40), index_bytes)
        if inner[0] * inner[1] * inner[2] * inner[3] * index_bytes > 2048:
            index = None
    sums = rng.choice(_SUMS[size]) if store and rng.random() < 0.4 else ""
    code = TYPE_CODES[sums] if sums else 0
    fill = rng.getrandbits(64) if sums or rng.random() < 0.5 else None
    return Descriptor(
        _four(extents),
        _four(dram_strides),
        _four(strides),
        element_bytes=size,
        split=split,
        vlane_stride=v,
        low=None if low is None else _four(low),
        high=None if high is None else _four(high),
        fill=fill,
        type_code=code,
        accumulate=bool(sums),
        index=index,
    )


def _four(values: Sequence[int]) -> Four:
    a, b, c, d = values
    return a, b, c, d
