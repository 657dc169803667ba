"""Picture of the accuracy table: signed error of every simulator, workload by workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from togsim.plotting import PALETTE, figure, save
from torchsim.accuracy.measure import Measurement
from torchsim.accuracy.reference import simulators
from torchsim.accuracy.summary import OURS

_LIMIT = 1.2
"""Errors beyond this are cut off at the edge and written as text."""


def draw(path: Path, measurements: Sequence[Measurement], machine: str) -> None:
    """Grouped bars, one group a workload; the shaded background marks the held-out rows."""
    fig, axes = figure(11, 4.6)
    colours = dict(zip([OURS, *simulators()], PALETTE))
    labelled: set[str] = set()
    for place, one in enumerate(measurements):
        present = [OURS, *one.row.others]
        width = 0.86 / max(len(present), 3)
        if one.row.held_out:
            axes.axvspan(place - 0.5, place + 0.5, color="#f1efe9", zorder=0)
        for number, name in enumerate(present):
            error = one.error if name == OURS else one.row.others[name] / one.row.measured - 1
            x = place + (number + 0.5 - len(present) / 2) * width
            label = None if name in labelled else name
            labelled.add(name)
            axes.bar(x, min(error, _LIMIT), 0.92 * width, color=colours[name], label=label, zorder=3)
            if name == OURS or error > _LIMIT:
                top = min(error, _LIMIT) + 0.015 if error >= 0 else error - 0.015
                axes.text(x, top, f"{error:+.0%}", ha="center", va="bottom" if error >= 0 else "top", fontsize=7.5, color=colours[name])
    axes.axhline(0, color="#333333", linewidth=1, zorder=4)
    axes.set_xlim(-0.5, len(measurements) - 0.5)
    axes.set_ylim(-1.05, _LIMIT + 0.12)
    axes.set_xticks(range(len(measurements)), [_short(one.row.workload) for one in measurements], fontsize=8)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+.0%}" if value else "0")
    axes.set_ylabel("error of simulated cycles")
    axes.set_title(f"Simulated against measured cycles of a TPUv3 core (machine {machine}; shaded: held-out rows)", loc="left")
    axes.legend(loc="lower right", fontsize=8, frameon=False, title="no value for softmax and layer norm but ours", title_fontsize=8)
    save(fig, path)


def _short(workload: str) -> str:
    """Two lines: family, sizes; a cube as one size."""
    family, sizes = workload.split("_", 1)
    parts = sizes.split("x")
    return f"{family}\n{parts[0]}³" if len(parts) == 3 and len(set(parts)) == 1 else f"{family}\n{sizes}"
