"""Timeline of a session: right by the format's rules, and every fx node leads to its work-items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import torchsim
from togsim.timeline_check import faults
from torchsim.runtime.timeline import KERNEL_TRACK, OP_TRACK

pytestmark = pytest.mark.system


@pytest.mark.req("G-16")
def test_flows_lead_from_every_fx_node_over_its_kernel_to_the_work_items(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.Linear(96, 10), torch.nn.Softmax(-1))
    torch._dynamo.reset()
    with torch.no_grad(), torchsim.machine("32x32"), torchsim.options(functional=False), torchsim.session() as session:
        torch.compile(model, backend="torchsim")(torch.randn(100, 64))
    session.timeline(tmp_path / "t.json")
    timeline = json.loads((tmp_path / "t.json").read_text())
    assert faults(timeline) == []
    events: list[dict[str, Any]] = timeline["traceEvents"]
    kernels = [event for event in events if event["ph"] == "X" and event["pid"] == KERNEL_TRACK]
    assert [(event["name"], event["dur"]) for event in kernels] == [(run.name, run.cycles) for run in session.kernels]
    assert max(event["ts"] for event in events if event["ph"] == "C") <= session.cycles
    flows: dict[str, dict[str, tuple[int, int]]] = {}
    for event in events:
        if event["ph"] in "sf":
            flows.setdefault(event["id"], {})[event["ph"]] = (event["pid"], event["ts"])
    starts = {event["ts"] for event in kernels}
    from_nodes = [ends for ends in flows.values() if ends["s"][0] == OP_TRACK]
    to_items = [ends for ends in flows.values() if ends["s"][0] == KERNEL_TRACK]
    assert len(from_nodes) == sum(len(run.origins) for run in session.kernels)
    assert all(ends["f"][0] == KERNEL_TRACK and ends["f"][1] == ends["s"][1] in starts for ends in from_nodes)
    assert len(to_items) == sum(run.work_items for run in session.kernels)
    assert all(ends["s"][1] in starts and ends["f"][0] == 0 for ends in to_items)
    nodes = {event["name"] for event in events if event["ph"] == "X" and event["pid"] == OP_TRACK}
    assert nodes == {node for run in session.kernels for node in run.origins}
