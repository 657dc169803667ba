"""Timeline of a session: fx nodes and kernels over the TOGSim timelines of the kernels, one after another, with flows between them.

An fx node's slice, the kernel that does its work, and the kernel's work-items on the cores are tied by flows, so that a viewer shows on a
click where an op went.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from togsim import timeline as togsim_timeline
from torchsim.runtime.report import KernelRun
from torchsim.runtime.timing import simulate

if TYPE_CHECKING:
    from torchsim.runtime.launch import Call

KERNEL_TRACK = 1_000_000
"""Process id of the kernel track; TOGSim numbers its own tracks by core."""
OP_TRACK = 1_000_001
"""Process id of the fx nodes; a kernel's nodes lie on threads side by side."""


def session_timeline(timed: Sequence[tuple[KernelRun, Call]]) -> dict[str, Any]:
    """Chrome trace data of kernel calls; one core cycle is shown as one microsecond."""
    builder = _Builder()
    for run, call in timed:
        builder.add(run, togsim_timeline.from_result(simulate(call.kernel, call.bases, timeline=True).result))
    return {"traceEvents": builder.events, "displayTimeUnit": "ns", "otherData": {"time_unit": "core cycles"}}


def write_timeline(path: Path, timed: Sequence[tuple[KernelRun, Call]]) -> None:
    """Write ``session_timeline`` as JSON."""
    path.write_text(json.dumps(session_timeline(timed)), encoding="utf-8")


class _Builder:
    """Appends kernel after kernel."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = [_named("process_name", KERNEL_TRACK, "kernels"), _named("process_name", OP_TRACK, "fx nodes")]
        self._named: set[str] = set()
        self._start = 0
        self._flows = 0

    def add(self, run: KernelRun, timeline: dict[str, Any]) -> None:
        start = self._start
        args = {"origins": list(run.origins), "tile": run.tile}
        for lane, node in enumerate(run.origins):
            self._slice(OP_TRACK, lane, "fx", node, run.cycles, {"kernel": run.name})
        self._slice(KERNEL_TRACK, 0, "kernel", run.name, run.cycles, args)
        for lane, node in enumerate(run.origins):
            self._flow(f"{node} in {run.name}", (OP_TRACK, lane, start), (KERNEL_TRACK, 0, start))
        for event in timeline["traceEvents"]:
            if event["ph"] == "M":
                key = json.dumps(event, sort_keys=True)
                if key not in self._named:
                    self._named.add(key)
                    self.events.append(event)
                continue
            # The DRAM's last counting window may end after the kernel: its end must not fall into the next kernel.
            moved = {**event, "ts": min(event["ts"], run.cycles) + start}
            if "id" in event:
                moved["id"] = f"{start}.{event['id']}"
            self.events.append(moved)
            if event["ph"] == "X" and event["tid"] < togsim_timeline.ITEM_LANES:
                at = (event["pid"], event["tid"], moved["ts"])
                self._flow(f"{run.name} {event['name']}", (KERNEL_TRACK, 0, start), at)
        self._start += run.cycles

    def _slice(self, process: int, lane: int, category: str, name: str, cycles: int, args: dict[str, Any]) -> None:
        place = {"pid": process, "tid": lane, "ts": self._start, "dur": cycles}
        self.events.append({"name": name, "cat": category, "ph": "X", **place, "args": args})

    def _flow(self, name: str, source: tuple[int, int, int], target: tuple[int, int, int]) -> None:
        """An arrow between two places (process, lane, cycle)."""
        self._flows += 1
        for phase, (process, lane, at) in (("s", source), ("f", target)):
            event = {"name": name, "cat": "flow", "ph": phase, "id": f"flow {self._flows}", "pid": process, "tid": lane, "ts": at}
            self.events.append({**event, "bp": "e"} if phase == "f" else event)


def _named(what: str, process: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": 0, "args": {"name": name}}
