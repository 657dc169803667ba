"""Simulate a kernel: producer, tensor addresses and cycle table in, cycles and counters out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from togsim import _core
from togsim.config import SimConfig, sim_config
from togsim.launches import IndexValues, Launch
from togsim.stats import Result, result_from_core

Mode = Literal["fast", "forced_scan", "cycle_by_cycle"]
CycleTable = Sequence[tuple[int, int]]
"""Per block id: latency and overlapping cycles."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the dependency rule made of one work-item. Instructions are named by their record index in the work-item."""

    instructions: list[tuple[int, str]]
    """(record, opcode) of every instruction."""
    edges: list[tuple[int, str, int]]
    """(producer, "ISSUE" or "DONE", consumer)."""
    footprint: int
    """Distinct scratchpad bytes per lane."""


class Simulator:
    """One machine.

    Args:
        config: mapping of machine keys (``torchsim.Machine.model_dump()`` or a loaded machine file).

    Raises:
        ConfigError: a key or figure that cannot be simulated.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config: SimConfig = sim_config(config)

    def run(
        self,
        kernel_fn: int,
        abi_fn: int,
        shape_args: Sequence[int],
        bases: Sequence[int],
        cycle_table: CycleTable,
        *,
        mode: Mode = "fast",
        trace_log: bool = False,
        timeline: bool = False,
        issue_order: bool = False,
        faults: Mapping[str, Any] | None = None,
        partition: int = 0,
        indices: IndexValues | None = None,
        max_records: int = _core.MAX_RECORDS,
    ) -> Result:
        """Simulate a compiled producer given by the addresses of its two functions.

        Args:
            kernel_fn: address of ``togsim_kernel``.
            abi_fn: address of ``togsim_abi_version``.
            shape_args: passed to the kernel.
            bases: device address of every tensor argument.
            cycle_table: latency and overlapping cycles of every block id.
            mode: "fast", or one of the slow reference modes that give the same result.
            trace_log: format the event log into ``Result.log``.
            timeline: keep the events (``Result.events``) for ``togsim.timeline``.
            issue_order: keep (cycle, core, work-item, record) of every issue, and the scratchpad bytes that work-items hold.
            faults: deliberate faults, see docs/togsim-faults.md.
            partition: whose cores run it.
            indices: addresses of its indirect transfers.
            max_records: records of a work-item, and work-items, from which on the producer is taken to run away. One that loops without
                a word cannot be stopped from inside its own process; ``togsim.isolated`` has a time limit.

        Raises:
            TraceError: a stale, malformed or runaway producer, a degenerate trace.
            DeadlockError: nothing can make progress.
        """
        producer = _core.CompiledProducer(kernel_fn, abi_fn, list(shape_args), max_records)
        return self.run_producer(
            producer,
            bases,
            cycle_table,
            mode=mode,
            trace_log=trace_log,
            timeline=timeline,
            issue_order=issue_order,
            faults=faults,
            partition=partition,
            indices=indices,
        )

    def run_producer(
        self,
        producer: _core.Producer,
        bases: Sequence[int],
        cycle_table: CycleTable,
        *,
        mode: Mode = "fast",
        trace_log: bool = False,
        timeline: bool = False,
        issue_order: bool = False,
        faults: Mapping[str, Any] | None = None,
        partition: int = 0,
        indices: IndexValues | None = None,
    ) -> Result:
        """Simulate any producer object on one partition, the others idle; see ``run``."""
        launch = Launch(producer, bases, cycle_table, partition, 0, indices or IndexValues())
        return self.run_launches([launch], mode=mode, trace_log=trace_log, timeline=timeline, issue_order=issue_order, faults=faults)

    def run_launches(
        self,
        launches: Sequence[Launch],
        *,
        mode: Mode = "fast",
        trace_log: bool = False,
        timeline: bool = False,
        issue_order: bool = False,
        faults: Mapping[str, Any] | None = None,
    ) -> Result:
        """Simulate several kernel calls that share the machine: those of one partition in turn, partitions side by side.

        Raises:
            ConfigError: a launch on a partition that the machine does not have.
            TraceError: a degenerate trace, index values that do not fit it.
            DeadlockError: nothing can make progress.
        """
        raw = _core.simulate(
            self.config.to_core(), [launch.to_core() for launch in launches], mode, trace_log, timeline, issue_order, dict(faults or {})
        )
        raw["index_sources"] = sorted({launch.indices.source for launch in launches if launch.indices.offsets})
        return result_from_core(raw, asdict(self.config))

    def dependencies(
        self,
        producer: _core.Producer,
        item: int,
        bases: Sequence[int],
        cycle_table: CycleTable,
        *,
        faults: Mapping[str, Any] | None = None,
    ) -> Dependencies:
        """The dependency graph of one work-item, as the simulator uses it.

        Raises:
            TraceError: no such work-item, a degenerate trace.
        """
        raw = _core.dependencies(producer, item, list(bases), list(cycle_table), self.config.spad_bytes_per_lane, dict(faults or {}))
        return Dependencies(raw["instructions"], raw["edges"], raw["footprint"])
