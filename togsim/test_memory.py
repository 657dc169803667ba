"""Transfers, address mapping and DRAM channels on their own."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import togsim
from togsim import Direction, Dma, TileBegin, TileEnd, _core
from togsim.dram_traces import MAPPERS, Request, channel_config, run_channel


def dram(
    kind: str, mapper: str, requests: list[Request], *, every_cycle: bool = False, window: int = 1000
) -> tuple[list[int], dict[str, int]]:
    return run_channel(channel_config(kind, mapper, dram_latency=25), requests, every_cycle=every_cycle, window=window)


# ---------------------------------------------------------------------------------------------- transfers


@pytest.mark.req("H-7", "C-20b")
@settings(max_examples=300)
@given(st.data())
def test_granules_are_the_distinct_ones_of_the_active_elements(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))
    dims = [data.draw(st.integers(1, 6)) for _ in range(rank)]
    low = [data.draw(st.integers(0, d)) for d in dims]
    high = [data.draw(st.integers(0, d)) for d in dims]
    strides = [data.draw(st.integers(-40, 40)) for _ in range(rank)]
    bits = data.draw(st.sampled_from([8, 16, 32, 64]))
    granule = data.draw(st.sampled_from([1, 32, 64]))
    offset = data.draw(st.integers(-50, 50))
    base = 1 << 20
    record = Dma(Direction.LOAD, 0, offset, tuple(dims), tuple(strides), tuple(low), tuple(high), bits, False, 0)
    runs = _core.granules_of(togsim.synthetic_producer([TileBegin(0), record, TileEnd(0)]), base, granule)
    size = bits // 8
    touched: set[int] = set()
    for position in itertools.product(*(range(a, b) for a, b in zip(low, high))):
        first = base + size * (offset + sum(i * s for i, s in zip(position, strides)))
        touched |= {(first + b) // granule for b in range(size)}
    found = [g for a, b in runs for g in range(a, b + 1)]
    assert found == sorted(touched)


@pytest.mark.parametrize("channels", [1, 2, 3, 6, 16])
def test_channel_interleave_is_one_to_one_and_spreads_power_of_two_strides(channels: int) -> None:
    granules = list(range(channels * 64))
    config = channel_config(dram_channels=channels)
    assert len(set(_core.interleave(config, granules))) == len(granules)
    for stride in (1, 16, 64, 1024, 4096):
        used = [channel for channel, _ in _core.interleave(config, [stride * k for k in range(64 * channels)])]
        assert max(used.count(c) for c in range(channels)) <= 2 * 64, f"stride {stride} leaves channels idle"


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("order", ["round_robin", "xor"])
def test_channel_interleave_in_blocks(channels: int, order: str) -> None:
    config = channel_config(dram_channels=channels, dram_channel_interleave=order, dram_interleave_bytes=256)
    places = _core.interleave(config, range(channels * 256))
    assert len(set(places)) == channels * 256
    for first in range(0, channels * 256, 8):
        channel, inside = places[first]
        assert places[first : first + 8] == [(channel, inside + k) for k in range(8)], "256 bytes are 8 requests of one channel"
    if order == "round_robin":
        assert [channel for channel, _ in places[::8]] == [k % channels for k in range(channels * 32)]


@pytest.mark.parametrize("kind", ["hbm2", "ddr4"])
@pytest.mark.parametrize("mapper", MAPPERS)
def test_dram_mapping_is_one_to_one(kind: str, mapper: str) -> None:
    transactions = list(range(1 << 14)) + [k << 16 for k in range(1, 64)]
    config = channel_config(kind, mapper)
    assert len(set(_core.dram_places(config, transactions))) == len(transactions)
    if mapper == "MOP4CLXOR":
        # two column bits lie below the bank bits, and the column is xor-ed into them: both walks change bank every time
        for walk in ([0, 1, 2, 3], [0, 4, 8, 12]):
            assert len({place[0] for place in _core.dram_places(config, walk)}) == 4


# ---------------------------------------------------------------------------------------------- single commands
# RoBaRaCoCh, HBM2: 32 columns, then 2 pseudo-channels, 4 groups, 4 banks, rows.
PSEUDO, GROUP, BANK, ROW = 32, 64, 256, 1024


def hbm2(*granules: int, write: tuple[int, ...] = ()) -> list[int]:
    return dram("hbm2", "RoBaRaCoCh", [(0, g, i in write) for i, g in enumerate(granules)])[0]


def test_read_latencies() -> None:
    read = 1 + 14 + 14 + 2  # ACT acts in its second cycle, then RCD, CL and BL
    assert hbm2(0) == [read]
    assert hbm2(0, 1) == [read, read + 4], "same bank group: CCD_L"
    # another group: its ACT follows RRD_S = 4 after the first, its data CCD_S later at the earliest
    assert hbm2(0, GROUP) == [read, read + 4]
    # at + 4 both the second hit and the activated request could read: the activated one goes first, the hit CCD_S after it
    assert hbm2(0, 1, 2, GROUP) == [read, read + 6, read + 10, read + 4]
    assert hbm2(0, PSEUDO) == [read, read + 2], "the pseudo-channels share the row bus only: ACT takes 2 cycles"


def test_row_conflict_waits_for_ras_and_rp() -> None:
    first, second = hbm2(0, ROW)
    # ACT at 0; PRE at RAS + 1 = 35; ACT at 35 + RP - 1 = 48 = RC; RD at 48 + RCD + 1; data CL + BL later
    assert second == 48 + 15 + 16
    assert second - first == 48


def test_write_then_read_turns_the_bus() -> None:
    write, read = hbm2(0, 1, write=(0,))
    assert write == 1 + 12, "RCDWR"
    assert read == write + 5 + 2 + 8 + 14 + 2, "CWL + BL + WTR_L, then CL + BL"
    same = hbm2(0, 0, write=(0,))
    assert same[1] == 2, "a read of a queued write is answered from the queue one cycle after it enters"


def test_ddr4_four_activate_window() -> None:
    # RoBaRaCoCh, DDR4: 128 columns, 4 groups, 4 banks. ACTs to five banks, alternating groups: RRD_S = 4, the fifth waits for FAW = 34.
    granules = [128 * (k % 4) + 512 * (k // 4) for k in range(5)]
    done = dram("ddr4", "RoBaRaCoCh", [(0, g, False) for g in granules])[0]
    assert done[4] - done[0] == 35, "34, and one more because the single command bus carries the fourth read then"
    assert [done[k] - done[0] for k in range(4)] == [0, 4, 8, 12]


def test_refresh_blocks_the_rows() -> None:
    requests = [(3895 + k, ROW * k, False) for k in range(3)]
    done, stats = dram("hbm2", "RoBaRaCoCh", requests)
    assert stats["refreshes"] >= 1
    assert max(done) > 3900 + 350


def test_writes_wait_for_the_watermark_or_the_end_of_the_reads() -> None:
    few = dram("hbm2", "RoBaRaCoCh", [(0, k, False) for k in range(40)] + [(0, 2 * ROW + k, True) for k in range(10)])[0]
    assert min(few[40:]) > max(few[:40]) - 16, "below the watermark the reads go first"
    many = dram("hbm2", "RoBaRaCoCh", [(0, 2 * ROW + k, True) for k in range(40)] + [(0, k, False) for k in range(10)])[0]
    assert min(many[:40]) < min(many[40:])


def test_simple_dram_is_latency_and_one_request_per_cycle() -> None:
    done, _ = dram("simple", "MOP4CLXOR", [(0, 0, False), (0, 1, True), (7, 2, False)])
    assert done == [25, 26, 32]
