"""Chrome/Perfetto timeline of a run: work-items, DMA, memory, each systolic array and the vector unit of every core.

Time stamps are core cycles (a viewer shows one cycle as one microsecond). The timeline made from the text of the event
log equals the one made from the events directly.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from togsim.errors import TraceError
from togsim.stats import Result, TraceEvent

_LINE = re.compile(r"\[(\d+)\]\[Core (\d+)\]\[([A-Z_]+) *\]\[INST_ID=(\d+)\] ([A-Z_]+) \((.*)\)")
_ITEM_LANES = 2
_DMA_LANE = 2
_VECTOR_LANE = 3
_ARRAY_LANE = 4
_COMPUTE_NAMES = ("vector", "matmul", "preload")


def parse_log(text: str) -> list[TraceEvent]:
    """Events of a trace log.

    Raises:
        TraceError: a line that is not in the documented form.
    """
    events: list[TraceEvent] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise TraceError(
                "not a line of the trace log", expected="[cycle][Core c][TAG][INST_ID=n] OPCODE (...)", found=line, where=f"line {number}"
            )
        cycle, core, tag, inst, opcode, details = match.groups()
        pairs = [part.partition("=") for part in details.split(", ") if part]
        events.append(TraceEvent(int(cycle), int(core), tag, int(inst), opcode, tuple((key, int(value)) for key, _, value in pairs)))
    return events


def from_log(text: str) -> dict[str, Any]:
    """Timeline from the text of a trace log."""
    return build(parse_log(text))


def from_result(result: Result) -> dict[str, Any]:
    """Timeline from a run made with ``timeline=True`` or ``trace_log=True``."""
    return build(result.events)


def write(path: str | os.PathLike[str], timeline: dict[str, Any]) -> None:
    """Write a timeline as JSON that chrome://tracing and ui.perfetto.dev open."""
    Path(path).write_text(json.dumps(timeline))


def build(events: Iterable[TraceEvent]) -> dict[str, Any]:
    """Timeline of a list of events in log order."""
    builder = _Builder()
    for event in events:
        builder.add(event)
    return {"traceEvents": builder.metadata() + builder.slices, "displayTimeUnit": "ns", "otherData": {"time_unit": "core cycles"}}


class _Builder:
    """Turns events into slices; everything it holds is open work."""

    def __init__(self) -> None:
        self.slices: list[dict[str, Any]] = []
        self._items: dict[tuple[int, int], tuple[TraceEvent, int]] = {}
        self._used_lanes: dict[int, set[int]] = {}
        self._transfers: dict[int, dict[str, int]] = {}
        self._arrays: dict[int, int] = {}

    def add(self, event: TraceEvent) -> None:
        handler = {
            "TILE_SCHEDULED": self._tile_begin,
            "TILE_FINISHED": self._tile_end,
            "INST_ISSUED": self._issued,
            "DMA_START": self._transfer,
            "DMA_INJECTED": self._transfer,
            "DRAM_FIRST_RESP": self._transfer,
            "INST_FINISHED": self._finished,
        }.get(event.tag)
        if handler is not None:
            handler(event)

    def metadata(self) -> list[dict[str, Any]]:
        """Names of processes (cores) and threads (lanes)."""
        out: list[dict[str, Any]] = []
        for core in sorted(self._used_lanes):
            out.append({"ph": "M", "name": "process_name", "pid": core, "tid": 0, "args": {"name": f"Core {core}"}})
            names = [f"work-item slot {k}" for k in range(_ITEM_LANES)] + ["DMA", "vector"]
            names += [f"sa{k}" for k in range(self._arrays.get(core, 0))]
            out += [{"ph": "M", "name": "thread_name", "pid": core, "tid": tid, "args": {"name": name}} for tid, name in enumerate(names)]
        return out

    def _slice(self, core: int, lane: int, name: str, start: int, end: int, args: dict[str, int]) -> None:
        self.slices.append({"ph": "X", "pid": core, "tid": lane, "name": name, "ts": start, "dur": end - start, "args": args})

    def _tile_begin(self, event: TraceEvent) -> None:
        used = self._used_lanes.setdefault(event.core, set())
        lane = min(set(range(_ITEM_LANES)) - used)
        used.add(lane)
        self._items[event.core, event.get("item")] = (event, lane)

    def _tile_end(self, event: TraceEvent) -> None:
        begin, lane = self._items.pop((event.core, event.get("item")))
        self._used_lanes[event.core].discard(lane)
        args = {key: begin.get(key) for key in ("item", "footprint", "max_dispatch", "instructions")}
        self._slice(event.core, lane, f"item {args['item']}", begin.cycle, event.cycle, args)

    def _issued(self, event: TraceEvent) -> None:
        if event.opcode in ("MOVIN", "MOVOUT"):
            self._transfers[event.inst] = {"issue": event.cycle, "arg": event.get("arg")}
        if event.opcode != "COMP" or event.get("skipped"):
            return
        kind = event.get("compute_type")
        lane = _VECTOR_LANE
        if kind != 0:
            lane = _ARRAY_LANE + event.get("sa")
            self._arrays[event.core] = max(self._arrays.get(event.core, 0), event.get("sa") + 1)
        finish = event.get("finish")
        occupancy = event.get("compute_cycle") - event.get("overlapping_cycle")
        args = {"item": event.get("item"), "block": event.get("block"), "inst": event.inst, "issue": event.cycle}
        self._slice(event.core, lane, f"{_COMPUTE_NAMES[kind]} {event.get('block')}", finish - occupancy, finish, args)

    def _transfer(self, event: TraceEvent) -> None:
        transfer = self._transfers[event.inst]
        transfer[event.tag.lower()] = event.cycle
        if event.tag == "DMA_INJECTED":
            transfer["requests"] = event.get("requests")

    def _finished(self, event: TraceEvent) -> None:
        transfer = self._transfers.pop(event.inst, None)
        if transfer is None:
            return
        args = {"item": event.get("item"), "inst": event.inst, **transfer, "done": event.cycle}
        start = transfer["dma_start"]
        self._slice(event.core, _DMA_LANE, event.opcode, start, transfer["dma_injected"] + 1, args)
        name = f"{event.opcode} arg {transfer['arg']}"
        for phase, cycle in (("b", start), ("e", event.cycle)):
            self.slices.append(
                {"ph": phase, "cat": "memory", "pid": event.core, "tid": _DMA_LANE, "id": event.inst, "name": name, "ts": cycle}
            )
