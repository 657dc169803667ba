"""A DMA transfer as one value, and the instructions that issue it."""

from __future__ import annotations

from dataclasses import dataclass

from .program import Program

SLOTS = {"npu.mvin": 0, "npu.mvin2": 1, "npu.mvin3": 2, "npu.mvout": 3}
TYPE_CODES = {"i1": 1, "i2": 2, "i4": 3, "i8": 4, "f2": 5, "f4": 6, "f8": 7, "bf2": 8, "u1": 9}
Four = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Index:
    """Index state of a slot: scratchpad address of the array, elements that one index step is worth, bytes of an index."""

    base: int
    stride: int
    bytes: int = 4


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Configuration of a transfer (docs/isa.md section 3); strides in elements, ``low`` and ``high`` in tile positions.

    ``low``, ``high``, ``fill`` None leave what CONFIG sets; ``type_code`` and ``accumulate`` go with ``fill``.
    """

    extents: Four
    dram_strides: Four
    spad_strides: Four
    element_bytes: int = 4
    split: int = 3
    vlane_stride: int = 1
    low: Four | None = None
    high: Four | None = None
    fill: int | None = None
    type_code: int = 0
    accumulate: bool = False
    index: Index | None = None

    def issue(self, program: Program, name: str, dram: int, spad: int, *, tag: int | None = None) -> Program:
        """Append the configuration of the slot of ``npu.mvin``, ``npu.mvin2``, ``npu.mvin3`` or ``npu.mvout``, and the transfer."""
        slot, indirect = SLOTS[name], self.index is not None
        layout = self.vlane_stride << 32 | slot << 17 | int(indirect) << 16 | self.split << 14 | self.element_bytes
        program.dma("npu.config", fields(self.extents), layout)
        program.dma("npu.config2", pair(*self.dram_strides[:2]), pair(*self.dram_strides[2:]))
        program.dma("npu.config3", pair(*self.spad_strides[:2]), pair(*self.spad_strides[2:]))
        if self.index is not None:
            program.dma("npu.config4", self.index.base, self.index.stride | self.index.bytes << 16)
        if self.low is not None or self.high is not None:
            program.dma("npu.config_mask", fields(self.low or (0, 0, 0, 0)), fields(self.high or self.extents))
        if self.fill is not None:
            program.dma("npu.config_fill", self.fill, self.type_code | int(self.accumulate) << 8)
        if tag is not None:
            program.dma("npu.tag", tag, 0)
        return program.dma(name, dram, spad)


def fields(values: Four) -> int:
    """Four 16-bit fields, dimension 0 in the highest."""
    return sum(value << 48 - 16 * axis for axis, value in enumerate(values))


def pair(high: int, low: int) -> int:
    """Two signed 32-bit words in one register."""
    return (high & 0xFFFF_FFFF) << 32 | low & 0xFFFF_FFFF
