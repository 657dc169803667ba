"""One core: pipes, weight slots, capacity, admission, stalls, deadlock report, determinism, configuration."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import togsim
from togsim import Compute, ComputeType, ConfigError, DeadlockError, Range, Result, Simulator
from togsim.synthetic import TraceBuilder, gemm_trace

MACHINE: dict[str, Any] = {
    "num_cores": 1,
    "core_freq_mhz": 940,
    "vpu_num_lanes": 8,
    "vpu_spad_size_kb_per_lane": 1,
    "num_systolic_array_per_core": 2,
    "dram_type": "simple",
    "dram_latency": 20,
    "dram_freq_mhz": 940,
    "dram_channels": 16,
    "icnt_freq_mhz": 940,
    "icnt_injection_ports_per_core": 16,
}
BASES = [0x10_0000_0000, 0x10_0010_0000]
A, B, C = Range(0, 0, 0, 64), Range(1, 64, 0, 64), Range(2, 128, 0, 64)


def run(trace: TraceBuilder, table: list[tuple[int, int]], **changes: Any) -> Result:
    return Simulator({**MACHINE, **changes}).run_producer(trace.producer(), BASES, table, timeline=True, issue_order=True)


def times(result: Result, tag: str) -> dict[int, int]:
    """Record -> cycle of the first work-item's instructions."""
    return {e.get("record", e.inst): e.cycle for e in result.events if e.tag == tag and e.get("item") == 0 and e.opcode != "TILE"}


def test_vector_blocks_follow_each_other_with_overlap() -> None:
    trace = TraceBuilder().item()
    for k in range(3):
        trace.vector(0, (), (Range(k, 64 * k, 0, 64),))
    result = run(trace, [(30, 10)])
    assert times(result, "INST_ISSUED") == {0: 0, 1: 1, 2: 2}
    # 0 + 30, then each overlaps the 10 drain cycles of its predecessor
    assert times(result, "INST_FINISHED") == {0: 30, 1: 50, 2: 70}
    assert result.cycles == 71
    assert result.cores[0].vector_busy == 3 * 20


def test_dependent_blocks_wait_for_the_drain() -> None:
    result = run(TraceBuilder().item().vector(0, (), (A,)).vector(0, (A,), (B,)), [(30, 10)])
    assert times(result, "INST_ISSUED") == {0: 0, 1: 30}
    assert result.cores[0].stalls["dependency"] == 29 + 29
    assert result.cores[0].issue_cycles == 2


@pytest.mark.req("G-8", "G-4")
def test_preloads_alternate_arrays_and_pin_their_matmuls() -> None:
    trace = TraceBuilder().item().vector(0, (), (A,)).vector(0, (), (C,))
    for _ in range(4):
        trace.preload(1, A).matmul(2, A, C).matmul(2, A, C)
    result = run(trace, [(1, 0), (8, 8), (20, 5)], sa_weight_buffer_depth=1)
    arrays = [
        (e.get("compute_type"), e.get("sa"))
        for e in result.events
        if e.tag == "INST_ISSUED" and e.opcode == "COMP" and e.get("compute_type")
    ]
    preloads = [sa for kind, sa in arrays if kind == ComputeType.PRELOAD]
    assert preloads == [0, 1, 0, 1]
    by_record = {e.get("record"): e for e in result.events if e.tag == "INST_ISSUED"}
    for first, array in zip((2, 5, 8, 11), preloads):
        assert [by_record[first + k].get("sa") for k in range(3)] == [array] * 3
    # the third preload needs the slot of the first: its two matmuls stop streaming at finish - overlapping
    last = max(by_record[first].get("finish") for first in (3, 4))
    assert by_record[8].cycle == last - 5
    assert result.cores[0].stalls["weight_slot"] > 0
    assert result.cores[0].array_busy == [2 * 2 * 15] * 2


@pytest.mark.req("G-4")
@pytest.mark.parametrize("depth", [1, 2])
def test_more_k_tiles_than_weight_slots_finish(depth: int) -> None:
    records, table, bases = gemm_trace(64, 16, 8)
    result = Simulator({**MACHINE, "vpu_spad_size_kb_per_lane": 8, "sa_weight_buffer_depth": depth}).run_producer(
        togsim.synthetic_producer(records), bases, table
    )
    assert result.cores[0].instructions["matmul"] == sum(isinstance(r, Compute) and r.compute_type is ComputeType.MATMUL for r in records)
    assert result.cores[0].work_items == 16


@pytest.mark.req("G-4", "G-8")
def test_later_weights_do_not_take_the_slot_that_an_earlier_block_needs() -> None:
    """The second product needs the first one's result; its weights arrive first, and there is one slot."""
    trace = TraceBuilder().item().load(B, 16, tag=1).load(A, 4096, tag=0).wait(1).wait(0)
    trace.preload(0, A).matmul(0, A, C, accumulate=False).vector(0, (C,), (Range(3, 192, 0, 64),))
    trace.preload(0, B).matmul(0, Range(3, 192, 0, 64), Range(4, 256, 0, 64), accumulate=False)
    result = run(trace, [(10, 0)], num_systolic_array_per_core=1, sa_weight_buffer_depth=1)
    assert result.cores[0].instructions["preload"] == 2


@pytest.mark.req("G-12", "G-6")
def test_zero_cycle_blocks_finish_in_the_scan_and_free_their_inputs() -> None:
    """Adjacent ones and the last one of the list; the block after them issues in the same cycle."""
    trace = (
        TraceBuilder().item().vector(0, (), (A,)).vector(0, (A,), (B,)).vector(0, (B,), (C,)).vector(1, (C,), (A,)).vector(0, (A,), (B,))
    )
    result = run(trace, [(0, 0), (5, 0)])
    assert times(result, "INST_ISSUED") == {0: 0, 1: 0, 2: 0, 3: 0, 4: 5}
    assert result.cores[0].skipped_computes == 4
    assert result.cores[0].issue_cycles == 1
    zero_only = run(TraceBuilder().item().vector(0, (), (A,)).vector(0, (A,), (B,)), [(0, 0)])
    assert zero_only.cores[0].skipped_computes == 2


@pytest.mark.req("G-6", "G-20")
def test_a_load_waits_for_scratchpad_until_the_last_reader_issues() -> None:
    """The share of a work-item is half of 1 KiB; versions of 256 bytes; the third one must wait."""
    place = Range(0, 0, 0, 256)
    trace = TraceBuilder().item()
    for step in range(3):
        trace.load(place, 64, offset=4096 * step, tag=0).wait(0).vector(0, (place,), (place,))
    result = run(trace, [(100, 0)])
    issued, finished = times(result, "INST_ISSUED"), times(result, "INST_FINISHED")
    assert issued[3] < finished[0], "the second version opens beside the first"
    assert issued[6] == issued[2] + 1, "the third waits for the first one's reader"
    assert result.cores[0].stalls["capacity"] > 0
    assert result.cores[0].peak_spad_bytes == 512


@pytest.mark.req("G-6")
def test_overlaid_names_count_by_place() -> None:
    """Two names on the same bytes, and one name reloaded, occupy and release alike."""

    def build(second: Range) -> Result:
        trace = TraceBuilder().item()
        for place in (Range(0, 0, 0, 256), second, Range(0, 0, 0, 256)):
            trace.load(place, 64, tag=0).wait(0).vector(0, (place,), (Range(5, 256, 0, 64),))
        return run(trace, [(100, 0)])

    same, other = build(Range(0, 0, 0, 256)), build(Range(7, 0, 0, 256))
    assert same.cycles == other.cycles
    assert same.issue_order == other.issue_order


@pytest.mark.req("G-6")
def test_an_opener_that_overtakes_leaves_room_for_the_overtaken() -> None:
    """Loads far ahead must not fill the scratchpad so that the block between them can never write its output."""
    place, out = Range(0, 0, 0, 128), Range(1, 128, 0, 256)
    trace = TraceBuilder().item()
    for step in range(8):
        trace.load(place, 32, offset=32 * step, tag=0).wait(0).vector(0, (place,), (out,)).store(
            out, 64, arg=1, offset=64 * step, tag=1
        ).wait(1)
    result = run(trace, [(50, 0)])
    assert result.cores[0].work_items == 1
    assert result.cores[0].peak_spad_bytes <= 512


@pytest.mark.req("G-7")
@pytest.mark.parametrize(("bytes_per_lane", "together"), [(512, True), (513, False), (1024, False)])
def test_two_work_items_run_together_only_if_each_fits_half(bytes_per_lane: int, together: bool) -> None:
    place = Range(0, 0, 0, bytes_per_lane)
    trace = TraceBuilder()
    for item in range(3):
        trace.item(item).load(place, 64, tag=0).wait(0).vector(0, (place,), (place,)).vector(0, (place,), (place,))
    result = run(trace, [(100, 0)])
    scheduled = [(e.cycle, e.get("footprint"), e.get("max_dispatch")) for e in result.events if e.tag == "TILE_SCHEDULED"]
    finished = [e.cycle for e in result.events if e.tag == "TILE_FINISHED"]
    assert [s[1:] for s in scheduled] == [(bytes_per_lane, 2 if together else 1)] * 3
    assert scheduled[0][0] == 0
    assert scheduled[1][0] == (0 if together else finished[0])
    assert scheduled[2][0] == finished[0 if together else 1]


@pytest.mark.req("G-20")
def test_core_spad_size_is_shared_out_over_the_lanes() -> None:
    trace = TraceBuilder().item().vector(0, (), (Range(0, 0, 0, 1024),))
    assert run(trace, [(1, 0)]).cycles > 0
    with pytest.raises(togsim.TraceError, match="does not fit") as caught:
        run(trace, [(1, 0)], core_spad_size_kb=7)
    assert "896 bytes" in caught.value.expected


@pytest.mark.req("G-2", "H-7")
def test_work_items_go_round_robin_and_cores_are_alike() -> None:
    trace = TraceBuilder()
    for item in range(4):
        trace.item(item).vector(0, (), (A,)).vector(0, (A,), (B,))
    result = run(trace, [(25, 0)], num_cores=2)
    assert {(core, item) for _, core, item, _ in result.issue_order} == {(0, 0), (1, 1), (0, 2), (1, 3)}
    assert result.cores[0].cycles == result.cores[1].cycles == result.cycles
    assert run(trace, [(25, 0)]).cycles > result.cycles


@pytest.mark.req("G-20")
def test_stalls_are_counted_by_cause() -> None:
    place = [Range(k, 64 * k, 0, 64) for k in range(6)]
    queue = TraceBuilder().item()
    for k in range(6):
        queue.load(place[k], 4096, offset=8192 * k)
    stalled = run(queue, [(1, 0)], dma_queue_depth=1).cores[0].stalls
    assert stalled["dma_queue"] > 0
    memory = run(TraceBuilder().item().load(A, 16, tag=0).wait(0), [(1, 0)])
    # latency 10 there, 20 in DRAM, 10 back; the load issues at 0 and leaves at 1
    assert memory.cycles == 1 + 10 + 20 + 10 + 1
    assert memory.cores[0].stalls["dram"] == memory.cycles - 2 - 1
    injecting = run(TraceBuilder().item().load(A, 16384, tag=0).wait(0), [(1, 0)], icnt_injection_ports_per_core=1)
    assert injecting.cores[0].dma_busy == 2048
    assert injecting.cores[0].stalls["noc"] >= 2000


def test_loads_go_before_stores() -> None:
    trace = (
        TraceBuilder()
        .item()
        .vector(1, (), (A,))
        .store(A, 4096, arg=1)
        .store(A, 4096, arg=1, offset=4096)
        .load(B, 4096)
        .load(C, 4096, offset=4096)
    )
    result = run(trace, [(0, 0), (3, 0)], icnt_injection_ports_per_core=1)
    name = {e.inst: e.get("record") for e in result.events if e.tag == "INST_ISSUED"}
    order = [name[e.inst] for e in result.events if e.tag == "DMA_START"]
    assert order == [3, 4, 1, 2]


@pytest.mark.req("G-5")
def test_tags_belong_to_one_work_item() -> None:
    """Two work-items use one tag; the small load of the second must not release the big one of the first."""
    trace = TraceBuilder()
    for item, elements in enumerate((16384, 16)):
        trace.item(item).load(A, elements, tag=0).wait(0).vector(0, (A,), (B,))
    result = run(trace, [(10, 0)], icnt_injection_ports_per_core=1)
    done = {e.get("item"): e.cycle for e in result.events if e.tag == "DRAM_RESP_DONE"}
    issued = {e.get("item"): e.cycle for e in result.events if e.tag == "INST_ISSUED" and e.opcode == "COMP"}
    assert issued == done


def test_a_load_after_the_stores_wait_sees_it_written() -> None:
    trace = TraceBuilder().item().vector(0, (), (A,)).store(A, 16, tag=0).wait(0).load(B, 16, tag=1).wait(1)
    result = run(trace, [(10, 0)])
    assert times(result, "INST_ISSUED")[3] >= times(result, "INST_FINISHED")[1]


@pytest.mark.req("G-10")
def test_deadlock_lists_the_blocked_instructions() -> None:
    trace = TraceBuilder().item().load(A, 16, tag=0).wait(0).vector(0, (A,), (B,)).store(B, 16, tag=1).wait(1)
    simulator = Simulator(MACHINE)
    with pytest.raises(DeadlockError, match="no event can make progress") as caught:
        simulator.run_producer(trace.producer(), BASES, [(10, 0)], faults={"skip_dirty": "dram_response"})
    lines = caught.value.found.strip().splitlines()
    assert lines == [
        "core 0, work-item 0, record 2: COMP waits for its turn to issue (no wake-up was raised)",
        "core 0, work-item 0, record 3: MOVOUT waits for DONE of COMP record 2;",
        "core 0, work-item 0, record 4: MEMORY_BAR waits for ISSUE of MOVOUT record 3;",
    ]
    assert pickle.loads(pickle.dumps(caught.value)).found == caught.value.found
    with pytest.raises(DeadlockError):
        simulator.run_producer(trace.producer(), BASES, [(10, 0)], faults={"skip_dirty": "dram_response", "drop_dependency": 99})


@pytest.mark.req("G-23")
def test_runs_are_identical() -> None:
    records, table, bases = gemm_trace(32, 16, 8)
    results = [
        Simulator({**MACHINE, "vpu_spad_size_kb_per_lane": 8}).run_producer(togsim.synthetic_producer(records), bases, table)
        for _ in range(2)
    ]
    assert results[0].to_json() == results[1].to_json()
    assert results[0].issue_hash == results[1].issue_hash


def test_empty_kernel_and_empty_work_item() -> None:
    assert run(TraceBuilder(), []).cycles == 0
    assert run(TraceBuilder().item().item(), []).cores[0].work_items == 2


def test_indirect_transfers_are_flagged() -> None:
    trace = TraceBuilder().item().vector(0, (), (A,)).load(B, 16, index=A)
    assert run(trace, [(1, 0)]).approximate == ["indirect"]
    assert run(TraceBuilder().item().load(B, 16), [(1, 0)]).approximate == []


@pytest.mark.req("D-4", "G-8")
@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"sa_weight_buffer_depth": 0}, "sa_weight_buffer_depth"),
        ({"num_cores": 0}, "num_cores"),
        ({"core_freq_mhz": -1}, "core_freq_mhz"),
        ({"core_freq_mhz": "fast"}, "core_freq_mhz"),
        ({"num_cores": True}, "num_cores"),
        ({"dram_channels": 0}, "dram_channels"),
        ({"dram_type": "lpddr9"}, "dram_type"),
        ({"dram_type": 3}, "dram_type"),
        ({"dram_type": "hbm2", "dram_req_size_byte": 64}, "dram_req_size_byte"),
        ({"dram_req_size_byte": 48}, "dram_req_size_byte"),
        ({"dram_type": "hbm2", "dram_mapper": "RoRo"}, "dram_mapper"),
        ({"core_freq_mhz": 2147483647, "icnt_freq_mhz": 2147483629}, "core_freq_mhz, icnt_freq_mhz, dram_freq_mhz"),
        ({"num_sa": 2}, "num_sa"),
    ],
)
def test_bad_machines_are_refused_before_anything_starts(change: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Simulator({**MACHINE, **change})
    assert caught.value.where == where


def test_missing_and_foreign_keys() -> None:
    with pytest.raises(ConfigError, match="missing machine key 'dram_channels'"):
        Simulator({key: value for key, value in MACHINE.items() if key != "dram_channels"})
    with pytest.raises(ConfigError, match="unknown machine key") as caught:
        Simulator({**MACHINE, "dram_chanels": 1})
    assert caught.value.expected == "dram_channels"
    Simulator(
        {
            **MACHINE,
            "name": "x",
            "pipe_issue_width": 1,
            "codegen_mapping_strategy": "heuristic",
            "icnt_type": "simple",
            "sa_queue_rows": 256,
        }
    )


def test_unknown_mode_and_fault() -> None:
    simulator = Simulator(MACHINE)
    producer = TraceBuilder().producer()
    with pytest.raises(ConfigError, match="unknown mode"):
        simulator.run_producer(producer, [], [], mode="slow")  # pyright: ignore[reportArgumentType]
    for faults in ({"skip_dirty": "nothing"}, {"no_such": 1}):
        with pytest.raises(ConfigError, match="unknown fault"):
            simulator.run_producer(producer, [], [], faults=faults)


@pytest.mark.req("G-17")
def test_result_as_data_and_text() -> None:
    records, table, bases = gemm_trace(32, 16, 8)
    result = Simulator({**MACHINE, "vpu_spad_size_kb_per_lane": 8}).run_producer(togsim.synthetic_producer(records), bases, table)
    data = result.to_dict()
    # every 16 x 16 tile of 32-bit elements is 16 rows of 64 bytes
    assert data["bytes_read"] == 4 * 2 * 2 * 16 * 64
    assert data["bytes_written"] == 4 * 16 * 64
    assert sum(channel["reads"] for channel in data["channels"]) * 32 == data["bytes_read"]
    assert abs(sum(channel["bandwidth_gbps"] for channel in data["channels"]) - data["bandwidth_gbps"]) < 1e-9
    text = result.table()
    for part in (f"Total execution cycles {result.cycles:,}", "array 1 busy", "stall weight_slot", "DRAM channel"):
        assert part in text
