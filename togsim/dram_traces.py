"""Request streams for one DRAM channel alone, and random machines and streams for its property tests and benchmark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from togsim import _core
from togsim.config import sim_config

Request = tuple[int, int, bool]
"""Arrival in DRAM cycles, number of the transaction inside the channel, write."""

STREAMS = ("seq", "rand", "seqmix", "randmix", "copy", "stride")
MAPPERS = ("RoBaRaCoCh", "MOP4CLXOR", "ChRaBaRoCo")
TRANSACTION_BYTES = {"hbm2": 32, "ddr4": 64}


def channel_config(kind: str = "hbm2", mapper: str = "RoBaRaCoCh", **keys: Any) -> dict[str, Any]:
    """What ``_core.dram_channel_run`` takes: a checked machine of one channel with these dram_ keys.

    ``dram_timing_fault`` (figure -> difference) is a deliberate fault: added after all checks.
    """
    fault = keys.pop("dram_timing_fault", {})
    machine = {
        "num_cores": 1, "core_freq_mhz": 1000, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 32, "dram_freq_mhz": 1000,
        "dram_channels": 1, "icnt_freq_mhz": 1000, "dram_type": kind, "dram_mapper": mapper,
        "dram_req_size_byte": TRANSACTION_BYTES.get(kind, 32),
    }  # fmt: skip
    return {**sim_config({**machine, **keys}).to_core(), "dram_timing_fault": fault}


def run_channel(
    config: dict[str, Any], requests: list[Request], *, every_cycle: bool = False, window: int = 1000
) -> tuple[list[int], dict[str, int]]:
    """Completion cycle of each request (read: last data beat; write: by ``dram_write_done``) and the channel's counters."""
    return _core.dram_channel_run(config, requests, every_cycle, window)


def _lcg(seed: int) -> Iterator[int]:
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def stream(name: str, transaction_bytes: int, count: int = 10_000) -> list[Request]:
    """One of STREAMS, all offered at cycle 0: the traces of the published Ramulator 2.1 comparison (docs/timing-model.md)."""
    addresses = 2**30 // transaction_bytes
    if name == "seq":
        return [(0, i, False) for i in range(count)]
    if name == "rand":
        source = _lcg(1)
        return [(0, next(source) % addresses, False) for _ in range(count)]
    if name == "seqmix":
        source = _lcg(2)
        return [(0, i, next(source) % 10 >= 7) for i in range(count)]
    if name == "randmix":
        source = _lcg(3)
        return [(0, next(source) % addresses, next(source) % 10 >= 7) for _ in range(count)]
    if name == "copy":
        return [(0, 2**26 // transaction_bytes + i // 2, True) if i % 2 else (0, i // 2, False) for i in range(count)]
    if name == "stride":
        return [(0, i * 2**20 // transaction_bytes, False) for i in range(count)]
    raise ValueError(f"unknown stream {name!r}; one of {', '.join(STREAMS)}")


def random_timing(source: random.Random) -> dict[str, int]:
    """Figures that satisfy what togsim/csrc/dram_check.cpp demands, and little more."""
    low = source.randint
    t = {"CL": low(3, 30), "BL": low(1, 8), "RCDRD": low(2, 30), "RCDWR": low(2, 30), "WR": low(1, 30), "RTP": low(1, 15)}
    t["ACT"] = low(1, 2)
    t["TURN"] = low(0, 3)
    t["CWL"] = low(1, t["CL"])
    t["RP"] = low(2, 30)
    t["RAS"] = max(t["RCDRD"], t["RCDWR"]) + low(0, 30)
    t["CCDS"] = t["BL"] + low(0, 4)
    t["CCDL"] = t["CCDS"] + low(0, 6)
    t["RRDS"] = low(2, 8)
    t["RRDL"] = t["RRDS"] + low(0, 6)
    t["RC"] = max(t["RRDL"], t["RAS"] + t["RP"] + low(0, 20))
    t["WTRS"] = low(1, 10)
    t["WTRL"] = t["WTRS"] + low(0, 10)
    t["FAW"] = t["RRDS"] + low(0, 50)
    t["RFC"] = t["RP"] + t["ACT"] + source.choice([low(0, 40), low(0, 400)])
    row_cycle = t["ACT"] + max(t["RAS"], t["RCDWR"] + t["CWL"] + t["BL"] + t["WR"]) + t["RP"]
    t["REFI"] = 2 * (t["RFC"] + row_cycle) + row_cycle + low(200, 1200)
    return t


def random_channel(source: random.Random) -> dict[str, Any]:
    """A random machine of one channel: device, timing, organisation, mapping and every policy."""
    kind = source.choice(["hbm2", "ddr4"])
    keys: dict[str, Any] = {}
    organization: dict[str, int] = {}
    if source.random() < 0.4:
        timing = random_timing(source)
        keys["dram_command_bus"] = source.choice(["single", "dual"])
        if keys["dram_command_bus"] == "single":
            timing["ACT"] = 1
        keys["dram_timing_cycles"] = timing
        organization = {
            "pseudo_channels": source.choice([1, 2]), "bank_groups": source.choice([1, 2, 4]), "banks": source.choice([1, 2, 4])
        }  # fmt: skip
    elif source.random() < 0.5:
        keys["dram_timing_cycles"] = {"RFC": 60, "REFI": source.randint(600, 1500)}  # more refreshes in a short stream
    keys |= {
        "dram_organization": organization,
        "dram_active_list": source.random() < 0.6,
        "dram_precharge": source.choice(["age", "protect_hits"]),
        "dram_single_bus_order": source.choice(["column_first", "age"]),
        "dram_refresh": "none" if source.random() < 0.1 else "all_bank",
        "dram_refresh_scope": source.choice(["pseudo_channel", "channel"]),
        "dram_refresh_stagger_cycles": source.choice([0, source.randrange(200)]),
        "dram_write_forwarding": source.random() < 0.6,
        "dram_write_done": source.choice(["issue", "data"]),
        "dram_accepts_per_cycle": source.choice([1, 1, 1, source.randint(2, 4)]),
        "dram_read_queue_entries": source.choice([32, source.randint(1, 48)]),
        "dram_write_queue_entries": source.choice([32, source.randint(1, 48)]),
    }
    if source.random() < 0.4:
        keys["dram_write_low_percent"] = source.randint(0, 60)
        keys["dram_write_high_percent"] = source.randint(keys["dram_write_low_percent"], 100)
    return channel_config(kind, source.choice(MAPPERS), **keys)


def random_requests(source: random.Random, most: int = 200) -> list[Request]:
    """A random stream: sequential, random, one bank, three interleaved streams, runs, or a few hot rows; bursts and pauses."""
    count = source.randint(10, most)
    kind = source.randrange(6)
    writes = source.choice([0.0, source.random(), source.random()])
    gap = source.choice([0, 0, source.randint(1, 60)])
    span = source.choice([1 << 24, source.randint(128, 1 << 15)])
    requests: list[Request] = []
    arrival, place = 0, 0
    for i in range(count):
        if kind == 0:
            place = i
        elif kind == 1:
            place = source.randrange(span)
        elif kind == 2:
            place = i << 14
        elif kind == 3:
            place = (i % 3) * (span // 4) + i // 3
        elif kind == 4:
            place = source.randrange(span) if source.random() < 1 / 16 else place + 1
        else:
            place = source.randrange(64) + source.randrange(4) * (1 << 13)
        if gap and source.random() < 0.25:
            arrival += source.randrange(gap * (40 if source.random() < 0.05 else 1) + 1)
        requests.append((arrival, place, source.random() < writes))
    return requests
