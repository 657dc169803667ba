"""Bad input: refused with a clear error before anything is simulated, whatever is wrong; and nothing ever hangs."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import togsim
from togsim import Compute, ComputeType, ConfigError, DeadlockError, Dma, Launch, MemoryBar, Range, Simulator, TraceError
from togsim.config import MAY_BE_ZERO, SimConfig
from togsim.random_traces import BASES, BLOCKS, random_trace
from togsim.records import Record, TileBegin, TileEnd
from togsim.simulator import Mode
from togsim.synthetic import TraceBuilder
from togsim.test_core import MACHINE

A, B = Range(0, 0, 0, 64), Range(1, 64, 0, 64)
COUNTS = sorted(
    name
    for name, value in SimConfig(1, 1, 1, 1, 1, 1, 1).to_core().items()
    if isinstance(value, int) and not isinstance(value, bool) and name not in (*MAY_BE_ZERO, "spad_bytes_per_lane")
)
"""Every key that counts a resource, read from the machine itself, so that a new key is tested too."""


@pytest.mark.req("D-4", "G-8")
@pytest.mark.parametrize("key", COUNTS)
@pytest.mark.parametrize("value", [0, -1, 2**31, True, 1.5, "8", None])
def test_resources_must_be_positive_whole_numbers(key: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Simulator({**MACHINE, key: value})
    assert caught.value.where == key
    assert caught.value.expected


@pytest.mark.req("D-4", "G-2")
@pytest.mark.parametrize(
    ("machine", "message", "where"),
    [
        ({"num_cores": 2, "num_partition": 3}, "more partitions than cores", "num_partition"),
        ({"num_cores": 2, "num_partition": 2}, "partition without cores", "partition"),
        ({"num_cores": 2, "num_partition": 2, "partition": {"core_0": 1, "core_1": 1}}, "partition without cores", "partition"),
        ({"num_cores": 2, "partition": {"core_1": 1}}, "core in a partition that does not exist", "partition"),
        ({"num_cores": 2, "partition": {"core_2": 0}}, "names a core that does not exist", "partition"),
        ({"num_cores": 2, "partition": {"core_01": 0}}, "names a core that does not exist", "partition"),
        ({"num_cores": 2, "partition": {"1": 0}}, "names a core that does not exist", "partition"),
        ({"partition": {"core_0": -1}}, "must map cores to partitions", "partition"),
        ({"partition": {"core_0": True}}, "must map cores to partitions", "partition"),
        ({"partition": [0, 1]}, "must map cores to partitions", "partition"),
    ],
)
def test_partitions_must_exist_and_have_cores(machine: dict[str, Any], message: str, where: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Simulator({**MACHINE, **machine})
    assert caught.value.where == where


@pytest.mark.req("G-2")
@pytest.mark.parametrize(
    ("partition", "earliest", "message"), [(1, 0, "partition that does not exist"), (-1, 0, "partition"), (0, -5, "first cycle")]
)
def test_launches_must_fit_the_machine(partition: int, earliest: int, message: str) -> None:
    trace = TraceBuilder().item().vector(0, (), (A,))
    with pytest.raises(ConfigError, match=message) as caught:
        Simulator(MACHINE).run_launches(
            [Launch(trace.producer(), BASES, BLOCKS), Launch(trace.producer(), BASES, BLOCKS, partition, earliest)]
        )
    assert caught.value.where == "launch 1"


def spoil(records: list[Record], rng: random.Random) -> list[Record]:
    """One random defect: records lost, doubled, moved or cut off, or one figure replaced."""
    records = list(records)
    at = rng.randrange(len(records))
    match rng.randrange(5):
        case 0:
            del records[at:]
        case 1:
            del records[at]
        case 2:
            records.insert(rng.randrange(len(records)), records[at])
        case 3:
            records.insert(rng.randrange(len(records)), records.pop(at))
        case _:
            records[at] = spoil_record(records[at], rng)
    return records


def spoil_record(record: Record, rng: random.Random) -> Record:
    number = rng.choice([-(2**40), -1, 0, 1, 3, 7, 2**31, 2**40])
    ranges = (Range(rng.randrange(-2, 4), number, 0, 64),)
    match record:
        case Dma():
            return rng.choice(
                [
                    replace(record, arg_id=number % 2**31),
                    replace(record, element_offset=number),
                    replace(record, dims=(number,)),
                    replace(record, low=(number,)),
                    replace(record, high=(number,)),
                    replace(record, strides=(number,)),
                    replace(record, element_bits=number % 2**31),
                    replace(record, tag=number),
                    replace(record, is_async=not record.is_async),
                    replace(record, reads=ranges),
                    replace(record, writes=ranges),
                    replace(record, dims=(1,) * 9, strides=(1,) * 9, low=(0,) * 9, high=(1,) * 9),
                ]
            )
        case Compute():
            return rng.choice(
                [
                    replace(record, block_id=number),
                    replace(record, compute_type=rng.choice(list(ComputeType))),
                    replace(record, reads=ranges),
                    replace(record, writes=ranges),
                ]
            )
        case MemoryBar():
            return rng.choice([MemoryBar(number, record.count), MemoryBar(record.tag, number)])
        case TileBegin() | TileEnd():
            return TileBegin(0) if isinstance(record, TileEnd) else TileEnd(0)


@pytest.mark.req("G-8", "G-10")
@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_spoilt_records_are_refused_or_run(seed: int) -> None:
    """Never a crash, a hang or an error of another kind; and what runs runs alike in the reference mode."""
    rng = random.Random(seed)
    records = spoil(random_trace(rng.randrange, items=2, steps=8), rng)
    outcomes: list[Any] = []
    modes: tuple[Mode, ...] = ("fast", "forced_scan")
    for mode in modes:
        try:
            outcomes.append(Simulator(MACHINE).run_producer(togsim.synthetic_producer(records), BASES, BLOCKS, mode=mode).cycles)
        except TraceError as error:
            outcomes.append((str(error), error.expected != ""))
    assert outcomes[0] == outcomes[1]
    assert isinstance(outcomes[0], int) or outcomes[0][1], "an error says what was expected"


@pytest.mark.req("G-8")
def test_most_defects_are_refused_with_a_place() -> None:
    messages: set[str] = set()
    refused = 0
    for seed in range(300):
        rng = random.Random(seed)
        try:
            producer = togsim.synthetic_producer(spoil(random_trace(rng.randrange, items=2, steps=8), rng))
            Simulator(MACHINE).run_producer(producer, BASES, BLOCKS)
        except TraceError as error:
            refused += 1
            messages.add(error.summary)
    assert refused > 100
    assert len(messages) > 12


@pytest.mark.req("G-8")
def test_the_last_work_item_is_checked_before_the_first_one_runs() -> None:
    trace = TraceBuilder()
    for item in range(50):
        trace.item(item).load(A, 16, tag=0).wait(0)
    trace.item().wait(3)
    with pytest.raises(TraceError, match="wait without transfer") as caught:  # the fault would stop the first work-item for ever
        Simulator(MACHINE).run_producer(trace.producer(), BASES, [(10, 0)], faults={"bend_rule": "memory_frozen"})
    assert caught.value.where == "work-item 50, record 0"


@pytest.mark.req("G-10")
@pytest.mark.parametrize("mode", ["fast", "forced_scan", "cycle_by_cycle"])
@pytest.mark.parametrize("dram", ["simple", "hbm2"])
def test_a_memory_that_stops_answering_is_reported(mode: Mode, dram: str) -> None:
    """The memory still owes answers, so it is not idle; the guard counts the cycles in which none came."""
    trace = TraceBuilder().item().load(A, 16, tag=0).wait(0).vector(0, (A,), (B,)).store(B, 16, tag=1).wait(1)
    with pytest.raises(DeadlockError, match="no event can make progress") as caught:
        Simulator({**MACHINE, "dram_type": dram}).run_producer(
            trace.producer(), BASES, [(10, 0)], mode=mode, faults={"bend_rule": "memory_frozen"}
        )
    assert caught.value.found.strip().splitlines() == [
        "core 0, work-item 0, record 0: MOVIN (issued) waits for its completion",
        "core 0, work-item 0, record 1: MEMORY_BAR (issued) waits for 1 transfers",
        "core 0, work-item 0, record 2: COMP waits for DONE of MEMORY_BAR record 1;",
        "core 0, work-item 0, record 3: MOVOUT waits for DONE of COMP record 2;",
        "core 0, work-item 0, record 4: MEMORY_BAR waits for ISSUE of MOVOUT record 3;",
    ]


@pytest.mark.req("G-10")
def test_a_slow_memory_is_not_a_frozen_one() -> None:
    slow = Simulator({**MACHINE, "dram_latency": 3_000_000}).run_producer(
        TraceBuilder().item().load(A, 16, tag=0).wait(0).producer(), BASES, BLOCKS
    )
    assert slow.cycles == 3_000_000 + 22


@pytest.mark.req("G-10")
@pytest.mark.parametrize("wake", ["ready", "dram_response", "spad_freed", "weight_slot_freed", "queue_freed", "dispatched", "issued"])
def test_a_lost_wake_up_ends_in_a_report_never_in_a_hang(wake: str) -> None:
    blocked = 0
    for seed in range(30):
        rng = random.Random(seed)
        producer = togsim.synthetic_producer(random_trace(rng.randrange, items=3, steps=12))
        machine = {**MACHINE, "dma_queue_depth": 1, "sa_weight_buffer_depth": 1, "num_systolic_array_per_core": 1}
        try:
            Simulator(machine).run_producer(producer, BASES, BLOCKS, faults={"skip_dirty": wake})
        except DeadlockError as error:
            blocked += 1
            lines = error.found.strip().splitlines()
            assert lines
            assert all(" waits for " in line for line in lines)
    assert blocked or wake not in ("ready", "dram_response"), "these two leave nothing else that could wake the core"
