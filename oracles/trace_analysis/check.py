"""Hold a producer's dependency graph, and a run of it, against the independent analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import togsim
from oracles.trace_analysis.occupancy import replay
from oracles.trace_analysis.order import closures
from oracles.trace_analysis.reference_core import Key, Memory, ReferenceCore
from oracles.trace_analysis.work_item import WorkItemAnalysis
from togsim import Dma, Record, Result, Simulator
from togsim._core import Producer
from torchsim.errors import DivergenceError

Table = Sequence[tuple[int, int]]


def analyse(records: Sequence[Record], bases: Sequence[int]) -> list[WorkItemAnalysis]:
    """The analysis of every work-item of a trace."""
    return [WorkItemAnalysis(item[1:-1], bases) for item in togsim.Records(tuple(records)).work_items()]


def analyse_order(
    simulator: Simulator,
    producer: Producer,
    bases: Sequence[int],
    table: Table,
    items: Sequence[WorkItemAnalysis],
    faults: Mapping[str, Any] | None = None,
) -> None:
    """Instructions, footprint and the transitive closure of the dependencies of every work-item.

    Raises:
        DivergenceError: an ordering that the rule guarantees is missing, too weak, or one too many.
    """
    for number, item in enumerate(items):
        graph = simulator.dependencies(producer, number, bases, table, faults=faults)
        where = f"work-item {number}"
        if [record for record, _ in graph.instructions] != item.instructions:
            raise DivergenceError("instructions differ", expected=str(item.instructions), found=str(graph.instructions), where=where)
        if graph.footprint != item.footprint:
            raise DivergenceError("footprint differs", expected=str(item.footprint), found=str(graph.footprint), where=where)
        needs: dict[int, list[tuple[int, str]]] = {}
        for before, event, after in graph.edges:
            needs.setdefault(after, []).append((before, event))
        expected = closures(item.instructions, item.needs, item.transfers_of)
        found = closures(item.instructions, needs, item.transfers_of)
        for record in item.instructions:
            if expected[record] != found[record]:
                raise DivergenceError(
                    "the orderings of the bridge differ from the analysis",
                    expected=f"also {sorted(expected[record] - found[record])}",
                    found=f"also {sorted(found[record] - expected[record])}",
                    where=f"{where}, record {record}",
                )


def analyse_run(simulator: Simulator, result: Result, table: Table, items: Sequence[WorkItemAnalysis]) -> None:
    """Scratchpad bytes, order and cycle of every issue, every completion, and the cycles of every core.

    ``result`` must come from a run with ``issue_order`` and ``timeline``.

    Raises:
        DivergenceError: the run differs from the reference core in anything.
    """
    replay(items, result.held, simulator.config.spad_bytes_per_lane)
    name: dict[int, Key] = {e.inst: (e.get("item"), e.get("record")) for e in result.events if e.tag == "INST_ISSUED"}
    at: dict[str, dict[Key, int]] = {}
    arrays: dict[Key, int] = {}
    dispatched: dict[int, list[int]] = {core: [] for core in range(len(result.cores))}
    for event in result.events:
        if event.tag == "TILE_SCHEDULED":
            dispatched[event.core].append(event.get("item"))
        elif event.opcode != "TILE":
            at.setdefault(event.tag, {})[name[event.inst]] = event.cycle
            if event.tag == "INST_ISSUED" and event.get("sa", -1) >= 0:
                arrays[name[event.inst]] = event.get("sa")
    memory = Memory(at.get("DMA_INJECTED", {}), at.get("DRAM_RESP_DONE", {}))
    for core, numbers in dispatched.items():
        reference = ReferenceCore(simulator.config, table, [(n, items[n]) for n in numbers], memory).run()
        mine = set(numbers)

        def own(found: Mapping[Key, int], mine: set[int] = mine) -> dict[Key, int]:
            return {key: value for key, value in found.items() if key[0] in mine}

        issues = [(cycle, item, record) for cycle, c, item, record in result.issue_order if c == core]
        _equal(f"issue order of core {core}", reference.issues, issues)
        _equal(f"completions of core {core}", sorted(reference.finished.items()), sorted(own(at.get("INST_FINISHED", {})).items()))
        _equal(f"arrays of core {core}", sorted(reference.array.items()), sorted(own(arrays).items()))
        _equal(f"transfer starts of core {core}", sorted(reference.started.items()), sorted(own(at.get("DMA_START", {})).items()))
        _equal(f"cycles of core {core}", [reference.cycles], [result.cores[core].cycles])
    _check_injection(simulator, items, at)


def _equal(what: str, expected: Sequence[object], found: Sequence[object]) -> None:
    if list(expected) == list(found):
        return
    pairs = zip([*expected, None], [*found, None], strict=False)
    first = next((n, e, f) for n, (e, f) in enumerate(pairs) if e != f)
    raise DivergenceError(f"{what} differs from the reference core", expected=str(first[1]), found=str(first[2]), where=f"entry {first[0]}")


def _check_injection(simulator: Simulator, items: Sequence[WorkItemAnalysis], at: Mapping[str, Mapping[Key, int]]) -> None:
    """The engine cannot send faster than its ports, nor an answer come before there and back."""
    config = simulator.config
    for (number, record), started in at.get("DMA_START", {}).items():
        transfer = items[number].records[record]
        assert isinstance(transfer, Dma)
        requests = items[number].granules(record, config.dram_req_size_byte)
        least = max(1, -(-requests // config.icnt_injection_ports_per_core))
        injected = at["DMA_INJECTED"][number, record]
        where = f"work-item {number}, record {record}"
        if injected - started + 1 < least:
            raise DivergenceError(
                "requests leave faster than the ports allow", expected=f"{least} cycles", found=str(injected - started + 1), where=where
            )
        arrived = at.get("DRAM_RESP_DONE", {}).get((number, record))
        if (arrived is None) != (requests == 0):
            raise DivergenceError(
                "answers and requests do not match", expected=f"{requests} requests", found=f"answered in {arrived}", where=where
            )
        way = 2 * config.icnt_latency_cycles * config.core_freq_mhz / config.icnt_freq_mhz
        if arrived is not None and arrived - injected < int(way):
            raise DivergenceError(
                "an answer came before its way through the interconnect",
                expected=f"{int(way)} cycles",
                found=str(arrived - injected),
                where=where,
            )
