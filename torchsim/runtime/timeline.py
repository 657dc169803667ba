"""Timeline of a session: a track of kernels with their fx origins over the TOGSim timelines of the kernels, one after another."""

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


def write_timeline(path: Path, timed: Sequence[tuple[KernelRun, Call]]) -> None:
    """Write Chrome trace JSON; one core cycle is shown as one microsecond."""
    events: list[dict[str, Any]] = [{"name": "process_name", "ph": "M", "pid": KERNEL_TRACK, "args": {"name": "kernels"}}]
    named: set[str] = set()
    start = 0
    for run, call in timed:
        events.append(
            {
                "name": run.name,
                "cat": "kernel",
                "ph": "X",
                "pid": KERNEL_TRACK,
                "tid": 0,
                "ts": start,
                "dur": run.cycles,
                "args": {"origins": list(run.origins), "tile": run.tile},
            }
        )
        for event in togsim_timeline.from_result(simulate(call.kernel, call.bases, timeline=True).result)["traceEvents"]:
            if event["ph"] == "M":
                key = json.dumps(event, sort_keys=True)
                if key not in named:
                    named.add(key)
                    events.append(event)
            else:
                events.append({**event, "ts": event["ts"] + start, **({"id": f"{start}.{event['id']}"} if "id" in event else {})})
        start += run.cycles
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"time_unit": "core cycles"}}))
