"""Trace log and timeline."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import togsim
from togsim import Result, Simulator, TraceError, timeline
from togsim.synthetic import TraceBuilder, gemm_trace
from togsim.timeline_check import faults

MACHINE = {
    "num_cores": 2, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 8, "num_systolic_array_per_core": 2,
    "dram_freq_mhz": 940, "dram_channels": 16, "icnt_freq_mhz": 940, "icnt_injection_ports_per_core": 16,
}  # fmt: skip


def run(*, trace_log: bool = False, events: bool = False) -> Result:
    records, table, bases = gemm_trace(64, 16, 8)
    return Simulator(MACHINE).run_producer(togsim.synthetic_producer(records), bases, table, trace_log=trace_log, timeline=events)


@pytest.mark.req("G-13")
def test_nothing_is_formatted_unless_the_log_is_asked_for() -> None:
    quiet, with_events, with_log = run(), run(events=True), run(trace_log=True)
    assert (quiet.formatted_lines, quiet.log, quiet.events) == (0, "", [])
    assert (with_events.formatted_lines, with_events.log) == (0, "")
    assert with_log.formatted_lines == len(with_log.log.splitlines()) == len(with_log.events) > 1000
    assert quiet.cycles == with_events.cycles == with_log.cycles


@pytest.mark.req("G-22", "G-7")
def test_log_lines_have_the_documented_form() -> None:
    result = run(trace_log=True)
    lines = result.log.splitlines()
    form = re.compile(
        r"\[\d+\]\[Core [01]\]\[[A-Z_ ]{15}\]\[INST_ID=\d+\] ((MOVIN|MOVOUT|COMP|MEMORY_BAR|TILE) \(item=\d+.*|CHANNEL \(channel=\d+.*)\)"
    )
    assert all(form.fullmatch(line) for line in lines)
    scheduled = [line for line in lines if "TILE_SCHEDULED" in line]
    assert len(scheduled) == 16
    assert "footprint=384, max_dispatch=2" in scheduled[0]
    cycles = [int(line[1 : line.index("]")]) for line in lines]
    assert cycles == sorted(cycles)
    count = {
        tag: sum(f"[{tag:<15}]" in line for line in lines)
        for tag in ("INST_ISSUED", "INST_FINISHED", "DRAM_FIRST_RESP", "DRAM_RESP_DONE", "DMA_START")
    }
    instructions = sum(sum(core.instructions.values()) for core in result.cores)
    transfers = sum(core.instructions["movin"] + core.instructions["movout"] for core in result.cores)
    assert count["INST_ISSUED"] == count["INST_FINISHED"] == instructions
    assert count["DRAM_FIRST_RESP"] == count["DRAM_RESP_DONE"] == count["DMA_START"] == transfers
    assert {re.search(r"sa=(-?\d+)", line)[1] for line in lines if "INST_ISSUED" in line and "COMP" in line} == {"-1", "0", "1"}  # type: ignore[index]


@pytest.mark.req("G-22", "G-16")
def test_timeline_from_the_log_equals_the_direct_one(tmp_path: Path) -> None:
    result = run(trace_log=True)
    direct = timeline.from_result(result)
    assert timeline.parse_log(result.log) == result.events
    assert timeline.from_log(result.log) == direct
    timeline.write(tmp_path / "t.json", direct)
    assert json.loads((tmp_path / "t.json").read_text()) == direct


@pytest.mark.req("G-16")
def test_timeline_lanes_hold_one_slice_at_a_time_and_all_the_busy_cycles() -> None:
    result = run(events=True)
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    built = timeline.from_result(result)
    for entry in built["traceEvents"]:
        if entry["ph"] == "X":
            assert entry["dur"] >= 0
            lanes.setdefault((entry["pid"], entry["tid"]), []).append((entry["ts"], entry["ts"] + entry["dur"]))
    for slices in lanes.values():
        slices.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(slices))

    def total(core: int, lane: int) -> int:
        return sum(end - start for start, end in lanes[core, lane])

    for number, core in enumerate(result.cores):
        assert [total(number, timeline.ARRAY_LANE + k) for k in range(2)] == core.array_busy
        assert total(number, timeline.VECTOR_LANE) == core.vector_busy
        assert total(number, timeline.LOAD_LANE) + total(number, timeline.STORE_LANE) == core.dma_busy
    names = {entry["args"]["name"] for entry in built["traceEvents"] if entry["name"] == "thread_name"}
    assert {"DMA loads", "DMA stores", "vector", "sa0", "sa1"} <= names
    begun = [entry for entry in built["traceEvents"] if entry["ph"] == "b"]
    assert len(begun) == sum(entry["ph"] == "e" for entry in built["traceEvents"]) > 0
    dma = next(entry for entry in built["traceEvents"] if entry["ph"] == "X" and entry["tid"] == timeline.LOAD_LANE)
    assert dma["args"]["issue"] <= dma["args"]["dma_start"] < dma["args"]["dram_first_resp"] <= dma["args"]["done"]


def test_a_line_that_is_no_log_line_is_refused() -> None:
    with pytest.raises(TraceError, match="not a line") as caught:
        timeline.from_log("[0][Core 0][TILE_FINISHED  ][INST_ID=0] TILE (item=0)\nhello\n")
    assert caught.value.where == "line 2"


@pytest.mark.req("G-16")
def test_timeline_keeps_the_rules_of_the_format() -> None:
    assert faults(timeline.from_result(run(events=True))) == []
    place = togsim.Range(0, 0, 0, 64)
    empty = TraceBuilder().item()
    empty.records.append(togsim.Dma(togsim.Direction.LOAD, 0, 0, (4,), (1,), (2,), (2,), 32, True, 0, (), (place,)))
    empty.wait(0).vector(0, (place,), (place,))
    result = Simulator(MACHINE).run_producer(empty.producer(), [4096], [(0, 0)], timeline=True)
    assert faults(timeline.from_result(result)) == []  # nothing to transfer, nothing to compute


@pytest.mark.req("G-16", "G-17")
def test_dram_counters_add_up_to_the_requests_and_end_at_zero() -> None:
    result = run(trace_log=True)
    windows = [event for event in result.events if event.tag == "DRAM_WINDOW"]
    last = max(event.cycle for event in windows)
    step = windows[0].get("window")
    for number, channel in enumerate(result.channels):
        levels = [(event.cycle, event.get("requests")) for event in windows if event.get("channel") == number]
        assert levels[-1][1] == 0
        held = sum(level * (after - start) // step for (start, level), (after, _) in itertools.pairwise(levels))
        assert held == channel.reads + channel.writes
    assert last <= result.cycles + step
    counters = [entry for entry in timeline.from_log(result.log)["traceEvents"] if entry["ph"] == "C"]
    assert len(counters) == len(windows) > 2 * len(result.channels)


@pytest.mark.req("G-16")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda events: events[0].update(ph="Q"), "unknown phase"),
        (lambda events: events[1].pop("dur"), "X without dur"),
        (lambda events: events[1].update(ts=-1), "ts is -1"),
        (lambda events: events[1].update(dur=6), "after 10 of the slice around it"),
        (lambda events: events.pop(4), "not begun and ended once"),
        (lambda events: events[4].update(ts=1), "ends before it begins"),
        (lambda events: events.append(dict(events[3])), "b twice"),
        (lambda events: events[5].update(ts=50), "lies in no slice"),
        (lambda events: events.pop(6), "1 starts, 0 ends"),
        (lambda events: events[6].update(ts=0), "ends before it starts"),
        (lambda events: events[7].update(args={"requests": "3"}), "a counter without numbers"),
        (lambda events: events[0].update(name="colour"), "unknown metadata"),
        (lambda events: events.clear(), "no events"),
    ],
)
def test_a_timeline_that_breaks_a_rule_is_noticed(change: Callable[[list[dict[str, Any]]], Any], message: str) -> None:
    memory = {"pid": 0, "tid": 2, "id": 1, "cat": "memory", "name": "load"}
    flow = {"pid": 0, "id": 1, "cat": "flow", "name": "f"}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "Core 0"}},
        {"ph": "X", "pid": 0, "tid": 0, "name": "inner", "ts": 5, "dur": 2},
        {"ph": "X", "pid": 0, "tid": 0, "name": "outer", "ts": 0, "dur": 10},
        {"ph": "b", **memory, "ts": 2},
        {"ph": "e", **memory, "ts": 9},
        {"ph": "s", **flow, "tid": 0, "ts": 1},
        {"ph": "f", **flow, "tid": 0, "ts": 5, "bp": "e"},
        {"ph": "C", "pid": 9, "name": "channel", "ts": 3, "args": {"requests": 3}},
    ]
    assert faults({"traceEvents": events}) == []
    change(events)
    assert any(message in fault for fault in faults({"traceEvents": events}))


@pytest.mark.req("G-22")
def test_a_log_with_a_hole_is_refused() -> None:
    lines = run(trace_log=True).log.splitlines()
    first = next(line for line in lines if "DMA_START" in line)
    inst = re.search(r"INST_ID=(\d+)\]", first)[1]  # type: ignore[index]
    holed = [line for line in lines if not (f"INST_ID={inst}]" in line and "INST_ISSUED" in line)]
    with pytest.raises(TraceError, match="is missing"):
        timeline.from_log("\n".join(holed))
    with pytest.raises(TraceError, match="not a line"):
        timeline.from_log(first.replace("item=", "item=x"))
