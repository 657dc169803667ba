"""The keys of a machine file reach the interconnect that they name: one request there and back is hop arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from togsim import Range, Simulator
from togsim.synthetic import TraceBuilder

pytestmark = [pytest.mark.unit, pytest.mark.req("G-14", "D-4")]

MACHINE: dict[str, Any] = {
    "num_cores": 1, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 8, "dram_type": "simple", "dram_latency": 20,
    "dram_freq_mhz": 940, "dram_channels": 1, "icnt_freq_mhz": 940,
}  # fmt: skip


def answered(requests: int, **keys: Any) -> int:
    """Cycle in which the last answer of one load is at the core; the load issues in cycle 0 and its first request leaves in 1."""
    trace = TraceBuilder().item().load(Range(0, 0, 0, 64), 8 * requests, tag=0).wait(0)
    result = Simulator({**MACHINE, **keys}).run_producer(trace.producer(), [1 << 20], [], timeline=True)
    return next(event.cycle for event in result.events if event.tag == "DRAM_RESP_DONE")


@pytest.mark.parametrize(
    ("keys", "routers", "router", "link", "flits"),
    [
        ({}, 1, 3, 1, (1, 1)),
        ({"icnt_router_pipeline_cycles": 5}, 1, 5, 1, (1, 1)),
        ({"icnt_link_latency_cycles": 4}, 1, 3, 4, (1, 1)),
        ({"icnt_flit_bytes": 16}, 1, 3, 1, (1, 2)),
        ({"icnt_flit_bytes": 4}, 1, 3, 1, (2, 8)),
        ({"icnt_flit_bytes": 4, "icnt_router_pipeline_cycles": 2, "icnt_link_latency_cycles": 3}, 1, 2, 3, (2, 8)),
        ({"icnt_type": "mesh"}, 2, 3, 1, (1, 1)),  # port and channel are neighbours
        ({"icnt_type": "mesh", "icnt_injection_ports_per_core": 8}, 5, 3, 1, (1, 1)),  # corner to corner of 3 x 3
        ({"icnt_type": "mesh", "icnt_injection_ports_per_core": 8, "icnt_link_latency_cycles": 2}, 5, 3, 2, (1, 1)),
    ],
)
def test_one_request_there_and_back(keys: dict[str, Any], routers: int, router: int, link: int, flits: tuple[int, int]) -> None:
    request, answer = (1 + link + routers * (router + link) + count - 1 for count in flits)
    assert answered(1, **{"icnt_type": "crossbar", **keys}) == 1 + request + MACHINE["dram_latency"] + answer


@pytest.mark.parametrize("icnt_type", ["crossbar", "mesh"])
@pytest.mark.parametrize(
    ("figure", "flit_bytes"),
    [
        ("icnt_virtual_channels", 64),
        ("icnt_buffer_flits_per_channel", 4),  # answers of 8 flits fill the buffers
        ("icnt_injection_queue_packets", 64),
        ("icnt_requests_per_dram_channel", 64),
    ],
)
def test_a_shortage_that_the_machine_file_names_costs_time(icnt_type: str, figure: str, flit_bytes: int) -> None:
    keys = {"icnt_type": icnt_type, "icnt_flit_bytes": flit_bytes}
    assert answered(64, **keys, **{figure: 1}) > answered(64, **keys) + 16
