"""The fast mode equals the slow reference modes, always; and what every run must satisfy."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import togsim
from togsim import Compute, ComputeType, DeadlockError, Direction, Dma, Record, Result, Simulator
from togsim.random_traces import BASES, BLOCKS, random_trace
from togsim.simulator import Mode
from togsim.synthetic import TraceBuilder, gemm_trace

MODES: tuple[Mode, ...] = ("fast", "forced_scan", "cycle_by_cycle")

MACHINES = st.fixed_dictionaries(
    {
        "num_cores": st.integers(1, 3),
        "core_freq_mhz": st.sampled_from([500, 800, 940]),
        "vpu_num_lanes": st.just(8),
        "vpu_spad_size_kb_per_lane": st.just(1),
        "core_spad_size_kb": st.sampled_from([0, 4, 5]),
        "num_systolic_array_per_core": st.integers(1, 3),
        "sa_weight_buffer_depth": st.integers(1, 2),
        "dram_freq_mhz": st.sampled_from([700, 940, 1200]),
        "dram_channels": st.sampled_from([1, 3, 4]),
        "icnt_freq_mhz": st.sampled_from([600, 940, 1000]),
        "icnt_latency_cycles": st.sampled_from([1, 2, 10]),
        "icnt_injection_ports_per_core": st.sampled_from([1, 4]),
        "dma_queue_depth": st.sampled_from([1, 2, 32]),
    }
)
DRAMS = st.sampled_from(
    [
        {"dram_type": "hbm2", "dram_req_size_byte": 32, "dram_mapper": "MOP4CLXOR"},
        {"dram_type": "ddr4", "dram_req_size_byte": 64, "dram_mapper": "RoBaRaCoCh"},
        {"dram_type": "hbm2", "dram_req_size_byte": 32, "dram_mapper": "ChRaBaRoCo"},
        {"dram_type": "simple", "dram_req_size_byte": 32, "dram_latency": 37},
    ]
)


# Small buffers and queues, so that back-pressure reaches the DMA engines; the last one with the default figures.
INTERCONNECTS = st.sampled_from(
    [
        {"icnt_type": "simple"},
        {
            "icnt_type": "crossbar", "icnt_flit_bytes": 8, "icnt_virtual_channels": 1, "icnt_buffer_flits_per_channel": 2,
            "icnt_injection_queue_packets": 1, "icnt_requests_per_dram_channel": 2,
        },
        {"icnt_type": "crossbar", "icnt_link_latency_cycles": 2, "icnt_router_pipeline_cycles": 2, "icnt_requests_per_dram_channel": 9},
        {"icnt_type": "mesh", "icnt_flit_bytes": 16, "icnt_virtual_channels": 2, "icnt_injection_queue_packets": 2},
        {"icnt_type": "crossbar"},
    ]
)  # fmt: skip


def comparable(result: Result) -> dict[str, Any]:
    """Everything but what the simulation cost: counters of the issue logic, cycles that were looked at."""
    data = asdict(result)
    del data["steps"]
    for core in data["cores"]:
        for key in ("scans", "entries_examined", "missed_wakes"):
            del core[key]
    return data


def expected_requests(records: list[Record], granule: int) -> tuple[int, int]:
    """Distinct granules that loads and stores demand, transfer by transfer."""
    moved = {Direction.LOAD: 0, Direction.STORE: 0}
    for record in records:
        if isinstance(record, Dma):
            first = BASES[record.arg_id] + 4 * record.element_offset
            places = itertools.product(*(range(low, high) for low, high in zip(record.low, record.high)))
            steps = (sum(p * s for p, s in zip(place, record.strides)) for place in places)
            moved[record.direction] += len({(first + 4 * step) // granule for step in steps})
    return moved[Direction.LOAD], moved[Direction.STORE]


def check_invariants(machine: dict[str, Any], simulator: Simulator, records: list[Record], result: Result) -> None:
    reads, writes = expected_requests(records, machine["dram_req_size_byte"])
    assert sum(core.read_requests for core in result.cores) == reads == sum(channel.reads for channel in result.channels)
    assert sum(core.write_requests for core in result.cores) == writes == sum(channel.writes for channel in result.channels)
    assert result.noc_packets == 2 * (reads + writes), "every request is answered once"
    check_links(machine, reads, writes, result)
    for core in result.cores:
        assert core.issue_cycles + core.idle_cycles + sum(core.stalls.values()) == result.cycles
        assert core.peak_spad_bytes <= simulator.config.spad_bytes_per_lane
        assert result.cycles >= core.vector_busy
        assert result.cycles >= max(core.array_busy)
        assert result.cycles >= core.dma_busy >= (core.read_requests + core.write_requests) / machine["icnt_injection_ports_per_core"]
    if machine["dram_type"] != "simple":
        data_beats = {"hbm2": 2, "ddr4": 4}[machine["dram_type"]]
        pseudo_channels = {"hbm2": 2, "ddr4": 1}[machine["dram_type"]]
        for channel in result.channels:
            transferred = channel.reads + channel.writes - channel.forwarded
            assert channel.busy == transferred * data_beats
            assert channel.row_hits + channel.row_misses + channel.row_conflicts == channel.reads + channel.writes
            assert channel.busy / pseudo_channels <= result.cycles * machine["dram_freq_mhz"] / machine["core_freq_mhz"] + 1


def check_links(machine: dict[str, Any], reads: int, writes: int, result: Result) -> None:
    """What enters a router leaves it, everything crosses a first and a last link, and no link is faster than its clock."""

    icnt = machine.get("icnt_type", "simple")

    def flits(size: int) -> int:
        return 1 if icnt == "simple" else -(-size // machine.get("icnt_flit_bytes", 64))

    data, control = flits(machine["dram_req_size_byte"]), flits(8)
    for network, ends, moved in (
        ("requests", ("core", "channel"), reads * control + writes * data),
        ("replies", ("channel", "core"), reads * data + writes * control),
    ):
        links = [link for link in result.links if link.network == network]
        assert sum(link.flits for link in links if link.source.startswith(ends[0])) == moved
        assert sum(link.flits for link in links if link.destination.startswith(ends[1])) == moved
        balance: Counter[str] = Counter()
        for link in links:
            balance[link.destination] += link.flits
            balance[link.source] -= link.flits
            if icnt != "simple" or link.destination.startswith(ends[1]):
                assert result.link_utilization(link) <= 1
        assert all(left == 0 for place, left in balance.items() if place.startswith("router"))


def check_order(simulator: Simulator, producer: togsim._core.Producer, result: Result) -> None:
    """No instruction issues before what it depends on has issued, or finished."""
    name: dict[int, tuple[int, int]] = {}
    issued: dict[tuple[int, int], int] = {}
    for event in result.events:
        if event.tag == "INST_ISSUED":
            name[event.inst] = event.get("item"), event.get("record")
            issued[name[event.inst]] = event.cycle
    done = {name[event.inst]: event.cycle for event in result.events if event.tag == "INST_FINISHED"}
    assert set(done) == set(issued), "everything issued has finished"
    for item in range(producer.work_items()):
        graph = simulator.dependencies(producer, item, BASES, BLOCKS)
        assert {record for number, record in issued if number == item} == {record for record, _ in graph.instructions}
        for before, event, after in graph.edges:
            ready = issued[item, before] if event == "ISSUE" else done[item, before]
            assert ready <= issued[item, after]


def run_all_modes(machine: dict[str, Any], records: list[Record]) -> None:
    simulator = Simulator(machine)
    producer = togsim.synthetic_producer(records)
    results = [simulator.run_producer(producer, BASES, BLOCKS, mode=mode, trace_log=True, issue_order=True) for mode in MODES]
    reference = comparable(results[-1])
    for result in results:
        assert comparable(result) == reference
        assert all(core.missed_wakes == 0 for core in result.cores)
    check_invariants(machine, simulator, records, results[0])
    check_order(simulator, producer, results[0])


@pytest.mark.req("H-6", "G-9", "G-11", "H-7")
@settings(max_examples=160)
@given(MACHINES, DRAMS, INTERCONNECTS, st.data())
def test_modes_are_equal_on_random_traces(
    machine: dict[str, Any], dram: dict[str, Any], interconnect: dict[str, Any], data: st.DataObject
) -> None:
    run_all_modes({**machine, **dram, **interconnect}, random_trace(lambda n: data.draw(st.integers(0, n - 1)), items=4))


@pytest.mark.req("H-6", "G-12")
def test_modes_are_equal_on_long_random_traces() -> None:
    drams = [
        {"dram_type": "hbm2", "dram_req_size_byte": 32},
        {"dram_type": "ddr4", "dram_req_size_byte": 64},
        {"dram_type": "simple", "dram_req_size_byte": 32},
    ]
    for seed in range(30):
        source = random.Random(seed)
        machine = {
            "num_cores": source.choice([1, 2]),
            "core_freq_mhz": source.choice([800, 940]),
            "vpu_num_lanes": 8,
            "vpu_spad_size_kb_per_lane": 1,
            "num_systolic_array_per_core": source.choice([1, 2]),
            "sa_weight_buffer_depth": 1,
            "dram_freq_mhz": source.choice([800, 1000]),
            "dram_channels": source.choice([1, 2]),
            "icnt_freq_mhz": 940,
            "icnt_injection_ports_per_core": 2,
            "dma_queue_depth": source.choice([1, 8]),
            "icnt_type": ("simple", "crossbar", "mesh")[seed % 3],
            "icnt_requests_per_dram_channel": source.choice([1, 3, 128]),
            **source.choice(drams),
        }
        run_all_modes(machine, random_trace(source.randrange, items=5, steps=80))


GEMM_MACHINE = {
    "num_cores": 1, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 32, "num_systolic_array_per_core": 2,
    "dram_freq_mhz": 940, "dram_channels": 16, "icnt_freq_mhz": 940, "icnt_injection_ports_per_core": 16,
}  # fmt: skip


@pytest.mark.req("H-6", "G-11", "G-4")
@pytest.mark.parametrize("depth", [1, 2])
def test_modes_are_equal_on_a_matrix_product(depth: int) -> None:
    records, table, bases = gemm_trace(64, 32, 8)
    simulator = Simulator({**GEMM_MACHINE, "sa_weight_buffer_depth": depth})
    producer = togsim.synthetic_producer(records)
    results = [simulator.run_producer(producer, bases, table, mode=mode, issue_order=True) for mode in MODES]
    assert comparable(results[0]) == comparable(results[1]) == comparable(results[2])
    gated, forced = results[0].cores[0], results[1].cores[0]
    assert forced.missed_wakes == 0
    assert forced.entries_examined >= 5 * gated.entries_examined
    occupancy = sum(
        table[r.block_id][0] - table[r.block_id][1] for r in records if isinstance(r, Compute) and r.compute_type is not ComputeType.VECTOR
    )
    assert sum(gated.array_busy) == occupancy
    assert results[0].cycles * 2 >= occupancy


def many_loads() -> TraceBuilder:
    """Loads that are all ready at once: the DMA queue takes 32, the rest wait for it."""
    trace = TraceBuilder().item()
    for k in range(800):
        trace.load(togsim.Range(k, 32 * k, 0, 32), 1024, offset=1024 * k, tag=k)
    for k in range(800):
        trace.wait(k).vector(1, (togsim.Range(k, 32 * k, 0, 32),), (togsim.Range(k, 32 * k, 0, 32),))
    return trace


def many_stores() -> TraceBuilder:
    """The same with stores."""
    trace = TraceBuilder().item()
    for k in range(400):
        trace.vector(0, (), (togsim.Range(k, 32 * k, 0, 32),)).store(togsim.Range(k, 32 * k, 0, 32), 1024, offset=1024 * k)
    return trace


def many_versions() -> TraceBuilder:
    """Loads into the same place, all ready at once: the scratchpad holds a few, the rest wait for a release."""
    trace = TraceBuilder().item()
    for k in range(400):
        place = togsim.Range(0, 0, 0, 2048)
        trace.load(place, 64, offset=64 * k, tag=0).wait(0).vector(2, (place,), (place,))
    return trace


def many_preloads() -> TraceBuilder:
    """Weights that are all there, one slot."""
    weights, left, out = (togsim.Range(k, 64 * k, 0, 64) for k in range(3))
    trace = TraceBuilder().item().vector(1, (), (weights,)).vector(1, (), (left,))
    for _ in range(300):
        trace.preload(3, weights).matmul(4, left, out)
    return trace


@pytest.mark.req("H-6", "G-11")
@pytest.mark.parametrize("build", [many_loads, many_stores, many_versions, many_preloads])
def test_a_scan_does_not_walk_what_is_blocked_together(build: Callable[[], TraceBuilder]) -> None:
    """Entries examined per scan do not depend on how many instructions wait for the same thing; order and cycles are those of the walk."""
    producer = build().producer()
    simulator = Simulator({**GEMM_MACHINE, "num_systolic_array_per_core": 1, "sa_weight_buffer_depth": 1})
    results = [simulator.run_producer(producer, BASES, BLOCKS, mode=mode, issue_order=True) for mode in MODES]
    assert comparable(results[0]) == comparable(results[1]) == comparable(results[2])
    gated, forced = results[0].cores[0], results[1].cores[0]
    assert forced.missed_wakes == 0
    assert gated.entries_examined <= 3 * gated.scans + gated.skipped_computes
    assert forced.entries_examined > 50 * gated.entries_examined


def busy_trace() -> TraceBuilder:
    """Work-items that meet every kind of shortage on a machine with one weight slot and queues of one transfer."""
    trace = TraceBuilder()
    left, right, out, result = (togsim.Range(k, 4096 * k, 0, 4096) for k in range(4))
    for item in range(3):
        trace.item(item)
        for step in range(6):
            trace.load(left, 1024, offset=2048 * step, tag=0).load(right, 1024, offset=2048 * step, tag=1).wait(0).wait(1)
            for _ in range(3):
                trace.preload(3, right).matmul(4, left, out)
            trace.vector(1, (out,), (result,)).store(result, 512, offset=65536 * (item + 1), tag=2).wait(2)
    return trace


def unread_trace() -> TraceBuilder:
    """Loads that nobody reads: their bytes are free again when they arrive, and nothing else happens then."""
    trace = TraceBuilder().item()
    for step in range(6):
        trace.load(togsim.Range(0, 0, 0, 8192), 1024, offset=2048 * step)
    return trace


# Without the others, a later wake-up of another kind still comes, only too late.
DEADLOCKS = ("ready", "dram_response", "spad_freed", "weight_slot_freed", "issued")


@pytest.mark.req("H-6", "G-11")
@pytest.mark.parametrize("wake", ["ready", "dram_response", "spad_freed", "weight_slot_freed", "queue_freed", "dispatched", "issued"])
def test_a_missing_wake_up_is_noticed(wake: str) -> None:
    """Seeded fault: one kind of change no longer marks the core. Forced scan counts issues that gating would have lost."""
    producer = (unread_trace() if wake == "spad_freed" else busy_trace()).producer()
    simulator = Simulator({**GEMM_MACHINE, "sa_weight_buffer_depth": 1, "dma_queue_depth": 1})
    right = simulator.run_producer(producer, BASES, BLOCKS, mode="forced_scan")
    faulty = simulator.run_producer(producer, BASES, BLOCKS, mode="forced_scan", faults={"skip_dirty": wake})
    assert right.cores[0].missed_wakes == 0
    assert faulty.cores[0].missed_wakes > 0
    assert faulty.issue_hash == right.issue_hash, "forced scan does not depend on the flags"
    if wake in DEADLOCKS:
        with pytest.raises(DeadlockError) as caught:
            simulator.run_producer(producer, BASES, BLOCKS, faults={"skip_dirty": wake})
        assert "no wake-up was raised" in caught.value.found
    else:
        gated = simulator.run_producer(producer, BASES, BLOCKS, faults={"skip_dirty": wake})
        assert gated.issue_hash != right.issue_hash
