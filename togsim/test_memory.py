"""Transfers, address mapping and DRAM channels on their own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import togsim
from togsim import Direction, Dma, TileBegin, TileEnd, _core

Request = tuple[int, int, bool]


def dram(
    kind: str, mapper: str, requests: list[Request], *, every_cycle: bool = False, window: int = 1000
) -> tuple[list[int], dict[str, int]]:
    size = {"hbm2": 32, "ddr4": 64, "simple": 32}[kind]
    return _core.dram_channel_run(kind, mapper, size, 25, requests, every_cycle, window)


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
    assert len(set(_core.interleave(channels, granules))) == len(granules)
    for stride in (1, 16, 64, 1024, 4096):
        used = [channel for channel, _ in _core.interleave(channels, [stride * k for k in range(64 * channels)])]
        assert max(used.count(c) for c in range(channels)) <= 2 * 64, f"stride {stride} leaves channels idle"


@pytest.mark.parametrize("kind", ["hbm2", "ddr4"])
@pytest.mark.parametrize("mapper", ["RoBaRaCoCh", "MOP4CLXOR", "ChRaBaRoCo"])
def test_dram_mapping_is_one_to_one(kind: str, mapper: str) -> None:
    transactions = list(range(1 << 14)) + [k << 16 for k in range(1, 64)]
    assert len(set(_core.dram_places(kind, mapper, transactions))) == len(transactions)
    if mapper == "MOP4CLXOR":
        # two column bits lie below the bank bits, and the column is xor-ed into them: both walks change bank every time
        for walk in ([0, 1, 2, 3], [0, 4, 8, 12]):
            assert len({place[0] for place in _core.dram_places(kind, mapper, walk)}) == 4


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


# ---------------------------------------------------------------------------------------------- streams


@pytest.mark.req("H-6")
@settings(max_examples=100)
@given(
    st.sampled_from(["hbm2", "ddr4"]), st.sampled_from(["RoBaRaCoCh", "MOP4CLXOR", "ChRaBaRoCo"]), st.integers(0, 2**32), st.integers(1, 40)
)
def test_jumping_equals_stepping_whatever_the_window(kind: str, mapper: str, seed: int, window: int) -> None:
    source = random.Random(seed)
    arrival, requests = 0, list[Request]()
    spread, gap, writes = source.choice([40, 4096, 1 << 22]), source.choice([0, 2, 30, 600]), source.random()
    for _ in range(source.randrange(1, 250)):
        arrival += source.randrange(gap + 1)
        requests.append((arrival, source.randrange(spread), source.random() < writes))
    stepped = dram(kind, mapper, requests, every_cycle=True)
    assert dram(kind, mapper, requests) == stepped
    assert dram(kind, mapper, requests, window=window)[0] == stepped[0]
    assert min(stepped[0]) >= 0
    assert stepped[1]["reads"] + stepped[1]["writes"] == len(requests)


def lcg(seed: int) -> Iterator[int]:
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def stream(name: str, granule: int, count: int = 10_000) -> list[Request]:
    if name == "seq":
        return [(0, i, False) for i in range(count)]
    if name == "rand":
        source = lcg(1)
        return [(0, next(source) % (2**30 // granule), False) for _ in range(count)]
    if name == "randmix":
        source = lcg(3)
        return [(0, next(source) % (2**30 // granule), next(source) % 10 >= 7) for _ in range(count)]
    if name == "copy":
        return [(0, 2**26 // granule + i // 2, True) if i % 2 else (0, i // 2, False) for i in range(count)]
    return [(0, i * 2**20 // granule, False) for i in range(count)]


# Cycles that Ramulator 2.1 (commit c5b1c3a; FR-FCFS, 32-entry queues, all-bank refresh, open row) takes for 10,000 requests.
RAMULATOR = [
    ("ddr4", "RoBaRaCoCh", "seq", 65095, 1.0),
    ("ddr4", "RoBaRaCoCh", "rand", 91948, 1.0),
    ("ddr4", "RoBaRaCoCh", "stride", 775687, 1.0),
    ("ddr4", "MOP4CLXOR", "randmix", 91837, 1.0),
    ("hbm2", "RoBaRaCoCh", "seq", 19919, 3.0),
    ("hbm2", "MOP4CLXOR", "seq", 11150, 1.0),
    ("hbm2", "MOP4CLXOR", "rand", 33121, 1.0),
    ("hbm2", "MOP4CLXOR", "randmix", 34956, 1.0),
    ("hbm2", "MOP4CLXOR", "copy", 21387, 1.0),
    ("hbm2", "MOP4CLXOR", "stride", 527234, 1.0),
    ("hbm2", "ChRaBaRoCo", "rand", 44760, 1.0),
]


@pytest.mark.parametrize(("kind", "mapper", "name", "cycles", "percent"), RAMULATOR)
def test_within_the_band_of_an_established_model(kind: str, mapper: str, name: str, cycles: int, percent: float) -> None:
    done, _ = dram(kind, mapper, stream(name, {"hbm2": 32, "ddr4": 64}[kind]))
    assert abs(max(done) - cycles) <= cycles * percent / 100


@pytest.mark.parametrize(("kind", "row_cycle", "interval", "refresh"), [("ddr4", 74, 12480, 576), ("hbm2", 48, 3900, 350)])
def test_one_bank_stride_is_the_row_cycle_stretched_by_refresh(kind: str, row_cycle: int, interval: int, refresh: int) -> None:
    done, stats = dram(kind, "RoBaRaCoCh", stream("stride", {"hbm2": 32, "ddr4": 64}[kind], 4000))
    closed_form = row_cycle * interval / (interval - refresh)
    assert max(done) / 4000 == pytest.approx(closed_form, rel=0.01)
    assert stats["row_hits"] == 0
