"""Command line of the timing simulator, without torch and without the compiler.

Exit codes: 0 success, 1 the trace cannot be simulated, 2 wrong usage (unknown option, machine or file).
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from togsim import saved, timeline
from togsim._core import MAX_RECORDS
from togsim.errors import ConfigError, TogsimError
from togsim.guard import guarded
from togsim.machines import load_machine_file
from togsim.simulator import Simulator

_MODES = ("fast", "forced_scan", "cycle_by_cycle")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m togsim", description="Simulate the time of saved traces (docs/togsim.md).")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="simulate a saved trace and print its statistics")
    run.add_argument("trace", type=Path, help="folder of a saved trace, or its trace.json or producer.so")
    run.add_argument("--machine", "-m", help="name in configs/ or path of a YAML file (default: the machine it was saved on)")
    run.add_argument("--json", type=Path, metavar="F", help="write the statistics as JSON")
    run.add_argument("--timeline", type=Path, metavar="F", help="write a timeline for ui.perfetto.dev")
    run.add_argument("--trace-log", type=Path, metavar="F", help="write the event log")
    run.add_argument("--plots", type=Path, metavar="DIR", help="write pictures: utilisation, roofline, timeline (needs matplotlib)")
    run.add_argument("--cycle-table", type=Path, metavar="F", help="a bare producer.so: its cycles<TAB>overlapping per block")
    run.add_argument("--bases", type=_addresses, default=(), metavar="A,B,..", help="a bare producer.so: device address of each tensor")
    run.add_argument("--mode", choices=_MODES, default="fast", help="fast, or a slow reference mode with the same result")
    run.add_argument("--timeout", type=float, default=3600.0, metavar="S", help="stop after so many seconds (default 3600; 0: never)")
    run.add_argument(
        "--max-records", type=_positive, default=MAX_RECORDS, metavar="N",
        help=f"refuse a producer with more records in a work-item, or more work-items (default {MAX_RECORDS})",
    )  # fmt: skip
    rebuild = commands.add_parser("timeline", help="make a timeline from the text of an event log")
    rebuild.add_argument("log", type=Path)
    rebuild.add_argument("out", type=Path)
    return parser


def _addresses(text: str) -> tuple[int, ...]:
    values = tuple(int(part, 0) for part in text.split(","))
    if not all(0 <= value < 2**63 for value in values):
        raise ValueError(text)
    return values


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options = _parser().parse_args(arguments)
    if options.command == "timeline":
        return _reported(lambda: timeline.write(options.out, timeline.from_log(options.log.read_text(encoding="utf-8"))))
    return guarded(lambda: _reported(lambda: run(options)), options.timeout)


def _reported(body: Any) -> int:
    """Run ``body``; errors that are meant for the user go to standard error."""
    try:
        body()
    except ConfigError as error:
        print(f"ConfigError: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1  # whoever read the output has seen enough
    except (TogsimError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _trace_and_machine(options: argparse.Namespace) -> tuple[saved.SavedTrace, Mapping[str, Any]]:
    chosen = load_machine_file(options.machine) if options.machine is not None else None
    if options.cycle_table is not None:
        if chosen is None:
            raise ConfigError("a bare producer names no machine", expected="--machine", hint="pass the machine that it was compiled for")
        return saved.bare(options.trace, options.cycle_table, options.bases, chosen), chosen
    trace = saved.load(options.trace)
    return trace, saved.for_machine(trace, chosen) if chosen is not None else trace.machine


def run(options: argparse.Namespace) -> None:
    """Simulate one saved trace and write what was asked for."""
    trace, machine = _trace_and_machine(options)
    simulator = Simulator(machine)
    events = options.timeline is not None or options.plots is not None
    result = simulator.run_producer(
        trace.producer(max_records=options.max_records),
        trace.bases,
        trace.cycle_table,
        mode=options.mode,
        trace_log=options.trace_log is not None,
        timeline=events,
    )
    result = dataclasses.replace(result, kernel=trace.kernel)
    print(trace.kernel + (f" ({', '.join(trace.origins)})" if trace.origins else ""))
    print(result.table())
    if result.unindexed_transfers:
        print(
            f"warning: {result.unindexed_transfers:,} of {result.indirect_transfers:,} indirect transfers have no index values and are "
            "timed as dense ones: the cycles are approximate",
            file=sys.stderr,
        )
    if options.json is not None:
        options.json.write_text(result.to_json() + "\n", encoding="utf-8")
    if options.timeline is not None:
        timeline.write(options.timeline, timeline.from_result(result))
    if options.trace_log is not None:
        options.trace_log.write_text(result.log, encoding="utf-8")
    if options.plots is not None:
        from togsim import plots  # matplotlib: only for those who ask for pictures

        for path in plots.write_all(options.plots, [result]):
            print(f"picture {path}")
