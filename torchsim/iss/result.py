"""What goes into a run and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Quad = tuple[int, int, int, int]
Spans = tuple[tuple[int, int], ...]
"""Sorted, disjoint in-lane byte ranges (first, past the last) of the scratchpad, offsets from its base."""


class Window(NamedTuple):
    """Device bytes [address, address + nbytes) are the host bytes at ``host``."""

    address: int
    host: int
    nbytes: int
    writable: bool = True
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the execution log, in program order.

    Attributes:
        kind: load (MVIN*), store (MVOUT), wait, block_begin or block_end.
        pc: address of the instruction.
        slot, dram_address, spad_address, dims, dram_strides, spad_strides, low, high, element_bytes, split_axis, vlane_stride, indirect,
            fill, type_code, accumulate: a transfer's operands and configuration, axis 0 outermost, strides in elements.
        tag: tag slot of a transfer (-1: synchronous) or of a wait.
        count: of a wait, as in the instruction (0: all).
        block_id: of block_begin and block_end.
        cycles: of block_end.
        reads, writes: in-lane scratchpad bytes of a transfer, or of the whole block at block_end (option ``footprint``).
    """

    kind: Literal["load", "store", "wait", "block_begin", "block_end"]
    pc: int
    slot: int = 0
    tag: int = -1
    dram_address: int = 0
    spad_address: int = 0
    dims: Quad = (1, 1, 1, 1)
    dram_strides: Quad = (0, 0, 0, 0)
    spad_strides: Quad = (0, 0, 0, 0)
    low: Quad = (0, 0, 0, 0)
    high: Quad = (1, 1, 1, 1)
    element_bytes: int = 0
    split_axis: int = 0
    vlane_stride: int = 1
    indirect: bool = False
    fill: int = 0
    type_code: int = 0
    accumulate: bool = False
    count: int = 0
    block_id: int = -1
    cycles: int = 0
    reads: Spans = ()
    writes: Spans = ()


class BlockCycles(NamedTuple):
    """Executions of one compute block."""

    executions: int
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """A completed run.

    Attributes:
        instructions: executed instructions, the closing ``ebreak`` not counted. Its parts: ``scalar``, ``vector`` (with array and
            special-function instructions) and ``dma`` (configuration, transfers, waits, block marks).
        block_cycles: by block id.
        blocks: every block execution in order, (block id, cycles, instructions); empty without ``log``.
        log: events in order, empty unless asked for.
    """

    instructions: int
    scalar: int
    vector: int
    dma: int
    block_cycles: dict[int, BlockCycles]
    blocks: tuple[tuple[int, int, int], ...]
    log: tuple[Event, ...] = field(default=())
