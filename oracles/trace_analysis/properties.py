"""What every run must satisfy, whatever the schedule: conservation and lower bounds (requirement H-7)."""

from __future__ import annotations

from collections.abc import Sequence

from oracles.trace_analysis.work_item import WorkItemAnalysis
from togsim import Compute, ComputeType, Direction, Dma, Result, Simulator
from torchsim.errors import DivergenceError


def check_properties(simulator: Simulator, result: Result, table: Sequence[tuple[int, int]], items: Sequence[WorkItemAnalysis]) -> None:
    """Requests are the distinct granules demanded, every one is answered, no unit is busier than time allows, no path is too short.

    Raises:
        DivergenceError: the first property that does not hold.
    """
    config = simulator.config
    for direction, sent in ((Direction.LOAD, "read_requests"), (Direction.STORE, "write_requests")):
        demanded = sum(
            item.granules(i, config.dram_req_size_byte)
            for item in items
            for i, r in enumerate(item.records)
            if isinstance(r, Dma) and r.direction is direction
        )
        _expect(sent, demanded, sum(getattr(core, sent) for core in result.cores))
    transfers = [r for item in items for r in item.records if isinstance(r, Dma)]
    index_of = {Direction.LOAD: 0, Direction.STORE: 1}  # place of the index buffer among what a transfer reads
    indirect = sum(len({part.buffer for part in r.reads}) > index_of[r.direction] for r in transfers)
    _expect("indirect transfers", indirect, sum(core.indirect_transfers for core in result.cores))
    _expect("transfers timed as dense for want of index values", indirect, sum(core.unindexed_transfers for core in result.cores))
    reads, writes = (sum(getattr(core, name) for core in result.cores) for name in ("read_requests", "write_requests"))
    _expect("reads answered", reads, sum(channel.reads for channel in result.channels))
    _expect("writes answered", writes, sum(channel.writes for channel in result.channels))
    for core in result.cores:
        _expect("issue, idle and stall cycles", result.cycles, core.issue_cycles + core.idle_cycles + sum(core.stalls.values()))
        for busy in (core.vector_busy, *core.array_busy):
            _at_least("cycles of a run against a unit's busy time", busy, result.cycles)
        ports = config.icnt_injection_ports_per_core
        _at_least("DMA time against requests", -(-(core.read_requests + core.write_requests) // ports), core.dma_busy)
    vector = sum(
        table[r.block_id][0] - table[r.block_id][1]
        for item in items
        for r in item.records
        if isinstance(r, Compute) and r.compute_type is ComputeType.VECTOR
    )
    _expect("busy time of the vector units", vector, sum(core.vector_busy for core in result.cores))
    for item in items:
        _at_least("cycles of a run against a work-item's critical path", critical_path(item, table), result.cycles)


def critical_path(item: WorkItemAnalysis, table: Sequence[tuple[int, int]]) -> int:
    """Cycles that the chain of needs alone takes; a transfer counts one cycle, so this is a lower bound on any machine."""
    issue: dict[int, int] = {}
    done: dict[int, int] = {}
    for i in item.instructions:
        issue[i] = max((issue[p] if event == "ISSUE" else done[p] for p, event in item.needs[i]), default=0)
        record = item.records[i]
        if isinstance(record, Compute):
            done[i] = issue[i] + table[record.block_id][0]
        else:
            done[i] = max([issue[i], *(done[t] for t in item.transfers_of.get(i, []))])
            done[i] += isinstance(record, Dma)
    return max(done.values(), default=0)


def _expect(what: str, expected: int, found: int) -> None:
    if expected != found:
        raise DivergenceError(f"{what} do not add up", expected=str(expected), found=str(found))


def _at_least(what: str, bound: int, found: int) -> None:
    if found < bound:
        raise DivergenceError(f"below the lower bound: {what}", expected=f"at least {bound}", found=str(found))
