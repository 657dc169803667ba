"""What a run found: typed, JSON-ready, printable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from togsim.launches import SUPPLIED, LaunchStats


@dataclass(frozen=True, slots=True)
class CoreStats:
    """One core, of a partition. All times in core cycles; ``issue_cycles + idle_cycles + sum(stalls) == cycles`` of the run."""

    partition: int
    cycles: int
    issue_cycles: int
    idle_cycles: int
    stalls: dict[str, int]
    instructions: dict[str, int]
    skipped_computes: int
    work_items: int
    vector_busy: int
    array_busy: list[int]
    dma_busy: int
    read_requests: int
    write_requests: int
    indirect_transfers: int
    """Transfers that take their addresses from an index buffer."""
    unindexed_transfers: int
    """... whose index values the run was not given: timed as dense ones."""
    peak_spad_bytes: int
    scans: int
    entries_examined: int
    missed_wakes: int


@dataclass(frozen=True, slots=True)
class ChannelStats:
    """One DRAM channel. ``busy``: DRAM cycles of data transfer over all pseudo-channels; ``activates``, ``precharges``: commands."""

    reads: int
    writes: int
    row_hits: int
    row_misses: int
    row_conflicts: int
    forwarded: int
    refreshes: int
    busy: int
    activates: int
    precharges: int


@dataclass(frozen=True, slots=True)
class LinkStats:
    """A link of the interconnect that carried something; one flit is what it can carry in an interconnect cycle.

    Ends are ``core 0 port 3``, ``channel 5`` and ``router 7`` (router 0 is all there is of a crossbar and of the simple interconnect).
    """

    network: str
    """``requests`` or ``replies``."""
    source: str
    destination: str
    flits: int


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One entry of the event log; ``details`` in the order of the log line."""

    cycle: int
    core: int
    tag: str
    inst: int
    opcode: str
    details: tuple[tuple[str, int], ...] = ()

    def get(self, key: str, default: int = 0) -> int:
        """Value of one detail."""
        return dict(self.details).get(key, default)


@dataclass(frozen=True, slots=True)
class Result:
    """One simulated kernel."""

    cycles: int
    """Core cycles from the first admission to the last retirement."""
    core_freq_mhz: int
    request_bytes: int
    cores: list[CoreStats]
    channels: list[ChannelStats]
    noc_packets: int
    noc_queued_cycles: int
    links: list[LinkStats]
    launches: list[LaunchStats]
    """When each kernel call ran, in the order given."""
    index_sources: list[str]
    """Where the addresses of indirect transfers come from: ``"supplied"``, the name of a distribution, ``"none: timed as dense"``."""
    approximate: list[str]
    """Parts of the result that are not exact; ``"indirect"``: some addresses of indirect transfers are not the real ones."""
    issue_hash: int
    """Hash over (cycle, core, work-item, record) of every issue: equal runs have equal hashes."""
    issue_order: list[tuple[int, int, int, int]]
    events: list[TraceEvent]
    log: str
    formatted_lines: int
    held: list[tuple[int, int, int, int, str, int]]
    """With the issue order: (cycle, core, work-item, record, "ISSUE" or "DONE", scratchpad bytes per lane that the item then holds)."""
    steps: dict[str, int] = field(default_factory=dict[str, int])
    """Cycles that the models of ``core``, ``dram`` and ``interconnect`` looked at, all of a kind together: what the simulation
    cost, no figure of the machine."""
    machine: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the machine that was simulated."""
    kernel: str = ""
    """Name of the kernel, for reports."""

    @property
    def bytes_read(self) -> int:
        """DRAM bytes that loads fetched (whole requests)."""
        return sum(core.read_requests for core in self.cores) * self.request_bytes

    @property
    def bytes_written(self) -> int:
        """DRAM bytes that stores sent (whole requests)."""
        return sum(core.write_requests for core in self.cores) * self.request_bytes

    @property
    def indirect_transfers(self) -> int:
        """Loads and stores that take their addresses from an index buffer."""
        return sum(core.indirect_transfers for core in self.cores)

    @property
    def unindexed_transfers(self) -> int:
        """... whose index values the run was not given: timed as dense ones."""
        return sum(core.unindexed_transfers for core in self.cores)

    def partition_cores(self, partition: int) -> list[CoreStats]:
        """The cores of one partition."""
        return [core for core in self.cores if core.partition == partition]

    def partition_cycles(self, partition: int) -> int:
        """Core cycles until the last launch of a partition is done; 0 if it ran nothing."""
        return max((launch.end for launch in self.launches if launch.partition == partition), default=0)

    @property
    def stalls(self) -> dict[str, int]:
        """Stall cycles by cause, summed over the cores."""
        names = self.cores[0].stalls if self.cores else {}
        return {name: sum(core.stalls[name] for core in self.cores) for name in names}

    @property
    def array_utilization(self) -> list[list[float]]:
        """Busy share of every systolic array, per core."""
        return [[busy / self.cycles if self.cycles else 0.0 for busy in core.array_busy] for core in self.cores]

    def link_utilization(self, link: LinkStats) -> float:
        """Share of the interconnect's cycles in which a link carried a flit; needs ``machine``."""
        cycles = self.cycles * self.machine["icnt_freq_mhz"] / self.core_freq_mhz
        return link.flits / cycles if cycles else 0.0

    @property
    def bandwidth_gbps(self) -> float:
        """DRAM bytes per second moved, in 10^9 bytes."""
        return (self.bytes_read + self.bytes_written) * self.core_freq_mhz / (self.cycles * 1000) if self.cycles else 0.0

    def channel_bandwidth_gbps(self, channel: int) -> float:
        """Bandwidth of one channel in 10^9 bytes per second."""
        stats = self.channels[channel]
        return (stats.reads + stats.writes) * self.request_bytes * self.core_freq_mhz / (self.cycles * 1000) if self.cycles else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Everything but events, log and issue order, plus the derived figures, as JSON-ready data."""
        data = asdict(self)
        for key in ("events", "log", "issue_order", "formatted_lines", "held", "steps"):
            del data[key]
        for key in _DERIVED:
            data[key] = getattr(self, key)
        for number, channel in enumerate(data["channels"]):
            channel["bandwidth_gbps"] = self.channel_bandwidth_gbps(number)
        return data

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Result:
        """Inverse of ``to_dict``; events, log and issue order are not in it."""
        channels = [{key: value for key, value in entry.items() if key != "bandwidth_gbps"} for entry in data["channels"]]
        rest = {key: value for key, value in data.items() if key not in (*_DERIVED, "cores", "channels", "launches", "links")}
        return Result(
            cores=[CoreStats(**entry) for entry in data["cores"]],
            channels=[ChannelStats(**entry) for entry in channels],
            launches=[LaunchStats(**entry) for entry in data["launches"]],
            links=[LinkStats(**entry) for entry in data.get("links", [])],
            issue_order=[],
            held=[],
            events=[],
            log="",
            formatted_lines=0,
            **rest,
        )

    def to_json(self) -> str:
        """``to_dict`` as text; the same run gives the same text."""
        return json.dumps(self.to_dict(), indent=1, sort_keys=True)

    def table(self) -> str:
        """A readable summary."""
        return format_table(self)


_DERIVED = ("bytes_read", "bytes_written", "stalls", "bandwidth_gbps", "indirect_transfers", "unindexed_transfers")
"""Properties that ``to_dict`` adds."""


def result_from_core(raw: dict[str, Any], machine: Mapping[str, Any]) -> Result:
    """Wrap what the native module returned."""
    sources: list[str] = raw["index_sources"]
    if any(core["unindexed_transfers"] for core in raw["cores"]):
        sources = [*sources, "none: timed as dense"]
    return Result(
        cycles=raw["cycles"],
        core_freq_mhz=machine["core_freq_mhz"],
        request_bytes=machine["dram_req_size_byte"],
        cores=[CoreStats(**core) for core in raw["cores"]],
        channels=[ChannelStats(**channel) for channel in raw["channels"]],
        noc_packets=raw["noc_packets"],
        noc_queued_cycles=raw["noc_queued_cycles"],
        links=[LinkStats(*link) for link in raw["links"]],
        launches=[LaunchStats(*launch) for launch in raw["launches"]],
        index_sources=sources,
        approximate=["indirect"] if any(source != SUPPLIED for source in sources) else [],
        issue_hash=raw["issue_hash"],
        issue_order=raw["issues"],
        events=[TraceEvent(*event) for event in raw["events"]],
        log=raw["log"],
        formatted_lines=raw["formatted_lines"],
        held=raw["held"],
        steps=raw["steps"],
        machine=dict(machine),
    )


def format_table(result: Result) -> str:
    """Readable summary of a run: totals, one block per core, one line per DRAM channel."""
    total = result.cycles

    def share(busy: int) -> str:
        return f"{busy:>12,} {100 * busy / total if total else 0:6.2f} %"

    partitioned = any(core.partition for core in result.cores)
    lines = [f"Total execution cycles {total:,} at {result.core_freq_mhz} MHz ({total / result.core_freq_mhz:.2f} us)"]
    lines.append(f"DRAM read {result.bytes_read:,} B, written {result.bytes_written:,} B, {result.bandwidth_gbps:.1f} GB/s")
    if result.index_sources:
        note = " (approximate)" if result.approximate else ""
        lines.append(f"{result.indirect_transfers:,} indirect transfers: addresses {'; '.join(result.index_sources)}{note}")
        if result.unindexed_transfers:
            lines.append(f"  {result.unindexed_transfers:,} of them without index values")
    if len(result.launches) > 1 or partitioned:
        for number, launch in enumerate(result.launches):
            lines.append(
                f"Launch {number}: partition {launch.partition}, {launch.work_items} work-items, "
                f"cycles {launch.begin:,} to {launch.end:,} ({launch.cycles:,})"
            )
    for number, core in enumerate(result.cores):
        counts = ", ".join(f"{name} {count}" for name, count in core.instructions.items())
        place = f" (partition {core.partition})" if partitioned else ""
        lines.append(f"Core {number}{place}: {core.work_items} work-items; {counts}; skipped {core.skipped_computes}")
        lines.append(f"  {'issue':<18}{share(core.issue_cycles)}")
        for array, busy in enumerate(core.array_busy):
            lines.append(f"  {f'array {array} busy':<18}{share(busy)}")
        lines.append(f"  {'vector busy':<18}{share(core.vector_busy)}")
        lines.append(f"  {'DMA busy':<18}{share(core.dma_busy)}")
        lines.append(f"  {'idle':<18}{share(core.idle_cycles)}")
        lines += [f"  {'stall ' + name:<18}{share(cycles)}" for name, cycles in core.stalls.items()]
    for network in ("requests", "replies"):
        links = [link for link in result.links if link.network == network]
        if not links or not result.machine:
            continue
        busiest = max(links, key=lambda link: link.flits)
        lines.append(
            f"Interconnect, {network}: {len(links)} links used; busiest {busiest.source} to {busiest.destination}, "
            f"{busiest.flits:,} flits, {100 * result.link_utilization(busiest):.2f} % of its cycles"
        )
    lines.append(f"{'DRAM channel':<14}{'GB/s':>8}{'reads':>10}{'writes':>10}{'hits':>10}{'misses':>10}{'conflicts':>10}")
    for number, channel in enumerate(result.channels):
        counts = (channel.reads, channel.writes, channel.row_hits, channel.row_misses, channel.row_conflicts)
        lines.append(f"{number:<14}{result.channel_bandwidth_gbps(number):>8.2f}" + "".join(f"{count:>10}" for count in counts))
    return "\n".join(lines)
