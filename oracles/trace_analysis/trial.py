"""One trace on one machine under every oracle: which of them object?

A right simulator draws no objection from any trace; a fault that is seeded into it should draw one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from oracles.trace_analysis.check import Table, analyse, analyse_order, analyse_run
from oracles.trace_analysis.properties import check_properties
from togsim import ConfigError, Record, Result, Simulator, TogsimError, synthetic_producer
from togsim.simulator import Mode
from torchsim.errors import DivergenceError

Faults = Mapping[str, Any]
REFERENCE_MODES: tuple[Mode, ...] = ("forced_scan", "cycle_by_cycle")


@dataclass(frozen=True)
class Case:
    """A trace with what it needs to run."""

    machine: Mapping[str, Any]
    records: Sequence[Record]
    bases: Sequence[int]
    table: Table
    known: Mapping[str, int] = field(default_factory=dict[str, int])
    """Log tag -> cycle of its first event, where a closed form is known."""


def comparable(result: Result) -> dict[str, Any]:
    """Everything but what the simulation cost: counters of the issue logic, cycles that were looked at."""
    data = {f.name: getattr(result, f.name) for f in fields(result) if f.name != "steps"}
    return data | {"cores": [replace(core, scans=0, entries_examined=0, missed_wakes=0) for core in result.cores]}


def objections(case: Case, faults: Faults | None = None) -> dict[str, str]:
    """Oracle -> its objection; ``faults`` are seeded into everything that the simulator does.

    The oracles: ``analyser`` (dependency closures and footprints), ``forced scan`` and ``cycle by cycle`` (equal results, no missed
    wake-up), ``reference core`` (scratchpad bytes, and cycle and order of every issue and completion), ``properties`` (bounds and
    conservation), ``closed form`` (cycles known by arithmetic), ``guard`` (the simulator's own errors).
    """
    simulator = Simulator(case.machine)
    producer = synthetic_producer(case.records)
    items = analyse(case.records, case.bases)
    found: dict[str, str] = {}

    def ask(oracle: str, question: Callable[[], None]) -> None:
        try:
            question()
        except DivergenceError as error:
            found.setdefault(oracle, error.summary)
        except ConfigError:
            if not faults:
                raise  # under a fault: a figure of this machine was shifted to an impossible one, which proves nothing
        except TogsimError as error:
            found.setdefault("guard", f"{type(error).__name__}: {error.summary}")

    def run(mode: Mode) -> Result:
        return simulator.run_producer(producer, case.bases, case.table, mode=mode, timeline=True, issue_order=True, faults=faults)

    ask("analyser", lambda: analyse_order(simulator, producer, case.bases, case.table, items, faults))
    results: dict[str, Result] = {}
    for mode in ("fast", *REFERENCE_MODES):
        ask("guard", lambda mode=mode: results.update({mode: run(mode)}))
    if "fast" in results:
        ask("reference core", lambda: analyse_run(simulator, results["fast"], case.table, items))
        ask("closed form", lambda: _known(case, results["fast"]))
        ask("properties", lambda: check_properties(simulator, results["fast"], case.table, items))
    for mode in REFERENCE_MODES:
        if mode in results:
            ask(mode.replace("_", " "), lambda mode=mode: _compare(mode, results.get("fast"), results[mode]))
    return found


def _known(case: Case, result: Result) -> None:
    for tag, cycle in case.known.items():
        found = next(event.cycle for event in result.events if event.tag == tag)
        if found != cycle:
            raise DivergenceError(f"the closed form of {tag} differs", expected=str(cycle), found=str(found))


def _compare(mode: str, fast: Result | None, slow: Result) -> None:
    if fast is None:
        raise DivergenceError(f"the fast mode stops where {mode} goes on")
    missed = sum(core.missed_wakes for core in slow.cores)
    if missed:
        raise DivergenceError("gating would have missed issues", expected="0", found=str(missed), where=mode)
    left, right = comparable(fast), comparable(slow)
    different = [key for key in left if left[key] != right[key]]
    if different:
        raise DivergenceError(f"the fast mode differs from {mode}", expected="equal results", found=", ".join(different))
