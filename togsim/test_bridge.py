"""The dependency rule on small traces, and the degenerate traces. oracles/trace_analysis holds it against an independent analysis."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import togsim
from togsim import Range, Simulator, TraceError
from togsim.degenerate_traces import DEGENERATE, degenerate_trace, unpinned_matmul
from togsim.random_traces import BASES, BLOCKS
from togsim.simulator import Mode
from togsim.synthetic import TraceBuilder

MACHINE = {
    "num_cores": 1, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 1, "num_systolic_array_per_core": 2,
    "dram_freq_mhz": 940, "dram_channels": 4, "icnt_freq_mhz": 940, "icnt_injection_ports_per_core": 4,
}  # fmt: skip
SIM = Simulator(MACHINE)
A, B, C = Range(0, 0, 0, 64), Range(1, 64, 0, 64), Range(2, 128, 0, 64)

Edges = set[tuple[int, str, int]]


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


@pytest.mark.req("G-8", "G-7", "G-5")
@pytest.mark.parametrize("message", DEGENERATE)
@settings(max_examples=15)
@given(data=st.data())
def test_degenerate_traces_are_explicit_errors(message: str, data: st.DataObject) -> None:
    """Whatever legal records come before, the defect gives its own error, in every mode, and names its place."""
    choose = lambda n: data.draw(st.integers(0, n - 1))  # noqa: E731
    for defect in DEGENERATE[message]:
        producer = togsim.synthetic_producer(degenerate_trace(defect, choose))
        mode: Mode = data.draw(st.sampled_from(["fast", "forced_scan", "cycle_by_cycle"]))
        with pytest.raises(TraceError, match=message) as caught:
            SIM.run_producer(producer, BASES, BLOCKS, mode=mode)
        assert caught.value.found and caught.value.expected
        if "address" not in message:
            assert "work-item 1, record" in caught.value.where


@pytest.mark.req("G-8")
def test_weights_of_another_work_item_do_not_pin_a_matmul() -> None:
    with pytest.raises(TraceError, match="matmul without preload") as caught:
        SIM.run_producer(togsim.synthetic_producer(unpinned_matmul()), BASES, BLOCKS)
    assert caught.value.where == "work-item 1, record 1"


@pytest.mark.req("G-8")
def test_a_matmul_that_issues_before_its_preload_is_an_error() -> None:
    """The pin itself is guarded, not only the dependency that keeps the order."""
    trace = TraceBuilder().item().load(A, 16).load(B, 4096).preload(1, B).matmul(1, A, C, accumulate=False)
    with pytest.raises(TraceError, match="weights are in no array"):
        SIM.run_producer(trace.producer(), BASES, BLOCKS, faults={"drop_edges": "weights:preload:matmul"})


@pytest.mark.req("G-6")
def test_a_matmul_that_overtakes_the_opener_of_its_sum_frees_nothing_early() -> None:
    """Both products add to C; the second one's operands arrive first, and nobody reads the sum afterwards."""
    trace = TraceBuilder().item().load(A, 16, tag=0).load(B, 4096, tag=1).wait(0)
    late, early = Range(0, 256, 0, 64), Range(1, 320, 0, 64)
    trace.vector(1, (A,), (early,)).vector(4, (A,), (late,)).preload(1, A).matmul(1, late, C).preload(1, A).matmul(1, early, C).wait(1)
    result = SIM.run_producer(trace.producer(), BASES, BLOCKS, issue_order=True)
    order = [record for _, _, _, record in result.issue_order]
    assert order.index(8) < order.index(6), "the second matmul issues first"
    assert all(bytes_held >= 0 for *_, bytes_held in result.held)
    live = {(record, event): held for _, _, _, record, event, held in result.held}
    before = result.held[[(r, e) for _, _, _, r, e, _ in result.held].index((8, "ISSUE")) - 1][-1]
    # `early` was read for the last time and goes; C is not there yet, so nothing else may
    assert live[8, "ISSUE"] == before - 64


def test_impossible_cycle_table_is_refused() -> None:
    with pytest.raises(TraceError, match="impossible entry"):
        SIM.run_producer(TraceBuilder().item().vector(0).producer(), BASES, [(4, 5)])
