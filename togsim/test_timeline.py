"""Trace log and timeline."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

import togsim
from togsim import Result, Simulator, TraceError, timeline
from togsim.synthetic import gemm_trace

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
    form = re.compile(r"\[\d+\]\[Core [01]\]\[[A-Z_ ]{15}\]\[INST_ID=\d+\] (MOVIN|MOVOUT|COMP|MEMORY_BAR|TILE) \(item=\d+.*\)")
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
        assert [total(number, 4 + k) for k in range(2)] == core.array_busy
        assert total(number, 3) == core.vector_busy
        assert total(number, 2) == core.dma_busy
    names = {entry["args"]["name"] for entry in built["traceEvents"] if entry["name"] == "thread_name"}
    assert {"DMA", "vector", "sa0", "sa1"} <= names
    begun = [entry for entry in built["traceEvents"] if entry["ph"] == "b"]
    assert len(begun) == sum(entry["ph"] == "e" for entry in built["traceEvents"]) > 0
    dma = next(entry for entry in built["traceEvents"] if entry["ph"] == "X" and entry["tid"] == 2)
    assert dma["args"]["issue"] <= dma["args"]["dma_start"] < dma["args"]["dram_first_resp"] <= dma["args"]["done"]


def test_a_line_that_is_no_log_line_is_refused() -> None:
    with pytest.raises(TraceError, match="not a line") as caught:
        timeline.from_log("[0][Core 0][TILE_FINISHED  ][INST_ID=0] TILE (item=0)\nhello\n")
    assert caught.value.where == "line 2"
