"""Chrome/Perfetto timeline of a run: work-items, DMA queues, each systolic array and the vector unit of every core, DRAM channels.

Time stamps are core cycles (a viewer shows one cycle as one microsecond). The timeline made from the text of the event
log equals the one made from the events directly.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from togsim.errors import TraceError
from togsim.stats import Result, TraceEvent

_LINE = re.compile(r"\[(\d+)\]\[Core (\d+)\]\[([A-Z_]+) *\]\[INST_ID=(\d+)\] ([A-Z_]+) \((.*)\)")
_DETAIL = re.compile(r"([a-z_]+)=(-?\d+)")
ITEM_LANES = 2
LOAD_LANE, STORE_LANE, VECTOR_LANE, ARRAY_LANE = 2, 3, 4, 5
"""Thread ids of a core's lanes; work-items have 0 and 1, array k has ARRAY_LANE + k."""
DRAM_TRACK = 999_999
"""Process id of the DRAM counters; a core's process id is its number."""
_COMPUTE_NAMES = ("vector", "matmul", "preload")


def parse_log(text: str) -> list[TraceEvent]:
    """Events of a trace log.

    Raises:
        TraceError: a line that is not in the documented form.
    """
    events: list[TraceEvent] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        details = [_DETAIL.fullmatch(part) for part in match[6].split(", ") if part] if match else [None]
        if match is None or None in details:
            raise TraceError(
                "not a line of the trace log", expected="[cycle][Core c][TAG][INST_ID=n] OPCODE (...)", found=line, where=f"line {number}"
            )
        pairs = tuple((detail[1], int(detail[2])) for detail in details if detail)
        events.append(TraceEvent(int(match[1]), int(match[2]), match[3], int(match[4]), match[5], pairs))
    return events


def from_log(text: str) -> dict[str, Any]:
    """Timeline from the text of a trace log.

    Raises:
        TraceError: a line that is not in the documented form, or lines of the log are missing.
    """
    return build(parse_log(text))


def from_result(result: Result) -> dict[str, Any]:
    """Timeline from a run made with ``timeline=True`` or ``trace_log=True``."""
    return build(result.events)


def write(path: str | os.PathLike[str], timeline: dict[str, Any]) -> None:
    """Write a timeline as JSON that chrome://tracing and ui.perfetto.dev open."""
    Path(path).write_text(json.dumps(timeline), encoding="utf-8")


def build(events: Iterable[TraceEvent]) -> dict[str, Any]:
    """Timeline of a list of events in log order.

    Raises:
        TraceError: an event whose beginning is missing.
    """
    builder = _Builder()
    for event in events:
        try:
            builder.add(event)
        except KeyError as error:
            where = f"cycle {event.cycle}, {event.tag} of INST_ID={event.inst}"
            raise TraceError("a line of the trace log is missing", expected=f"an earlier line of {error}", where=where) from error
    return {"traceEvents": builder.metadata() + builder.slices, "displayTimeUnit": "ns", "otherData": {"time_unit": "core cycles"}}


class _Builder:
    """Turns events into slices; everything it holds is open work."""

    def __init__(self) -> None:
        self.slices: list[dict[str, Any]] = []
        self._items: dict[tuple[int, int], tuple[TraceEvent, int]] = {}
        self._used_lanes: dict[int, set[int]] = {}
        self._transfers: dict[int, dict[str, int]] = {}
        self._arrays: dict[int, int] = {}
        self._dram = False
        self._handlers: dict[str, Callable[[TraceEvent], None]] = {
            "TILE_SCHEDULED": self._tile_begin,
            "TILE_FINISHED": self._tile_end,
            "INST_ISSUED": self._issued,
            "DMA_START": self._transfer,
            "DMA_INJECTED": self._transfer,
            "DRAM_FIRST_RESP": self._transfer,
            "INST_FINISHED": self._finished,
            "DRAM_WINDOW": self._channel,
        }

    def add(self, event: TraceEvent) -> None:
        handler = self._handlers.get(event.tag)
        if handler is not None:
            handler(event)

    def metadata(self) -> list[dict[str, Any]]:
        """Names of processes (cores, DRAM) and threads (lanes)."""
        out: list[dict[str, Any]] = []
        for core in sorted(self._used_lanes):
            out.append({"ph": "M", "name": "process_name", "pid": core, "tid": 0, "args": {"name": f"Core {core}"}})
            names = [f"work-item slot {k}" for k in range(ITEM_LANES)] + ["DMA loads", "DMA stores", "vector"]
            names += [f"sa{k}" for k in range(self._arrays.get(core, 0))]
            out += [{"ph": "M", "name": "thread_name", "pid": core, "tid": tid, "args": {"name": name}} for tid, name in enumerate(names)]
        if self._dram:
            out.append({"ph": "M", "name": "process_name", "pid": DRAM_TRACK, "tid": 0, "args": {"name": "DRAM"}})
        return out

    def _slice(self, core: int, lane: int, name: str, start: int, end: int, args: dict[str, int]) -> None:
        self.slices.append({"ph": "X", "pid": core, "tid": lane, "name": name, "ts": start, "dur": end - start, "args": args})

    def _tile_begin(self, event: TraceEvent) -> None:
        used = self._used_lanes.setdefault(event.core, set())
        lane = min(set(range(ITEM_LANES)) - used)
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
        args = {"item": event.get("item"), "block": event.get("block"), "inst": event.inst, "issue": event.cycle}
        lane = VECTOR_LANE
        if kind != 0:
            args["sa"] = event.get("sa")
            lane = ARRAY_LANE + args["sa"]
            self._arrays[event.core] = max(self._arrays.get(event.core, 0), args["sa"] + 1)
        finish = event.get("finish")
        occupancy = event.get("compute_cycle") - event.get("overlapping_cycle")
        self._slice(event.core, lane, f"{_COMPUTE_NAMES[kind]} {event.get('block')}", finish - occupancy, finish, args)

    def _transfer(self, event: TraceEvent) -> None:
        transfer = self._transfers[event.inst]
        transfer[event.tag.lower()] = event.cycle
        if event.tag == "DMA_INJECTED":
            transfer["requests"] = event.get("requests")

    def _finished(self, event: TraceEvent) -> None:
        if event.opcode not in ("MOVIN", "MOVOUT"):
            return
        transfer = self._transfers.pop(event.inst)
        args = {"item": event.get("item"), "inst": event.inst, **transfer, "done": event.cycle}
        start, lane = transfer["dma_start"], LOAD_LANE if event.opcode == "MOVIN" else STORE_LANE
        self._slice(event.core, lane, f"{event.opcode} arg {transfer['arg']}", start, transfer["dma_injected"] + 1, args)
        # In flight, from the first request to the last answer. Many are at a time, so this is no lane but an asynchronous slice.
        common = {"cat": "memory", "pid": event.core, "tid": lane, "id": event.inst, "name": f"{event.opcode} arg {transfer['arg']}"}
        self.slices.append({"ph": "b", **common, "ts": start, "args": {"item": args["item"]}})
        if "dram_first_resp" in transfer:
            self.slices.append({"ph": "n", **common, "name": "first response", "ts": transfer["dram_first_resp"]})
        self.slices.append({"ph": "e", **common, "ts": event.cycle})

    def _channel(self, event: TraceEvent) -> None:
        self._dram = True
        name = f"channel {event.get('channel')}: requests in {event.get('window')} DRAM cycles"
        count = {"requests": event.get("requests")}
        self.slices.append({"ph": "C", "pid": DRAM_TRACK, "tid": 0, "name": name, "ts": event.cycle, "args": count})
