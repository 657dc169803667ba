"""The dependency rule against an independent byte-by-byte analysis, and the degenerate traces."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import togsim
from togsim import SA_WEIGHTS, Compute, ComputeType, Direction, Dma, MemoryBar, Range, Record, Simulator, TraceError
from togsim.random_traces import ARENA, BASES, BLOCKS, random_trace
from togsim.synthetic import TraceBuilder

MACHINE = {
    "num_cores": 1, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 1, "num_systolic_array_per_core": 2,
    "dram_freq_mhz": 940, "dram_channels": 4, "icnt_freq_mhz": 940, "icnt_injection_ports_per_core": 4,
}  # fmt: skip
SIM = Simulator(MACHINE)
A, B, C = Range(0, 0, 0, 64), Range(1, 64, 0, 64), Range(2, 128, 0, 64)

Edges = set[tuple[int, str, int]]


class Analysis:
    """Orderings that one work-item must keep, from first principles: a list of current writers for every byte."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.writers: list[set[int]] = [set() for _ in range(ARENA)]
        self.queues: dict[int, list[int]] = {}
        self.barrier_of: dict[int, int] = {}
        self.stores: list[int] = []
        self.preload = -1
        self.edges: dict[tuple[int, int], str] = {}
        for index, record in enumerate(records):
            match record:
                case Dma():
                    self._dma(index, record)
                case Compute():
                    self._compute(index, record)
                case MemoryBar():
                    self._barrier(index, record)
                case _:
                    pass

    def result(self) -> Edges:
        return {(producer, event, consumer) for (producer, consumer), event in self.edges.items()}

    def _need(self, producer: int, event: str, consumer: int) -> None:
        if self.edges.get((producer, consumer)) != "DONE":
            self.edges[producer, consumer] = event

    def _on_array(self, index: int) -> bool:
        record = self.records[index]
        return isinstance(record, Compute) and record.compute_type is not ComputeType.VECTOR

    def _is_matmul(self, index: int) -> bool:
        record = self.records[index]
        return isinstance(record, Compute) and record.compute_type is ComputeType.MATMUL

    @staticmethod
    def _bytes(ranges: tuple[Range, ...]) -> set[int]:
        return {b for r in ranges if r.buffer != SA_WEIGHTS for b in range(*r.arena)}

    def _read(self, index: int, read: set[int], accumulated: set[int]) -> None:
        for byte in read:
            for writer in self.writers[byte]:
                if byte in accumulated and self._is_matmul(writer):
                    continue
                both = self._on_array(index) and self._on_array(writer)
                self._need(writer, "ISSUE" if both else "DONE", index)

    def _compute(self, index: int, record: Compute) -> None:
        read, written = self._bytes(record.reads), self._bytes(record.writes)
        accumulated = read & written if record.compute_type is ComputeType.MATMUL else set[int]()
        self._read(index, read, accumulated)
        if record.compute_type is ComputeType.PRELOAD:
            self.preload = index
        elif record.compute_type is ComputeType.MATMUL:
            self._need(self.preload, "ISSUE", index)
        for byte in written:
            self.writers[byte] = self.writers[byte] | {index} if byte in accumulated else {index}

    def _dram(self, record: Dma) -> set[int]:
        return {BASES[record.arg_id] // 4 + record.element_offset + i for i in range(record.dims[0])}

    def _dma(self, index: int, record: Dma) -> None:
        self._read(index, self._bytes(record.reads), set())
        if record.direction is Direction.LOAD:
            for store in self.stores:
                stored = self.records[store]
                assert isinstance(stored, Dma)
                if self._dram(stored) & self._dram(record):
                    self._need(self.barrier_of[store] if stored.is_async else store, "DONE", index)
            for byte in self._bytes(record.writes):
                self.writers[byte] = set() if record.is_async else {index}
        else:
            self.stores.append(index)
        if record.is_async:
            self.queues.setdefault(record.tag, []).append(index)

    def _barrier(self, index: int, record: MemoryBar) -> None:
        queue = self.queues[record.tag]
        count = record.count or len(queue)
        for transfer in queue[:count]:
            self.barrier_of[transfer] = index
            self._need(transfer, "ISSUE", index)
            done = self.records[transfer]
            assert isinstance(done, Dma)
            if done.direction is Direction.LOAD:
                for byte in self._bytes(done.writes):
                    self.writers[byte] = {index}
        self.queues[record.tag] = queue[count:]


def check_edges(records: list[Record]) -> None:
    producer = togsim.synthetic_producer(records)
    for number, item in enumerate(togsim.records_of(producer).work_items()):
        body = item[1:-1]
        found = SIM.dependencies(producer, number, BASES, BLOCKS)
        assert set(found.edges) == Analysis(body).result()
        assert len(found.edges) == len(set(found.edges))
        touched = {
            b
            for r in body
            if isinstance(r, (Dma, Compute))
            for part in (*r.reads, *r.writes)
            if part.buffer >= 0
            for b in range(*part.arena)
        }
        assert found.footprint == len(touched)


@pytest.mark.req("H-5", "G-3", "G-4", "G-5", "G-7")
@settings(max_examples=150)
@given(st.data())
def test_edges_equal_the_byte_by_byte_analysis(data: st.DataObject) -> None:
    check_edges(random_trace(lambda n: data.draw(st.integers(0, n - 1))))


@pytest.mark.req("H-5")
def test_edges_equal_the_analysis_on_long_traces() -> None:
    for seed in range(60):
        source = random.Random(seed)
        check_edges(random_trace(source.randrange, items=2, steps=120))


@pytest.mark.req("H-5")
def test_analysis_notices_a_dropped_dependency() -> None:
    trace = TraceBuilder().item().load(A, 16, tag=0).wait(0).vector(1, (A,), (B,)).producer()
    full = SIM.run_producer(trace, BASES, BLOCKS, issue_order=True)
    broken = SIM.run_producer(trace, BASES, BLOCKS, issue_order=True, faults={"drop_dependency": 1})
    assert broken.cycles < full.cycles, "the block no longer waits for its data"


def edges(build: Callable[[TraceBuilder], TraceBuilder]) -> Edges:
    return set(SIM.dependencies(build(TraceBuilder().item()).producer(), 0, BASES, BLOCKS).edges)


@pytest.mark.req("G-4")
def test_accumulating_matmuls_wait_for_the_seed_only_and_readers_for_all() -> None:
    found = edges(lambda t: t.load(A, 16).vector(1, (), (B,)).preload(1, A).matmul(2, A, B).preload(1, A).matmul(2, A, B).store(B, 16))
    assert {(p, e, c) for p, e, c in found if c in (3, 5)} == {
        (0, "DONE", 3),
        (0, "DONE", 5),
        (1, "DONE", 3),
        (1, "DONE", 5),
        (2, "ISSUE", 3),
        (4, "ISSUE", 5),
    }
    assert {(p, e) for p, e, c in found if c == 6} == {(1, "DONE"), (3, "DONE"), (5, "DONE")}


@pytest.mark.req("G-3", "G-5")
def test_subtile_loads_add_up_and_overlaid_buffers_are_one() -> None:
    left, right = Range(0, 0, 0, 32), Range(0, 0, 32, 32)
    found = edges(lambda t: t.load(left, 8, tag=0).load(right, 8, tag=1).wait(0).wait(1).vector(1, (A,), (B,)))
    assert {(p, e) for p, e, c in found if c == 4} == {(2, "DONE"), (3, "DONE")}
    other_name = Range(9, 32, 0, 16)  # the first bytes of `right` under another name
    found = edges(lambda t: t.load(A, 16).vector(1, (), (other_name,)).vector(1, (right,), (B,)))
    assert {(p, e) for p, e, c in found if c == 2} == {(0, "DONE"), (1, "DONE")}


@pytest.mark.req("G-5")
def test_repeated_waits_resolve_to_one_barrier_and_counts_take_the_oldest() -> None:
    found = edges(lambda t: t.load(A, 16, tag=0).wait(0).wait(0).vector(1, (A,), (B,)))
    assert {(p, e) for p, e, c in found if c == 3} == {(1, "DONE")}
    found = edges(lambda t: t.load(A, 16, tag=0).load(B, 16, tag=0).wait(0, 1).vector(1, (A,), (C,)).wait(0, 1).vector(1, (B,), (C,)))
    assert (0, "ISSUE", 2) in found
    assert (1, "ISSUE", 4) in found
    assert {p for p, _, c in found if c == 3} == {2}


@pytest.mark.req("G-3")
def test_load_of_stored_bytes_depends_on_the_stores_wait() -> None:
    def build(offset: int) -> Edges:
        return edges(lambda t: t.vector(1, (), (A,)).store(A, 16, tag=0).wait(0).load(B, 16, offset=offset, tag=1).wait(1))

    assert (2, "DONE", 3) in build(15)
    assert not any(c == 3 for _, _, c in build(16))


@pytest.mark.req("G-3", "G-5")
def test_interleaved_parts_of_one_transfer_are_read_after_their_common_wait() -> None:
    """Two loads under one tag over overlapping hulls (a peeled transfer): the barrier takes both and is the only writer."""
    overlapping = Range(A.buffer, A.arena_offset, A.begin + 4, A.length)
    found = edges(lambda t: t.load(A, 16, tag=0).load(overlapping, 16, offset=100, tag=0).wait(0).vector(1, (A, overlapping), (B,)))
    assert {(p, kind) for p, kind, c in found if c == 3} == {(2, "DONE")}
    assert {p for p, _, c in found if c == 2} == {0, 1}


BAD: list[tuple[str, Callable[[TraceBuilder], TraceBuilder]]] = [
    ("preload without consumer", lambda t: t.load(A, 16).preload(1, A)),
    ("preload without consumer", lambda t: t.load(A, 16).preload(1, A).preload(1, A).matmul(1, A, B)),
    ("matmul without preload", lambda t: t.load(A, 16).matmul(1, A, B)),
    ("wait without transfer", lambda t: t.load(A, 16, tag=0).wait(1).wait(0)),
    ("wait for more transfers than there are", lambda t: t.load(A, 16, tag=0).wait(0, 2)),
    ("never waited for", lambda t: t.load(A, 16, tag=0)),
    ("never waited for", lambda t: t.vector(1, (), (A,)).store(A, 16, tag=0)),
    ("store of an unwritten buffer", lambda t: t.store(A, 16)),
    ("does not fit the scratchpad", lambda t: t.vector(1, (), (Range(0, 0, 0, 1025),))),
    ("unknown compute block", lambda t: t.vector(99, (), (A,))),
    ("unknown tensor argument", lambda t: t.load(A, 16, arg=7)),
    ("wait for some of the transfers that interleave", lambda t: t.load(A, 16, tag=0).load(A, 16, tag=0).wait(0, 1)),
    ("read while their load is in flight", lambda t: t.load(A, 16, tag=0).vector(1, (A,), (B,)).wait(0)),
    ("written while a load into them is in flight", lambda t: t.load(A, 16, tag=0).vector(1, (), (A,)).wait(0)),
    ("whose store is in flight", lambda t: t.vector(1, (), (A,)).store(A, 16, tag=0).load(B, 16).wait(0)),
    ("transfer below address 0", lambda t: t.load(A, 16, offset=-(2**40))),
]


@pytest.mark.req("G-8", "G-7")
@pytest.mark.parametrize(("message", "build"), BAD)
def test_degenerate_traces_are_explicit_errors(message: str, build: Callable[[TraceBuilder], TraceBuilder]) -> None:
    producer = build(TraceBuilder().item()).producer()
    with pytest.raises(TraceError, match=message) as caught:
        SIM.run_producer(producer, BASES, BLOCKS)
    assert caught.value.found


@pytest.mark.req("G-8")
@pytest.mark.parametrize(
    "record", [Compute(1, ComputeType.PRELOAD, (A,), ()), Compute(1, ComputeType.MATMUL, (A,), (B,))], ids=["preload", "matmul"]
)
def test_array_blocks_must_name_the_weights(record: Record) -> None:
    trace = TraceBuilder().item().load(A, 16)
    trace.records.append(record)
    with pytest.raises(TraceError, match="no weights"):
        SIM.run_producer(trace.producer(), BASES, BLOCKS)


def test_impossible_cycle_table_is_refused() -> None:
    with pytest.raises(TraceError, match="impossible entry"):
        SIM.run_producer(TraceBuilder().item().vector(0).producer(), BASES, [(4, 5)])
