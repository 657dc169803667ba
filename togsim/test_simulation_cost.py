"""What a simulation costs, in cycles that the models look at: figures that no load of the machine changes, so that CI can gate them.
Seconds are measured by bench/bench_togsim.py."""

from __future__ import annotations

from typing import Any

import pytest

from togsim import Simulator, synthetic_producer
from togsim.synthetic import gemm_trace

MACHINE: dict[str, Any] = {
    "num_cores": 1, "core_freq_mhz": 940, "num_systolic_array_per_core": 2, "sa_weight_buffer_depth": 2, "vpu_num_lanes": 128,
    "vpu_spad_size_kb_per_lane": 128, "dram_type": "hbm2", "dram_freq_mhz": 940, "dram_channels": 16, "dram_req_size_byte": 32,
    "icnt_freq_mhz": 940, "icnt_injection_ports_per_core": 16,
}  # fmt: skip


@pytest.mark.req("G-14")
@pytest.mark.parametrize(
    ("changes", "core", "dram", "interconnect"),
    [
        ({}, 0.064, 1.075, 0),
        ({"icnt_type": "crossbar"}, 0.064, 1.075, 0),  # one core: its flows never meet, and nothing is stepped
        ({"icnt_type": "crossbar", "num_cores": 2}, 0.12, 1.02, 0.13),
        ({"icnt_type": "mesh"}, 0.20, 1.18, 0.42),
    ],
)
def test_steps_a_request(changes: dict[str, Any], core: float, dram: float, interconnect: float) -> None:
    """A bandwidth-bound product: sixteen requests in a core cycle, about one event of a channel for each."""
    records, table, bases = gemm_trace(256, 128, 128)
    result = Simulator({**MACHINE, **changes}).run_producer(synthetic_producer(records), bases, table)
    requests = sum(c.read_requests + c.write_requests for c in result.cores)
    assert requests == 40_960
    found = {name: steps / requests for name, steps in result.steps.items()}
    most = {"core": core, "dram": dram, "interconnect": interconnect}
    assert all(found[name] <= most[name] for name in most), f"steps a request: {found}, at most {most}"


@pytest.mark.req("G-11")
def test_reference_modes_look_at_every_cycle() -> None:
    """... so that the figures above count something."""
    records, table, bases = gemm_trace(64, 32, 8)
    machine = {**MACHINE, "vpu_num_lanes": 8, "dram_channels": 2, "icnt_type": "crossbar"}
    fast, slow = (Simulator(machine).run_producer(synthetic_producer(records), bases, table, mode=m) for m in ("fast", "cycle_by_cycle"))
    assert fast.cycles == slow.cycles
    assert slow.steps["core"] >= slow.cycles - 1 > fast.steps["core"]
    assert slow.steps["dram"] > fast.steps["dram"]
    assert slow.steps["interconnect"] > slow.cycles > fast.steps["interconnect"]
