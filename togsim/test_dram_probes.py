"""Single commands of a DRAM channel: each is ready at t and not at t - 1, in both models.

A read is complete CL + BL after its command and a write at its command, so completions show when commands were issued. RoBaRaCoCh
places: columns lowest, then pseudo-channels, groups, banks, rows.
"""

from __future__ import annotations

from typing import Any

import pytest

from togsim.dram_traces import TRANSACTION_BYTES, Request, channel_config, run_channel, stream
from togsim.errors import ConfigError

COLUMNS = {"hbm2": 32, "ddr4": 128}
PSEUDO = 32  # HBM2 only
GROUP = {"hbm2": 64, "ddr4": 128}
BANK = {"hbm2": 256, "ddr4": 512}
ROW = {"hbm2": 1024, "ddr4": 2048}
DATA = {"hbm2": 16, "ddr4": 26}  # CL + BL
LONG = 300  # cycles after which nothing of a request is left but the open row


def commands(kind: str, requests: list[Request], **keys: Any) -> list[int]:
    """Cycle of each request's column command."""
    config = channel_config(kind, **keys)
    done, counters = run_channel(config, requests, window=10)
    stepped, counted = run_channel(config, requests, every_cycle=True, window=10)
    assert done == stepped
    assert {**counters, "steps": 0} == {**counted, "steps": 0}
    return [d if write else d - DATA[kind] for d, (_, _, write) in zip(done, requests, strict=True)]


BOTH = pytest.mark.parametrize("kind", ["hbm2", "ddr4"])


@BOTH
def test_activate_to_column(kind: str) -> None:
    read, write = {"hbm2": (15, 13), "ddr4": (22, 22)}[kind]  # RCD; HBM2's ACT acts in its second cycle
    assert commands(kind, [(0, 0, False)]) == [read]
    assert commands(kind, [(0, 0, True)]) == [write]


@BOTH
def test_row_conflict(kind: str) -> None:
    # ACT at 0, PRE at RAS + s, ACT at + RP - s: RC is reached exactly. Then RCD.
    rc, rcd, ras = {"hbm2": (48, 15, 29), "ddr4": (74, 22, 47)}[kind]
    first, second = commands(kind, [(0, 0, False), (0, ROW[kind], False)])
    assert (first, second) == (rcd, rc + rcd)
    # RC alone: with RAS smaller by 5, the PRE comes earlier and the ACT waits for RC all the same
    assert commands(kind, [(0, 0, False), (0, ROW[kind], False)], dram_timing_cycles={"RAS": ras})[1] == rc + rcd
    # the PRE of a row that was read late waits for RTP: RD at `late`, PRE RTP later, ACT RP - s later, RD RCD later
    rtp, rp = {"hbm2": (5, 13), "ddr4": (12, 22)}[kind]
    late = commands(kind, [(0, 0, False), (LONG, 1, False), (LONG, ROW[kind], False)])
    assert late[1] == LONG
    assert late[2] - late[1] == rtp + rp + rcd


@BOTH
def test_write_to_precharge(kind: str) -> None:
    # CWL + BL + WR, then RP - s, then RCD (both requests writes)
    wait = {"hbm2": 5 + 2 + 16 + 13 + 13, "ddr4": 16 + 4 + 24 + 22 + 22}[kind]
    late = commands(kind, [(0, 0, True), (LONG, 1, True), (LONG, ROW[kind], True)])
    assert late[1] == LONG
    assert late[2] - late[1] == wait


@BOTH
def test_activate_to_activate(kind: str) -> None:
    same_group, other_group = {"hbm2": (4, 4), "ddr4": (8, 4)}[kind]
    rcd = {"hbm2": 15, "ddr4": 22}[kind]
    assert commands(kind, [(0, 0, False), (0, BANK[kind], False)]) == [rcd, rcd + same_group]
    assert commands(kind, [(0, 0, False), (0, GROUP[kind], False)]) == [rcd, rcd + other_group]
    # RRD alone, CCD out of the way
    apart = {"RRDS": 9, "RRDL": 13, "FAW": 40}
    assert commands(kind, [(0, 0, False), (0, BANK[kind], False)], dram_timing_cycles=apart) == [rcd, rcd + 13]
    assert commands(kind, [(0, 0, False), (0, GROUP[kind], False)], dram_timing_cycles=apart) == [rcd, rcd + 9]


def test_pseudo_channels_share_only_the_bus() -> None:
    assert commands("hbm2", [(0, 0, False), (0, PSEUDO, False)]) == [15, 17], "an ACT takes two cycles of the row bus"
    opened = [(0, 0, False), (0, PSEUDO, False), (LONG, 1, False), (LONG, PSEUDO + 1, False)]
    assert commands("hbm2", opened, dram_accepts_per_cycle=2)[2:] == [LONG, LONG + 1], "one column command in a cycle"


@pytest.mark.parametrize(("faw", "fifth"), [(34, 34), (40, 40), (20, 20), (16, 16)])
def test_four_activate_window(faw: int, fifth: int) -> None:
    places = [128 * (k % 4) + 512 * (k // 4) for k in range(5)]
    found = commands("ddr4", [(0, p, False) for p in places], dram_timing_cycles={"FAW": faw}, dram_command_bus="dual")
    assert [c - found[0] for c in found[:4]] == [0, 4, 8, 12]
    assert found[4] - found[0] == fifth


@BOTH
@pytest.mark.parametrize("write", [False, True])
def test_column_to_column(kind: str, write: bool) -> None:
    ccd_s, ccd_l = {"hbm2": (2, 4), "ddr4": (4, 8)}[kind]
    opened: list[Request] = [(0, 0, write), (0, BANK[kind], write), (0, GROUP[kind], write)]
    for place, distance in ((1, ccd_l), (BANK[kind] + 1, ccd_l), (GROUP[kind] + 1, ccd_s)):
        found = commands(kind, [*opened, (LONG, 2, write), (LONG, place, write)], dram_accepts_per_cycle=2)
        assert found[3:] == [LONG, LONG + distance]


@BOTH
def test_bus_turnaround(kind: str) -> None:
    to_write = {"hbm2": 14 + 2 + 2 - 5, "ddr4": 22 + 4 + 2 - 16}[kind]
    to_read_same, to_read_other = {"hbm2": (15, 13), "ddr4": (32, 24)}[kind]  # CWL + BL + WTR
    opened: list[Request] = [(0, 0, False), (0, GROUP[kind], False)]
    for place in (1, GROUP[kind] + 1):
        found = commands(kind, [*opened, (LONG, 2, False), (LONG + 1, place, True)])
        assert found[2:] == [LONG, LONG + to_write]
    for place, distance in ((1, to_read_same), (GROUP[kind] + 1, to_read_other)):
        found = commands(kind, [*opened, (LONG, 2, True), (LONG + 1, place, False)])
        assert found[2:] == [LONG, LONG + distance]


def test_refresh() -> None:
    # HBM2, nothing to do: PREab at REFI = 3900 (the row is open), REF RP = 14 later, ACT RFC - 1 = 349 later, RD 15 later.
    assert commands("hbm2", [(0, 0, False), (3900, 1, False)])[1] == 3900 + 14 + 349 + 15
    assert commands("hbm2", [(0, 0, False), (3899, 1, False)])[1] == 3899, "one cycle before it is due"
    # opened at 3890, too late to be read before the refresh: closed RAS + 1 later, refreshed RP after that, opened again first
    again = 3890 + 35 + 14 + 349 + 15
    assert commands("hbm2", [(3890, 0, False), (3910, ROW["hbm2"], False)]) == [again, again + 48]
    # closed at 3860 + 35 for the conflict; the second row's ACT at 3908 is too late, so the row is closed at 3900 and REF waits
    # for RC + 1 = 49 after the ACT and RP = 14 after the PRE at 3895: 3909 each
    assert commands("hbm2", [(3860, 0, False), (3860, ROW["hbm2"], False)])[1] == 3909 + 349 + 15
    # DDR4: PREab at 12480, REF 22 later, ACT 576 later, RD 22 later
    assert commands("ddr4", [(0, 0, False), (12480, 1, False)])[1] == 12480 + 22 + 576 + 22


def test_queue_slot_is_free_in_the_next_cycle() -> None:
    # One slot and no active list: the second read enters in the cycle after the first one's command and hits at CCD_L.
    keys = {"dram_read_queue_entries": 1, "dram_active_list": False, "dram_timing_cycles": {"CCDS": 2, "CCDL": 2, "BL": 2}}
    assert commands("hbm2", [(0, 0, False), (0, 1, False), (0, GROUP["hbm2"], False)], **keys) == [15, 17, 18 + 15]


def test_write_forwarding() -> None:
    requests: list[Request] = [(0, 0, True), (0, 0, False)]
    done, counters = run_channel(channel_config("hbm2"), requests)
    assert (done[1], counters["forwarded"]) == (2, 1), "it enters at 1 and is answered one cycle later"
    assert commands("hbm2", requests, dram_write_forwarding=False)[1] == 13 + 5 + 2 + 8


def test_acknowledgement_of_a_write() -> None:
    assert run_channel(channel_config("hbm2"), [(0, 0, True)])[0] == [13]
    assert run_channel(channel_config("hbm2", dram_write_done="data"), [(0, 0, True)])[0] == [13 + 5 + 2]


@pytest.mark.parametrize(("writes", "first_write_waits"), [(25, True), (26, False)])
def test_writes_are_served_from_the_26th_of_32(writes: int, first_write_waits: bool) -> None:
    # Reads of one row go on; writes to another bank pile up. Only more than 80 % of 32 stop the reads.
    reads: list[Request] = [(0, k, False) for k in range(30)]
    found = commands("hbm2", reads + [(0, BANK["hbm2"] + k, True) for k in range(writes)])
    assert (min(found[30:]) > max(found[:30])) == first_write_waits


def test_reads_come_back_below_a_fifth_of_the_queue() -> None:
    reads: list[Request] = [(40, k, False) for k in range(8)]
    found = commands("hbm2", [(0, BANK["hbm2"] + k, True) for k in range(28)] + reads)
    before = sum(c < min(found[28:]) for c in found[:28])
    assert 28 - before == 6, "back to reads with 6 writes left, not with 7"


def test_both_buses_in_one_cycle() -> None:
    # At LONG a hit and a closed bank: with two buses RD and ACT both issue then, with one the RD first.
    requests: list[Request] = [(0, 0, False), (LONG, 1, False), (LONG, GROUP["ddr4"], False)]
    assert commands("ddr4", requests, dram_accepts_per_cycle=2, dram_command_bus="dual")[1:] == [LONG, LONG + 22]
    assert commands("ddr4", requests, dram_accepts_per_cycle=2)[1:] == [LONG, LONG + 1 + 22]
    older = [requests[0], requests[2], requests[1]]
    assert commands("ddr4", older, dram_accepts_per_cycle=2, dram_single_bus_order="age")[1:] == [LONG + 22, LONG + 1]


@pytest.mark.parametrize(
    ("kind", "mapper", "name", "most"),
    [
        ("hbm2", "RoBaRaCoCh", "seq", 1.06),
        ("hbm2", "RoBaRaCoCh", "rand", 2.27),
        ("hbm2", "RoBaRaCoCh", "randmix", 2.36),
        ("hbm2", "MOP4CLXOR", "seq", 1.04),
        ("ddr4", "RoBaRaCoCh", "seq", 1.02),
        ("ddr4", "RoBaRaCoCh", "rand", 3.01),
        ("ddr4", "RoBaRaCoCh", "randmix", 3.15),
    ],
)
def test_saturated_streams_take_few_steps(kind: str, mapper: str, name: str, most: float) -> None:
    """Speed in CI: cycles looked at for each request, which no load of the machine changes. Those of bench/bench_dram.py."""
    _, counters = run_channel(channel_config(kind, mapper), stream(name, TRANSACTION_BYTES[kind]))
    assert counters["steps"] <= most * 10_000


@pytest.mark.parametrize("window", [1, 10, 1000])
def test_steps_do_not_depend_on_windows(window: int) -> None:
    """Looking at a channel in which nothing happens costs nothing."""
    config = channel_config("hbm2", dram_refresh="none")  # refreshes go on to the end of the last window
    requests = stream("randmix", TRANSACTION_BYTES["hbm2"], 1000)
    done, counters = run_channel(config, requests, window=window)
    whole, counted = run_channel(config, requests, window=max(done) + 1)
    assert (done, counters["steps"]) == (whole, counted["steps"])


def test_the_longest_figures_fit() -> None:
    """Keys of the event-driven channel hold a distance of three figures: WR to PRE, each figure the largest that is accepted."""
    long = 1 << 20
    keys = {"CL": long, "CWL": long, "WR": long, "RCDWR": long - 2, "RAS": long - 2, "RC": long, "RP": 2}
    config = channel_config("hbm2", dram_timing_cycles=keys, dram_refresh="none")
    done, _ = run_channel(config, [(0, 0, True), (0, ROW["hbm2"], True)], window=long)
    late = 1  # an ACT of two cycles
    activate_to_write = long - 2 + late
    assert done == [activate_to_write, activate_to_write + 2 * long + 2 + (2 - late) + activate_to_write]


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({"dram_timing_cycles": {"RAS": 10}}, "RAS >= RCDRD"),
        ({"dram_timing_cycles": {"RC": 40}}, "RC >= RAS + RP"),
        ({"dram_timing_cycles": {"CCDL": 1}}, "CCDL >= CCDS"),
        ({"dram_timing_cycles": {"REFI": 400}}, "REFI >= RFC"),
        ({"dram_timing_cycles": {"CL": 0}}, "CL"),
        ({"dram_timing_cycles": {"tCL": 14}}, "one of CL, CWL"),
        ({"dram_timing_cycles": {"CL": 1 << 21}}, "from 0 to"),
        ({"dram_timing_cycles": [14]}, "figures by name"),
        ({"dram_organization": {"banks": 3}}, "power of two"),
        ({"dram_organization": {"banks": 16}}, "at most 32"),
        ({"dram_organization": {"transaction_bytes": 64}}, "64 for HBM2"),
        ({"dram_command_bus": "single"}, "ACT = 1"),
        ({"dram_command_bus": "both"}, "single or dual"),
        ({"dram_read_queue_entries": 49}, "from 1 to 48"),
        ({"dram_write_queue_entries": 0}, ">= 1"),
        ({"dram_write_low_percent": 90}, "from 0 to 80"),
        ({"dram_write_high_percent": 101}, "from 0 to 100"),
        ({"dram_refresh_stagger_cycles": 3900}, "from 0 to 3899"),
        ({"dram_precharge": "never"}, "age or protect_hits"),
        ({"dram_active_list": 1}, "boolean"),
        ({"dram_interleave_bytes": 48}, "multiple of 32"),
        ({"dram_accepts_per_cycle": 65}, "from 1 to 64"),
    ],
)
def test_bad_figures_are_refused_before_anything_runs(keys: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        channel_config("hbm2", **keys)
    assert where in str(caught.value)
