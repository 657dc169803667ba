"""Timeline of a session: the kernels' TOGSim timelines, one after another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchsim.runtime.report import KernelRun
from torchsim.runtime.timing import simulate

if TYPE_CHECKING:
    from torchsim.runtime.launch import Call


def write_timeline(path: Path, timed: Sequence[tuple[KernelRun, Call]]) -> None:
    """Write Chrome trace JSON; one simulated cycle is one microsecond on the axis."""
    events: list[dict[str, object]] = []
    start = 0
    for run, call in timed:
        result = simulate(call.kernel, call.bases, timeline=True)
        events.append({"name": run.name, "ph": "X", "pid": 0, "tid": 0, "ts": start, "dur": run.cycles, "args": {"origins": list(run.origins), "tile": run.tile}})
        for event in result.timeline:
            event = dict(event)
            if "ts" in event:
                event["ts"] += start
            events.append(event)
        start += run.cycles
    path.write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}))
