"""Partitions: who runs where, programs side by side on one memory, launches in turn, addresses of indirect transfers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import togsim
from togsim import Dma, IndexValues, Launch, Range, Result, Simulator, TraceError, uniform_indices
from togsim.random_traces import BASES, BLOCKS, random_trace
from togsim.simulator import Mode
from togsim.synthetic import TraceBuilder
from togsim.test_core import MACHINE
from togsim.test_equivalence import DRAMS, MACHINES, comparable

MODES: tuple[Mode, ...] = ("fast", "forced_scan", "cycle_by_cycle")
TWO = {"num_cores": 2, "num_partition": 2, "partition": {"core_0": 0, "core_1": 1}}
A, B = Range(0, 0, 0, 64), Range(1, 64, 0, 64)


def loads(count: int, elements: int, *, arg: int = 0) -> TraceBuilder:
    """One work-item that loads ``count`` blocks of DRAM one after another."""
    trace = TraceBuilder().item()
    for k in range(count):
        trace.load(A, elements, arg=arg, offset=k * elements, tag=0).wait(0)
    return trace


def launch(trace: TraceBuilder, *, partition: int = 0, earliest: int = 0, base: int = 0x10_0000_0000) -> Launch:
    return Launch(trace.producer(), [base, base + 0x100_0000], [(25, 0)], partition, earliest)


def simulator(**changes: Any) -> Simulator:
    return Simulator({**MACHINE, **changes})


@pytest.mark.req("G-2")
@pytest.mark.parametrize(
    ("partition", "owner"),
    [
        ({"core_0": 0, "core_1": 1, "core_2": 1}, {0: [0], 1: [1, 2]}),
        ({"core_1": 1}, {0: [0, 2], 1: [1]}),
        ({"core_0": 1, "core_1": 0, "core_2": 1}, {0: [1], 1: [0, 2]}),
    ],
)
def test_work_items_go_round_robin_over_the_cores_of_a_partition(partition: dict[str, int], owner: dict[int, list[int]]) -> None:
    def items(count: int) -> TraceBuilder:
        trace = TraceBuilder()
        for item in range(count):
            trace.item(item).vector(0, (), (A,))
        return trace

    machine = simulator(num_cores=3, num_partition=2, partition=partition)
    result = machine.run_launches([launch(items(5)), launch(items(7), partition=1)], issue_order=True)
    placed = {(core, item) for _, core, item, _ in result.issue_order}
    assert placed == {(owner[p][item % len(owner[p])], item) for p, count in ((0, 5), (1, 7)) for item in range(count)}
    assert [core.partition for core in result.cores] == [next(p for p in (0, 1) if c in owner[p]) for c in range(3)]
    assert [sum(core.work_items for core in result.partition_cores(p)) for p in (0, 1)] == [5, 7]
    alone = machine.run_producer(items(7).producer(), BASES, [(25, 0)], partition=1)
    assert all(core.work_items == 0 and core.idle_cycles == alone.cycles for core in alone.partition_cores(0))


@pytest.mark.req("G-2")
def test_partitions_share_the_memory_and_its_bandwidth() -> None:
    """One channel answers one request a cycle: two streams of n requests each take at least 2n cycles together, and n alone."""
    one_channel = simulator(**TWO, dram_channels=1)
    count = 64  # blocks of 64 requests; latency is small against the stream
    first, second = loads(count, 512), loads(count, 512)
    a, b = launch(first), launch(second, partition=1, base=0x20_0000_0000)
    alone = [one_channel.run_launches([entry]).cycles for entry in (a, b)]
    requests = count * 512 * 4 // 32
    assert alone[0] == alone[1]
    assert requests <= alone[0] <= requests + count * 60
    shared = one_channel.run_launches([a, b])
    assert shared.cycles >= 2 * requests
    assert shared.cycles <= 2 * requests + count * 60, "one program's latency hides behind the other's stream"
    for number in (0, 1):
        assert shared.launches[number].cycles >= alone[number], "sharing makes nothing faster"
    assert sum(channel.reads for channel in shared.channels) == 2 * requests
    bent = one_channel.run_launches([a, b], faults={"bend_rule": "partitions_ignored"})
    assert {core.work_items for core in bent.cores} == {0, 2}, "the fault puts both on one core"


@pytest.mark.req("G-2", "H-7")
def test_programs_that_share_no_resource_do_not_disturb_each_other() -> None:
    compute = TraceBuilder().item().vector(0, (), (A,)).vector(0, (A,), (B,)).vector(0, (B,), (A,))
    machine = simulator(**TWO)
    alone = machine.run_launches([launch(compute)])
    both = machine.run_launches([launch(compute), launch(loads(8, 4096), partition=1)])
    assert both.launches[0] == alone.launches[0]
    assert both.partition_cycles(1) == both.cycles


def test_launches_of_a_partition_run_in_turn() -> None:
    """Each begins in the cycle after the last retirement of the one before it; empty ones take no time; arrival times count."""
    machine = simulator(num_cores=2)
    work = TraceBuilder().item().vector(0, (), (A,)).item().vector(0, (), (A,)).vector(0, (A,), (B,))
    alone = machine.run_launches([launch(work)]).cycles
    result = machine.run_launches([launch(work), launch(TraceBuilder()), launch(work), launch(work, earliest=1000)])
    spans = [(span.begin, span.end) for span in result.launches]
    assert spans == [(0, alone), (alone, alone), (alone, 2 * alone), (1000, 1000 + alone)]
    assert result.cycles == 1000 + alone == result.partition_cycles(0)
    for core in result.cores:
        assert core.issue_cycles + core.idle_cycles + sum(core.stalls.values()) == result.cycles
    together = machine.run_launches([launch(work), launch(work)], faults={"bend_rule": "launches_together"})
    assert together.cycles < 2 * alone, "without the rule the second would not wait"


@pytest.mark.req("H-6", "G-11", "G-2")
@settings(max_examples=40, deadline=None)
@given(MACHINES, DRAMS, st.data())
def test_all_modes_agree_on_many_launches(machine: dict[str, Any], dram: dict[str, Any], data: st.DataObject) -> None:
    cores = machine["num_cores"]
    partitions = data.draw(st.integers(1, cores))
    owners = [*range(partitions), *(data.draw(st.integers(0, partitions - 1)) for _ in range(cores - partitions))]
    simulated = Simulator({**machine, **dram, "num_partition": partitions, "partition": {f"core_{c}": p for c, p in enumerate(owners)}})
    launches = [
        Launch(
            togsim.synthetic_producer(random_trace(lambda n: data.draw(st.integers(0, n - 1)), items=2, steps=6)),
            BASES,
            BLOCKS,
            data.draw(st.integers(0, partitions - 1)),
            data.draw(st.sampled_from([0, 0, 17, 400])),
        )
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    results = [simulated.run_launches(launches, mode=mode, trace_log=True, issue_order=True) for mode in MODES]
    assert comparable(results[0]) == comparable(results[1]) == comparable(results[2])
    assert all(core.missed_wakes == 0 for result in results for core in result.cores)
    for p in range(partitions):
        spans = [span for span in results[0].launches if span.partition == p]
        assert all(before.end <= after.begin for before, after in itertools.pairwise(spans))
    assert sum(core.work_items for core in results[0].cores) == sum(entry.producer.work_items() for entry in launches)


def gather(offsets: list[int] | None, *, elements: int = 16) -> tuple[TraceBuilder, IndexValues | None]:
    trace = TraceBuilder().item().vector(0, (), (A,)).load(B, elements, index=A)
    return trace, None if offsets is None else IndexValues({(0, 1): offsets})


def run_gather(offsets: list[int] | None, *, elements: int = 16, **choices: Any) -> Result:
    trace, indices = gather(offsets, elements=elements)
    return simulator().run_producer(trace.producer(), BASES, [(1, 0)], indices=indices, **choices)


@pytest.mark.req("G-18")
@pytest.mark.parametrize(
    ("offsets", "granules"),
    [
        ([0] * 16, 2),  # positions 0..15 of 4 bytes: dense, two granules of 32 bytes
        ([-i for i in range(16)], 1),  # all lanes want one element: one fetch, multicast
        ([7 * i for i in range(16)], 16),  # 8 elements apart: a granule each
        ([8 * (15 - i) - i for i in range(16)], 16),  # the same, downwards
        ([(i % 2) * 1000 - i for i in range(16)], 2),  # two rows, each shared by half of the lanes
    ],
)
def test_indirect_loads_fetch_each_distinct_granule_once(offsets: list[int], granules: int) -> None:
    result = run_gather(offsets)
    assert result.cores[0].read_requests == granules
    assert result.index_sources == ["supplied"]
    assert result.approximate == []
    assert result.cores[0].indirect_transfers == 1
    assert result.cores[0].unindexed_transfers == 0


@pytest.mark.req("G-18")
def test_a_fetch_for_every_lane_would_show() -> None:
    same = [-i for i in range(16)]
    assert run_gather(same, faults={"bend_rule": "granules_repeated"}).cores[0].read_requests == 16
    assert run_gather(same).cores[0].read_requests == 1


@pytest.mark.req("G-18")
def test_time_follows_the_addresses() -> None:
    """One channel, one request a cycle: a scattered load takes as many cycles longer as it has more granules."""

    def cycles(offsets: list[int]) -> int:
        trace, indices = gather(offsets, elements=64)
        return simulator(dram_channels=1).run_producer(trace.producer(), BASES, [(1, 0)], indices=indices).cycles

    assert cycles([7 * i for i in range(64)]) - cycles([-i for i in range(64)]) == 63


@pytest.mark.req("G-18")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_indirect_addresses_equal_a_plain_enumeration(data: st.DataObject) -> None:
    dims = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    low = tuple(data.draw(st.integers(0, dim)) for dim in dims)
    high = tuple(data.draw(st.integers(0, dim)) for dim in dims)
    strides = tuple(data.draw(st.integers(-9, 300)) for _ in dims)
    bits = data.draw(st.sampled_from([8, 16, 32, 64]))
    positions: list[tuple[int, ...]] = [()]
    for dim in dims:
        positions = [(*head, i) for head in positions for i in range(dim)]
    offsets = data.draw(st.lists(st.integers(0, 2000), min_size=len(positions), max_size=len(positions)))
    touched = {
        (BASES[0] + (64 + sum(i * s for i, s in zip(position, strides, strict=True)) + offset) * bits // 8) // 32
        for position, offset in zip(positions, offsets, strict=True)
        if all(lo <= i < hi for lo, i, hi in zip(low, position, high, strict=True))
    }
    load = Dma(togsim.Direction.LOAD, 0, 64, dims, strides, low, high, bits, False, 0, (A,), (B,))
    trace = TraceBuilder().item().vector(0, (), (A,))
    trace.records.append(load)
    result = simulator().run_producer(trace.producer(), BASES, [(1, 0)], indices=IndexValues({(0, 1): offsets}))
    assert result.cores[0].read_requests == len(touched)


@pytest.mark.req("G-18")
def test_a_load_of_scattered_bytes_waits_for_the_store_of_just_these() -> None:
    """The store covers elements 0..15; the gather's real addresses decide whether it depends on it."""
    trace = TraceBuilder().item().vector(0, (), (A,)).store(A, 16, tag=0).wait(0).load(B, 4, index=A, tag=1).wait(1)

    def issued(offset: int) -> tuple[int, int]:
        result = simulator().run_producer(trace.producer(), BASES, [(1, 0)], indices=IndexValues({(0, 3): [offset] * 4}), timeline=True)
        issue = {e.get("record"): (e.cycle, e.inst) for e in result.events if e.tag == "INST_ISSUED"}
        done = {e.inst: e.cycle for e in result.events if e.tag == "INST_FINISHED"}
        return issue[3][0], done[issue[1][1]]

    load, stored = issued(8)
    assert load >= stored
    load, stored = issued(4096)
    assert load < stored


@pytest.mark.req("G-18")
def test_a_scatter_is_an_indirect_transfer_too() -> None:
    """A store that reads a second buffer takes its addresses from there: timed by them if they are known, else counted and shown."""
    scatter = TraceBuilder().item().vector(0, (), (A,)).vector(0, (), (B,)).store(A, 16, index=B).store(A, 16, offset=4096)
    dense = simulator().run_producer(scatter.producer(), BASES, [(1, 0)])
    assert (dense.indirect_transfers, dense.unindexed_transfers, dense.cores[0].write_requests) == (1, 1, 4)
    assert dense.index_sources == ["none: timed as dense"]
    assert dense.approximate == ["indirect"]
    assert "1 indirect transfers: addresses none: timed as dense (approximate)\n  1 of them without index values" in dense.table()
    known = IndexValues({(0, 2): [7 * i for i in range(16)]})
    result = simulator().run_producer(scatter.producer(), BASES, [(1, 0)], indices=known)
    assert (result.indirect_transfers, result.unindexed_transfers, result.cores[0].write_requests) == (1, 0, 18)
    assert result.approximate == []
    assert list(uniform_indices(scatter.producer(), 10, 1).offsets) == [(0, 2)]
    two_parts = TraceBuilder().item().vector(0, (), (A,))
    two_parts.records.append(replace(scatter.records[3], reads=(replace(A, length=32), replace(A, begin=32, length=32))))
    assert simulator().run_producer(two_parts.producer(), BASES, [(1, 0)]).indirect_transfers == 0, "two parts of one source"


@pytest.mark.req("G-18")
def test_unknown_addresses_are_flagged_never_silent() -> None:
    dense = run_gather(None)
    assert dense.approximate == ["indirect"]
    assert dense.index_sources == ["none: timed as dense"]
    assert dense.cores[0].unindexed_transfers == 1
    assert "timed as dense (approximate)" in dense.table()
    trace, _ = gather(None)
    drawn = uniform_indices(trace.producer(), 1000, 16, seed=3)
    assert drawn == uniform_indices(trace.producer(), 1000, 16, seed=3) != uniform_indices(trace.producer(), 1000, 16, seed=4)
    assert list(drawn.offsets) == [(0, 1)]
    assert all(value % 16 == 0 and 0 <= value < 16000 for value in drawn.offsets[0, 1])
    result = simulator().run_producer(trace.producer(), BASES, [(1, 0)], indices=drawn)
    assert result.approximate == ["indirect"]
    assert result.index_sources == ["uniform over 1000, seed 3"]
    assert result.cores[0].read_requests > dense.cores[0].read_requests
    assert run_gather([0] * 16).approximate == []


@pytest.mark.req("G-18")
@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ({(0, 1): [0] * 15}, "index values do not match the tile"),
        ({(0, 1): [0] * 16, (0, 0): [0]}, "index values for a record that is no transfer"),
        ({(3, 1): [0] * 16}, "index values for a work-item that does not exist"),
        ({(0, 1): [-(2**40)] * 16}, "transfer below address 0"),
    ],
)
def test_index_values_that_do_not_fit_are_refused(offsets: dict[tuple[int, int], list[int]], message: str) -> None:
    trace, _ = gather(None)
    with pytest.raises(TraceError, match=message):
        simulator().run_producer(trace.producer(), BASES, [(1, 0)], indices=IndexValues(offsets))
    with pytest.raises(TraceError, match="no index to draw from"):
        uniform_indices(trace.producer(), 0, 1)
