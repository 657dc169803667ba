"""DRAM channels against an established model and against closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from togsim.dram_traces import STREAMS, TRANSACTION_BYTES, Request, channel_config, run_channel, stream

# Cycles that Ramulator 2.1 (commit c5b1c3a; FR-FCFS, queues of 32 + 32, watermarks 0.2 / 0.8, all-bank refresh, open row; DDR4_8Gb_x8 at
# DDR4_3200AA, HBM2_8Gb at HBM2_2000Mbps, one channel) takes for 10,000 requests of each of STREAMS.
RAMULATOR = {
    ("ddr4", "RoBaRaCoCh"): (65095, 91948, 62311, 92095, 104009, 775687),
    ("hbm2", "RoBaRaCoCh"): (19919, 33159, 19049, 34702, 40432, 527234),
    ("ddr4", "MOP4CLXOR"): (42530, 92030, 47571, 91837, 58768, 775687),
    ("hbm2", "MOP4CLXOR"): (11150, 33121, 14141, 34956, 21387, 527234),
    ("ddr4", "ChRaBaRoCo"): (88105, 394825, 101541, 420074, 121945, 728642),
    ("hbm2", "ChRaBaRoCo"): (54054, 44760, 75367, 48716, 67998, 265979),
}


def differences(**policy: Any) -> dict[tuple[str, str, str], float]:
    """Per cent by which the model takes longer, for each stream."""
    errors: dict[tuple[str, str, str], float] = {}
    for (kind, mapper), row in RAMULATOR.items():
        for name, cycles in zip(STREAMS, row, strict=True):
            done, _ = run_channel(channel_config(kind, mapper, **policy), stream(name, TRANSACTION_BYTES[kind]))
            errors[kind, mapper, name] = 100 * (max(done) / cycles - 1)
    return errors


@pytest.mark.req("H-6")
def test_all_streams_of_the_established_model() -> None:
    errors = differences()
    assert len(errors) == 36
    assert {key: error for key, error in errors.items() if abs(error) > 3.0} == {}
    assert sum(map(abs, errors.values())) / 36 <= 0.6


SWITCHES: dict[str, dict[str, Any]] = {
    "as configured": {},
    "`dram_refresh_scope: channel`": {"dram_refresh_scope": "channel"},
    "`dram_single_bus_order: age`": {"dram_single_bus_order": "age"},
    "queues of 31": {"dram_read_queue_entries": 31, "dram_write_queue_entries": 31},
    "queues of 33": {"dram_read_queue_entries": 33, "dram_write_queue_entries": 33},
    "two requests enter in a cycle": {"dram_accepts_per_cycle": 2},
    "`dram_precharge: protect_hits`": {"dram_precharge": "protect_hits"},
    "no active list": {"dram_active_list": False},
}
LARGEST = (
    ("hbm2", "RoBaRaCoCh", "seq"), ("hbm2", "MOP4CLXOR", "copy"), ("ddr4", "MOP4CLXOR", "seqmix"), ("ddr4", "MOP4CLXOR", "seq"),
    ("ddr4", "MOP4CLXOR", "copy"),
)  # fmt: skip


@pytest.mark.req("H-6")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if n > 2 else []) for n, name in enumerate(SWITCHES)])
def test_the_page_says_what_each_policy_changes(name: str) -> None:
    """docs/timing-model.md: the table of switches; the scope of the refresh explains nothing."""
    page = (Path(__file__).parents[1] / "docs" / "timing-model.md").read_text(encoding="utf-8")
    errors = differences(**SWITCHES[name])
    sizes = [abs(error) for error in errors.values()]
    largest = " | ".join(f"{errors[key]:+.1f}" for key in LARGEST)
    assert f"| {name} | {sum(sizes) / 36:.2f} | {max(sizes):.1f} | {largest} |" in page
    if "scope" in name:
        assert errors == differences()


REFRESH = {"ddr4": (12480, 576), "hbm2": (3900, 350)}


@pytest.mark.parametrize(("kind", "row_cycle"), [("ddr4", 74), ("hbm2", 48)])
def test_one_bank_conflicts_are_the_row_cycle_stretched_by_refresh(kind: str, row_cycle: int) -> None:
    interval, refresh = REFRESH[kind]
    done, counters = run_channel(channel_config(kind), stream("stride", TRANSACTION_BYTES[kind]))
    assert max(done) / 10_000 == pytest.approx(row_cycle * interval / (interval - refresh), rel=0.005)
    assert counters["row_hits"] == 0
    free, _ = run_channel(channel_config(kind, dram_refresh="none"), stream("stride", TRANSACTION_BYTES[kind]))
    assert free[-1] - free[0] == 9_999 * row_cycle, "without refresh: exactly the row cycle"


@pytest.mark.parametrize(("kind", "ccd_l"), [("ddr4", 8), ("hbm2", 4)])
def test_hits_of_one_bank_are_bound_by_ccd_l(kind: str, ccd_l: int) -> None:
    count = {"ddr4": 128, "hbm2": 32}[kind]  # one row
    requests: list[Request] = [(0, i, False) for i in range(count)]
    done, _ = run_channel(channel_config(kind, "ChRaBaRoCo"), requests)
    assert done[-1] - done[0] == (count - 1) * ccd_l
    # Many rows: RAS and RP once a row as well, hidden by nothing in one bank.
    # After the last read of a row: its PRE RTP later, ACT RP after that, the next read RCD later.
    interval, refresh = REFRESH[kind]
    rtp, rp, rcd = {"ddr4": (12, 22, 22), "hbm2": (5, 14, 14)}[kind]
    long, _ = run_channel(channel_config(kind, "ChRaBaRoCo"), stream("seq", TRANSACTION_BYTES[kind]))
    row = (count - 1) * ccd_l + rtp + rp + rcd
    assert max(long) == pytest.approx(10_000 / count * row * interval / (interval - refresh), rel=0.005)


@pytest.mark.parametrize(("kind", "banks", "cycles"), [("ddr4", 128, 4), ("hbm2", 64, 2)])
def test_two_groups_in_turn_reach_one_transaction_per_burst(kind: str, banks: int, cycles: int) -> None:
    """CCD_S between groups equals the burst: the data bus is never idle (one pseudo-channel, no refresh)."""
    count = {"ddr4": 128, "hbm2": 32}[kind]
    requests: list[Request] = [(0, (i % 2) * banks + i // 2, False) for i in range(2 * count)]
    done, _ = run_channel(channel_config(kind, dram_refresh="none"), requests)
    settled = sorted(done)[16:]
    assert settled[-1] - settled[0] == (len(settled) - 1) * cycles
