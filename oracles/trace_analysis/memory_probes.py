"""Few requests whose times are arithmetic: a DRAM channel and a network alone, against figures written down here a second time.

The figures of the DRAM devices are those of docs/timing-model.md; the times follow from the rules there, and those of packets from
docs/togsim.md ("Interconnect"). A probe fails when a figure of the simulator is off by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

from togsim import _core
from togsim.dram_traces import Request, channel_config, run_channel

DEVICES: dict[str, dict[str, int]] = {
    "hbm2": {
        "CL": 14, "CWL": 5, "BL": 2, "RCDRD": 14, "RCDWR": 12, "RP": 14, "RAS": 34, "RC": 48, "WR": 16, "RTP": 5, "CCDS": 2, "CCDL": 4,
        "RRDS": 4, "RRDL": 4, "WTRS": 6, "WTRL": 8, "FAW": 15, "RFC": 350, "REFI": 3900, "ACT": 2, "TURN": 2,
    },
    "ddr4": {
        "CL": 22, "CWL": 16, "BL": 4, "RCDRD": 22, "RCDWR": 22, "RP": 22, "RAS": 52, "RC": 74, "WR": 24, "RTP": 12, "CCDS": 4, "CCDL": 8,
        "RRDS": 4, "RRDL": 8, "WTRS": 4, "WTRL": 12, "FAW": 34, "RFC": 576, "REFI": 12480, "ACT": 1, "TURN": 2,
    },
}  # fmt: skip
NETWORK_FIGURES = ("channels", "buffer_flits", "router_cycles", "link_cycles", "queue_packets", "data_flits", "control_flits", "places")
_PLACES = {"hbm2": {"group": 64, "bank": 256, "row": 1024}, "ddr4": {"group": 128, "bank": 512, "row": 2048}}
_LATE = 300
"""A cycle in which nothing is left of the first requests but their open rows."""


class Probe(Protocol):
    """Something that can object to a fault."""

    @property
    def name(self) -> str:
        """What it looks at."""
        ...

    def objection(self, figure: str = "", step: int = 0) -> str | None:
        """What differs when ``step`` is added to a figure of the simulator; None: nothing."""
        ...


def probes(part: str) -> list[Probe]:
    """Probes of ``"network"`` or of a DRAM device."""
    return list(network_probes()) if part == "network" else list(channel_probes(part))


@dataclass(frozen=True)
class ChannelProbe:
    """Requests to one channel (RoBaRaCoCh) and the cycle in which each is complete: CL + BL after a read's command, at a write's."""

    name: str
    device: str
    requests: Sequence[Request]
    expected: Mapping[int, int]
    """Number of a request -> cycle; the others only prepare."""
    keys: Mapping[str, Any]

    def objection(self, figure: str = "", step: int = 0) -> str | None:
        """See ``Probe``."""
        config = channel_config(self.device, "RoBaRaCoCh", **self.keys) | {"dram_timing_fault": {figure: step} if figure else {}}
        done, _ = run_channel(config, list(self.requests), window=10)
        return _difference({number: done[number] for number in self.expected}, self.expected)


@dataclass(frozen=True)
class NetworkProbe:
    """Packets (cycle, source, destination, data) on one network, and the cycle in which each is delivered."""

    name: str
    network: Mapping[str, Any]
    packets: Sequence[tuple[int, int, int, bool]]
    expected: Sequence[int]
    places: int = 0
    hold: int = 0

    def objection(self, figure: str = "", step: int = 0) -> str | None:
        """See ``Probe``."""
        figures = {**self.network, "places": self.places}
        if figure:
            if figures[figure] == 0 or figures[figure] + step < 1:
                return None  # no limit where there is none, or no such network
            figures[figure] += step
        places = figures.pop("places")
        times = _core.noc_packets(figures, list(self.packets), places, self.hold, False)
        return _difference([delivered for _, delivered in times], list(self.expected))


def _difference(found: object, expected: object) -> str | None:
    return None if found == expected else f"expected {expected}, found {found}"


def channel_probes(device: str) -> Iterator[ChannelProbe]:
    """Probes of every timing figure of a device. Where one figure hides another, the other is moved away."""
    f = SimpleNamespace(**DEVICES[device])
    bank, group, row = (_PLACES[device][name] for name in ("bank", "group", "row"))
    late = f.ACT - 1  # an ACT acts in its last cycle
    data = f.CL + f.BL
    read, write = f.RCDRD + late, f.RCDWR + late  # of a closed bank

    def probe(name: str, requests: Sequence[Request], expected: Mapping[int, int], **keys: Any) -> ChannelProbe:
        return ChannelProbe(f"{device}, {name}", device, requests, expected, keys)

    yield probe("first read", [(0, 0, False)], {0: read + data})
    yield probe("first write", [(0, 0, True)], {0: write})
    yield probe("data of a write", [(0, 0, True)], {0: write + f.CWL + f.BL}, dram_write_done="data")
    early = {"RAS": f.RAS - 5}
    yield probe("row cycle", [(0, 0, False), (0, row, False)], {1: f.RC + read + data}, dram_timing_cycles=early)
    # The PRE of the older request and the ACT of the younger one want the same cycle of the row bus: the ACT comes one later.
    clash = f.RAS + late
    yield probe("row open", [(0, 0, False), (0, row, False), (clash, group, False)], {2: clash + 1 + read + data})
    yield probe(
        "read to precharge", [(0, 0, False), (_LATE, 1, False), (_LATE, row, False)], {2: _LATE + f.RTP + f.RP - late + read + data}
    )
    ends = f.CWL + f.BL + f.WR
    yield probe("write to precharge", [(0, 0, True), (_LATE, 1, True), (_LATE, row, True)], {2: _LATE + ends + f.RP - late + write})
    apart = {"RRDS": 9, "RRDL": 13, "FAW": 40}
    yield probe("banks of a group", [(0, 0, False), (0, bank, False)], {1: 13 + read + data}, dram_timing_cycles=apart)
    yield probe("banks of two groups", [(0, 0, False), (0, group, False)], {1: 9 + read + data}, dram_timing_cycles=apart)
    fifth = [(0, group * (k % 4) + bank * (k // 4), False) for k in range(5)]
    close = {"RRDS": 3, "RRDL": 3}
    bus = {"dram_command_bus": "dual", "dram_accepts_per_cycle": 5}
    yield probe("five banks", fifth, {4: f.FAW + read + data}, dram_timing_cycles=close, **bus)
    both = {"dram_accepts_per_cycle": 2}
    for name, place, distance in (("a bank", 1, f.CCDL), ("two groups", group + 1, f.CCDS)):
        opened: list[Request] = [(0, 0, False), (0, group, False)]
        yield probe(f"hits of {name}", [*opened, (_LATE, 2, False), (_LATE, place, False)], {3: _LATE + distance + data}, **both)
    turn = f.CL + f.BL + f.TURN - f.CWL
    opened = [(0, 0, False), (0, group, False)]
    yield probe("read, then write", [*opened, (_LATE, 2, False), (_LATE + 1, 1, True)], {3: _LATE + turn})
    for name, place, wait in (("a bank", 1, f.WTRL), ("two groups", group + 1, f.WTRS)):
        turned = _LATE + f.CWL + f.BL + wait
        yield probe(f"write, then read of {name}", [*opened, (_LATE, 2, True), (_LATE + 1, place, False)], {3: turned + data})
    closed = f.REFI + f.RP + f.RFC - late
    yield probe("refresh", [(0, 0, False), (f.REFI, 1, False)], {1: closed + read + data})


def network_probes() -> Iterator[NetworkProbe]:
    """Probes of every figure of a router network: 3 cycles in a router, 1 on a link unless said otherwise."""
    router = {
        "channels": 4,
        "buffer_flits": 8,
        "router_cycles": 3,
        "link_cycles": 1,
        "queue_packets": 0,
        "data_flits": 2,
        "control_flits": 2,
    }
    crossbar = {"topology": "crossbar", "nodes": 4, **router}
    mesh = {"topology": "mesh", "nodes": 9, **router}
    # Queue 1, link 1, for each router 3 + 1, one more flit behind the first.
    yield NetworkProbe("one router", crossbar, [(0, 1, 3, True)], [1 + 1 + 4 + 1])
    yield NetworkProbe("one router, control", crossbar, [(0, 1, 3, False)], [1 + 1 + 4 + 1])
    yield NetworkProbe("five routers", mesh, [(0, 0, 8, True)], [1 + 1 + 5 * 4 + 1])
    yield NetworkProbe("five routers, long links", {**mesh, "link_cycles": 3}, [(0, 0, 8, True)], [1 + 3 + 5 * 6 + 1])
    # A flit leaves a cycle after the one before, and two after the one before that passed the switch, which takes the head two cycles from
    # when it left and the others one: 1, 2, 5, 6, 8, 9, switch 3, 4, 6, 7, 9, 10. It is delivered three cycles after the switch.
    narrow = {**crossbar, "channels": 1, "buffer_flits": 2, "data_flits": 6}
    yield NetworkProbe("credits", narrow, [(0, 0, 1, True)], [10 + 3])
    # One place in the queue: free a cycle after the last flit left, so two packets of one flit leave two cycles apart.
    queue = {**crossbar, "queue_packets": 1, "data_flits": 1}
    yield NetworkProbe("source queue", queue, [(0, 0, 1, True), (0, 0, 2, True), (0, 0, 3, True)], [6, 8, 10])
    two = {**crossbar, "queue_packets": 2, "data_flits": 1}
    yield NetworkProbe("source queue of two", two, [(0, 0, d, True) for d in (1, 2, 3, 1)], [6, 7, 8, 9])
    # A destination with one place, held for 20 cycles: the next switch is won a cycle after, and the flit is there three later.
    single = {**crossbar, "data_flits": 1}
    yield NetworkProbe("places", single, [(0, 0, 2, True), (0, 1, 2, True)], [6, 6 + 20 + 1 + 3], places=1, hold=20)
    yield NetworkProbe("two places", single, [(0, k % 2, 2, True) for k in range(4)], [6, 7, 6 + 24, 7 + 24], places=2, hold=20)
    # Two channels: two packets of four flits to one output take turns on its link. One: the second begins behind the first.
    pair = [(0, 0, 3, True), (0, 1, 3, True)]
    yield NetworkProbe("two channels", {**crossbar, "channels": 2, "data_flits": 4}, pair, [12, 13])
    yield NetworkProbe("one channel", {**crossbar, "channels": 1, "data_flits": 4}, pair, [9, 14])
