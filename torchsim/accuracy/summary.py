"""Errors of all simulators over the same rows, and the table of them as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchsim.accuracy.measure import Measurement
from torchsim.accuracy.reference import Row, simulators

OURS = "torchsim"


def errors_of(name: str, measurements: Iterable[Measurement]) -> list[float]:
    """Signed errors of one simulator, ours included, over the rows for which it has a value."""
    found = list(measurements)
    if name == OURS:
        return [one.error for one in found]
    return [one.row.others[name] / one.row.measured - 1 for one in found if name in one.row.others]


def mean_error(errors: Sequence[float]) -> float | None:
    """Mean signed error; None without rows."""
    return sum(errors) / len(errors) if errors else None


def mean_absolute_error(errors: Sequence[float]) -> float | None:
    """Mean absolute error; None without rows."""
    return sum(map(abs, errors)) / len(errors) if errors else None


_SETS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("GEMM rows", lambda row: not row.held_out),
    ("held-out rows", lambda row: row.held_out),
    ("all rows run", lambda row: True),
)


def cells(measurements: Sequence[Measurement]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table: cycles and signed error of every simulator, then mean signed and mean absolute errors."""
    others = simulators()
    rows: list[list[str]] = []
    for one in measurements:
        name = one.row.workload + (" *" if one.row.held_out else "")
        line = [name, f"{one.row.measured:,}", f"{one.cycles:,} ({one.error:+.1%})"]
        for other in others:
            value = one.row.others.get(other)
            line.append("-" if value is None else f"{value:,} ({value / one.row.measured - 1:+.1%})")
        rows.append(line)
    for title, belongs in _SETS:
        chosen = [one for one in measurements if belongs(one.row)]
        if not chosen:
            continue
        for label, figure, sign in (("mean error", mean_error, "+"), ("mean absolute error", mean_absolute_error, "")):
            line = [f"{label}, {title} ({len(chosen)})", ""]
            for name in (OURS, *others):
                errors = errors_of(name, chosen)
                value = figure(errors)
                partial = f" [{len(errors)} rows]" if 0 < len(errors) < len(chosen) else ""
                line.append("-" if value is None else f"{value:{sign}.1%}{partial}")
            rows.append(line)
    return ["workload", "TPUv3", OURS, *others], rows


def text(measurements: Sequence[Measurement]) -> str:
    """The table for a terminal."""
    header, rows = cells(measurements)
    widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) if k == 0 else cell.rjust(width) for k, (cell, width) in enumerate(zip(line, widths)))
        for line in (header, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n* held out: no figure of the machine or of the models was chosen with this row"


def markdown(measurements: Sequence[Measurement]) -> str:
    """The table for docs/accuracy.md."""
    header, rows = cells(measurements)
    marks = ["---", *["---:"] * (len(header) - 1)]
    return "".join("| " + " | ".join(cell.replace("*", "\\*") for cell in line) + " |\n" for line in (header, marks, *rows))


def to_dict(measurements: Sequence[Measurement], machine: dict[str, Any]) -> dict[str, Any]:
    """JSON form; everything but ``cpu_seconds`` is the same in every run."""
    return {
        "machine": machine,
        "rows": [
            {
                "workload": one.row.workload,
                "held_out": one.row.held_out,
                "measured": one.row.measured,
                "cycles": one.cycles,
                "error": one.error,
                "kernels": one.kernels,
                "array_utilization": one.array_utilization,
                "stalls": one.stalls,
                "cpu_seconds": one.cpu_seconds,
                "others": one.row.others,
            }
            for one in measurements
        ],
        "mean_absolute_error": {
            title: {
                name: mean_absolute_error(errors_of(name, [one for one in measurements if belongs(one.row)]))
                for name in (OURS, *simulators())
            }
            for title, belongs in _SETS
        },
    }
