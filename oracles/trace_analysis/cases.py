"""Cases for the oracles: random traces on random small machines, and a few by hand that reach every shortage."""

from __future__ import annotations

import random
from typing import Any

from oracles.trace_analysis.trial import Case
from togsim import Direction, Dma, Range
from togsim.random_traces import BASES, BLOCKS, Choose, random_trace
from togsim.synthetic import TraceBuilder, gemm_trace

DRAMS: list[dict[str, Any]] = [
    {"dram_type": "hbm2", "dram_req_size_byte": 32, "dram_mapper": "MOP4CLXOR"},
    {"dram_type": "ddr4", "dram_req_size_byte": 64, "dram_mapper": "RoBaRaCoCh"},
    {"dram_type": "hbm2", "dram_req_size_byte": 32, "dram_mapper": "ChRaBaRoCo"},
    {"dram_type": "simple", "dram_req_size_byte": 32, "dram_latency": 37},
]
SMALL: dict[str, Any] = {
    "num_cores": 1, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 1, "num_systolic_array_per_core": 2,
    "sa_weight_buffer_depth": 2, "dram_type": "simple", "dram_latency": 20, "dram_freq_mhz": 940, "dram_channels": 4,
    "icnt_freq_mhz": 940, "icnt_latency_cycles": 5, "icnt_injection_ports_per_core": 4, "dma_queue_depth": 2,
}  # fmt: skip


def random_machine(choose: Choose) -> dict[str, Any]:
    """A small machine, short of everything now and then."""

    def one_of(*values: int) -> int:
        return values[choose(len(values))]

    return {
        "num_cores": one_of(1, 1, 2, 3),
        "core_freq_mhz": one_of(500, 800, 940),
        "vpu_num_lanes": 8,
        "vpu_spad_size_kb_per_lane": 1,
        "core_spad_size_kb": one_of(0, 4, 5),
        "num_systolic_array_per_core": one_of(1, 2, 3),
        "sa_weight_buffer_depth": one_of(1, 2),
        "dram_freq_mhz": one_of(700, 940, 1200),
        "dram_channels": one_of(1, 3, 4),
        "icnt_freq_mhz": one_of(600, 940, 1000),
        "icnt_latency_cycles": one_of(1, 2, 10),
        "icnt_injection_ports_per_core": one_of(1, 4),
        "dma_queue_depth": one_of(1, 2, 32),
        **DRAMS[choose(len(DRAMS))],
    }


def random_case(choose: Choose, *, items: int = 4, steps: int = 14) -> Case:
    """A random legal trace on a random machine."""
    return Case(random_machine(choose), random_trace(choose, items=items, steps=steps), BASES, BLOCKS)


def seeded_case(seed: int, **size: int) -> Case:
    """The random case of a seed; every eighth one is long."""
    long = {"items": 3, "steps": 60} if seed % 8 == 7 else {}
    return random_case(random.Random(seed).randrange, **{**long, **size})


def busy_case() -> Case:
    """Work-items that meet a shortage of everything: weight slots, queues, scratchpad."""
    trace = TraceBuilder()
    left, right, out, result = (Range(k, 96 * k, 0, 96) for k in range(4))
    for item in range(3):
        trace.item(item)
        for step in range(4):
            trace.load(left, 64, offset=256 * step, tag=0).load(right, 64, offset=256 * step, tag=1).wait(0).wait(1)
            for _ in range(3):
                trace.preload(3, right).matmul(4, left, out).matmul(2, left, out)
            trace.vector(1, (out,), (result,)).store(result, 48, offset=8192 * (item + 1), tag=2).wait(2)
    return Case({**SMALL, "sa_weight_buffer_depth": 1}, trace.finish(), BASES, BLOCKS)


def gemm_case() -> Case:
    """A tiled matrix product over two arrays."""
    records, table, bases = gemm_trace(32, 16, 8)
    return Case({**SMALL, "vpu_spad_size_kb_per_lane": 4, "icnt_injection_ports_per_core": 16}, records, bases, table)


def memory_case() -> Case:
    """One load of many requests, alone, from one channel of the simple DRAM: its times are closed forms."""
    machine = {**SMALL, "dram_channels": 1}
    requests, way, ports = 200, machine["icnt_latency_cycles"], machine["icnt_injection_ports_per_core"]
    trace = TraceBuilder().item().load(Range(0, 0, 0, 64), 8 * requests, tag=0).wait(0)
    start = 1  # issue in cycle 0; the engine takes it in the next
    first = start + way + machine["dram_latency"] + way
    known = {
        "DMA_START": start,
        "DMA_INJECTED": start + requests // ports - 1,
        "DRAM_FIRST_RESP": first,
        "DRAM_RESP_DONE": first + requests - 1,  # the channel takes one request in a cycle
    }
    return Case(machine, trace.finish(), BASES, BLOCKS, known)


def large_case() -> Case:
    """Work-items over and at half of the scratchpad: the first kind runs alone, the second two at a time. The last one wants a byte more
    at a time than there are."""
    trace = TraceBuilder()
    for item, size in enumerate((512, 513, 514, 1024, 512, 512, 511)):
        place = Range(0, 0, 0, size)
        trace.item(item).load(place, 64, offset=256 * item, tag=0).wait(0).vector(4, (place,), (place,)).vector(1, (place,), (place,))
    half, more = Range(0, 0, 0, 512), Range(1, 256, 0, 513)
    trace.item().load(half, 64, tag=0).wait(0).vector(4, (half,), (half,)).vector(1, (half,), ()).load(more, 64, offset=256, tag=1).wait(1)
    trace.vector(1, (more,), (more,))
    return Case(SMALL, trace.finish(), BASES, BLOCKS)


def tight_case() -> Case:
    """Versions that fill a work-item's share to the byte, opened out of order; results that nobody reads."""
    trace = TraceBuilder()
    for item in range(2):
        trace.item(item)
        place, out, unread = Range(0, 0, 0, 128), Range(1, 128, 0, 256), Range(2, 384, 0, 128)
        for step in range(5):
            trace.load(place, 32, offset=64 * step, tag=0).wait(0).vector(4, (place,), (out,)).vector(1, (), (unread,))
            trace.load(unread, 8, offset=64 * step).store(out, 64, arg=1, offset=8192 + 64 * step, tag=1).wait(1)
    return Case({**SMALL, "dma_queue_depth": 1}, trace.finish(), BASES, BLOCKS)


def gaps_case() -> Case:
    """A load whose rows lie before and after bytes that were stored: the boxes overlap, the bytes do not."""
    place, other = Range(0, 0, 0, 64), Range(1, 64, 0, 64)
    rows = Dma(Direction.LOAD, 0, 0, (2, 8), (64, 1), (0, 0), (2, 8), 32, False, 0, (), (other,))
    trace = TraceBuilder().item().vector(1, (), (place,)).store(place, 16, offset=32)
    trace.records.append(rows)
    return Case(SMALL, trace.finish(), BASES, BLOCKS)


HAND_MADE = (busy_case, gemm_case, memory_case, large_case, tight_case, gaps_case)
