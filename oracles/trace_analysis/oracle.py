"""Compiled kernels under the independent analysis (requirements H-5, H-7), as an observer of kernel calls.

The closures of the dependency graph, footprints and the properties of the run are checked for every kernel. The second core model scans
every instruction in every cycle, so it runs only for kernels of at most ``MOST_RECORDS`` records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oracles.trace_analysis.check import analyse, analyse_order, analyse_run
from oracles.trace_analysis.properties import check_properties
from togsim import Simulator, records_of
from togsim._core import CompiledProducer
from torchsim.errors import DivergenceError
from torchsim.runtime.launch import Call, Launch, Observer
from torchsim.runtime.timing import producer

MOST_RECORDS = 200


class TraceAnalysisOracle(Observer):
    """Analyses the trace of every distinct kernel call."""

    def __init__(self) -> None:
        self.checked = 0
        self._seen: set[tuple[str, tuple[int, ...]]] = set()

    def after(self, launch: Launch) -> float | None:
        """Hold bridge and core against the analysis.

        Raises:
            DivergenceError: an ordering, a footprint, a figure of the run or a cycle of the core differs.
        """
        key = (launch.call.kernel.key, launch.call.bases)
        if launch.options.timing and key not in self._seen:
            self._seen.add(key)
            analyse_call(launch.call)
            self.checked += 1
        return None


def analyse_call(call: Call, faults: Mapping[str, Any] | None = None) -> None:
    """Analyse one kernel call; ``faults`` are seeded into the simulator.

    Raises:
        DivergenceError: see ``TraceAnalysisOracle.after``.
    """
    kernel, bases, table = call.kernel, call.bases, call.kernel.cycle_table.rows
    made = producer(kernel)
    trace = CompiledProducer(made.kernel_address, made.abi_address, [])
    simulator = Simulator(kernel.machine.model_dump())
    records = records_of(trace)
    items = analyse(list(records), bases)
    try:
        analyse_order(simulator, trace, bases, table, items, faults)
        result = simulator.run_producer(trace, bases, table, timeline=True, issue_order=True, faults=faults)
        check_properties(simulator, result, table, items)
        if len(records) <= MOST_RECORDS:
            analyse_run(simulator, result, table, items)
    except DivergenceError as error:
        where = f"kernel {kernel.plan.name}, {error.where}" if error.where else f"kernel {kernel.plan.name}"
        raise DivergenceError(error.summary, expected=error.expected, found=error.found, where=where, hint=error.hint) from error
