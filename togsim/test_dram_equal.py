"""The event-driven DRAM channel equals the loop over cycles, whatever the device, policy, stream and window."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import pytest

from togsim.dram_traces import (
    MAPPERS,
    STREAMS,
    TRANSACTION_BYTES,
    Request,
    channel_config,
    random_channel,
    random_requests,
    run_channel,
    stream,
)

TRACES = int(os.environ.get("TOGSIM_DRAM_TRACES", "1000"))


def difference(events: dict[str, Any], loop: dict[str, Any], requests: list[Request], window: int) -> str:
    """What the event-driven channel does otherwise than the loop; "" for nothing.

    Compared are every completion cycle and every counter; refreshes and precharges too, which go on after the last request, because
    both are asked for the same windows."""
    done, counters = run_channel(events, requests, window=window)
    expected, counted = run_channel(loop, requests, every_cycle=True, window=window)
    wrong = [f"request {i}: {a} instead of {b}" for i, (a, b) in enumerate(zip(done, expected, strict=True)) if a != b]
    wrong += [f"{key}: {counters[key]} instead of {counted[key]}" for key in counted if key != "steps" and counters[key] != counted[key]]
    return "; ".join(wrong[:5])


def random_case(number: int) -> tuple[dict[str, Any], list[Request], int]:
    source = random.Random(number)
    return random_channel(source), random_requests(source), source.choice([1000, source.randint(1, 40)])


@pytest.mark.req("H-6")
def test_event_driven_channel_equals_the_loop_over_cycles() -> None:
    for number in range(TRACES):
        config, requests, window = random_case(number)
        assert difference(config, config, requests, window) == "", f"random_case({number})"


@pytest.mark.req("H-6")
@pytest.mark.parametrize("kind", ["hbm2", "ddr4"])
def test_full_queues_equal_the_loop(kind: str) -> None:
    """Queues that do not run empty for hundreds of requests: the event-driven channel numbers their entries anew."""
    for mapper, name, active in itertools.product(MAPPERS, STREAMS, (True, False)):
        config = channel_config(kind, mapper, dram_active_list=active)
        assert difference(config, config, stream(name, TRANSACTION_BYTES[kind], 400), 1000) == "", f"{mapper} {name} {active}"


@pytest.mark.req("H-6")
def test_windows_do_not_matter() -> None:
    for number in range(60):
        config, requests, _ = random_case(number)
        whole, _ = run_channel(config, requests, window=1 << 20)
        for window in (1, 7, 10, 40):
            assert run_channel(config, requests, window=window)[0] == whole


@pytest.mark.parametrize("window", [1, 10, 1000])
def test_mode_switches_at_the_edge_of_a_window(window: int) -> None:
    requests = [(40 * (k // 6) + k % 6, 97 * k, k % 6 < 3) for k in range(300)]
    for keys in ({}, {"dram_active_list": False}, {"dram_write_queue_entries": 4}, {"dram_write_low_percent": 0}):
        config = channel_config("hbm2", "MOP4CLXOR", **keys)
        assert difference(config, config, requests, window) == ""


# A fault in the figures of one of the two models, and a policy in place of another, must show: each of these is a mistake that the
# comparison is there to find.
FIGURES = (
    "CL", "CWL", "BL", "RCDRD", "RCDWR", "RP", "RAS", "RC", "WR", "RTP", "CCDS", "CCDL", "RRDS", "RRDL", "WTRS", "WTRL", "FAW", "RFC",
    "REFI", "ACT", "TURN",
)  # fmt: skip


def noticed(fault: dict[str, int], traces: int = 150) -> bool:
    for number in range(traces):
        config, requests, window = random_case(number)
        if config["dram_command_bus"] == "single" and "ACT" in fault:
            continue
        if difference({**config, "dram_timing_fault": fault}, config, requests, window):
            return True
    return False


@pytest.mark.parametrize("delta", [1, -1])
@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_off_by_one_is_noticed(figure: str, delta: int) -> None:
    assert noticed({figure: delta})


def test_swapped_and_dropped_constraints_are_noticed() -> None:
    config = channel_config("ddr4", "ChRaBaRoCo")
    requests = [(0, i, False) for i in range(40)]
    assert difference({**config, "dram_timing_fault": {"CCDL": -4}}, config, requests, 1000), "CCD_L as CCD_S"
    assert noticed({"RRDL": -4, "RRDS": 4}), "RRD_L and RRD_S exchanged"
    assert noticed({"FAW": -60}), "no FAW"
    assert noticed({"REFI": 1 << 20}), "no refresh"


POLICIES = [
    ("dram_precharge", "age", "protect_hits"), ("dram_active_list", True, False), ("dram_write_forwarding", True, False),
    ("dram_refresh_scope", "channel", "pseudo_channel"), ("dram_single_bus_order", "age", "column_first"),
    ("dram_accepts_per_cycle", 1, 2), ("dram_write_done", "issue", "data"), ("dram_refresh_stagger_cycles", 0, 100),
    ("dram_refresh", "none", "all_bank"), ("dram_read_queue_entries", 32, 31), ("dram_write_queue_entries", 32, 31),
    ("dram_write_high_percent", 80, 84), ("dram_write_low_percent", 20, 24),
]  # fmt: skip


@pytest.mark.parametrize(("key", "one", "other"), POLICIES)
def test_every_policy_makes_a_difference(key: str, one: Any, other: Any) -> None:
    """So the equality above would notice a model that ignores it."""
    for number in range(300):
        config, requests, window = random_case(number)
        if config["dram_write_low_percent"] > 20 or config["dram_write_high_percent"] != 80:
            continue
        if difference({**config, key: one}, {**config, key: other}, requests, window):
            return
    pytest.fail(f"{key}: no stream tells {one} from {other}")


def test_times_are_moved_back_without_a_trace() -> None:
    """Times inside the event-driven channel are 32 bits wide and moved back every 2^29 cycles."""
    epoch, interval = 1 << 29, 3900
    config = channel_config("hbm2", "MOP4CLXOR")
    requests = random_requests(random.Random(11))
    length = max(run_channel(config, requests)[0])
    for before in (1, 3, length // 3, length // 2, length - 2):
        late = epoch - before
        early = interval + late % interval  # the same phase of the refreshes; one of them has closed all rows
        a, _ = run_channel(config, [(early + t, g, w) for t, g, w in requests])
        b, _ = run_channel(config, [(late + t, g, w) for t, g, w in requests])
        assert [t - early for t in a] == [t - late for t in b]
