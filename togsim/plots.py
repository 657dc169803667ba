"""Pictures of results: where cycles went, roofline, timeline. PNG or SVG by the ending of the path; matplotlib is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from togsim import timeline as timelines
from togsim.errors import TogsimError
from togsim.peaks import array_operations, peaks
from togsim.plotting import PALETTE, figure, save
from togsim.stats import Result
from togsim.timeline_picture import draw_timeline

CAUSES = ("issue", "dependency", "weight_slot", "capacity", "dma_queue", "noc", "dram", "idle")
_CAUSE_COLOURS: dict[str, str] = dict(zip(CAUSES, ("#333333", *PALETTE[:6], "#e4e4e4")))


def cycle_shares(result: Result) -> dict[str, float]:
    """Share of the cores' cycles by what they did: issue, a stall cause, idle. They add up to 1."""
    total = result.cycles * len(result.cores) or 1
    stalls = result.stalls
    issue = sum(core.issue_cycles for core in result.cores)
    idle = sum(core.idle_cycles for core in result.cores)
    return {name: {"issue": issue, "idle": idle, **stalls}.get(name, 0) / total for name in CAUSES}


def busy_shares(result: Result) -> dict[str, float]:
    """Busy share of arrays, vector unit, DMA engine (means over the cores) and of the DRAM's peak bandwidth."""
    cycles = result.cycles * len(result.cores) or 1
    arrays = [busy for core in result.cores for busy in core.array_busy]
    return {
        "arrays": sum(arrays) / (len(arrays) * result.cycles or 1),
        "vector": sum(core.vector_busy for core in result.cores) / cycles,
        "DMA": sum(core.dma_busy for core in result.cores) / cycles,
        "DRAM": result.bandwidth_gbps / peaks(result.machine).gbps,
    }


def draw_utilization(path: Path, results: Sequence[Result]) -> None:
    """Two bars a kernel: what the cores' cycles went to, and how busy each kind of unit was."""
    fig, (top, bottom) = figure(8, 1.9 + 0.62 * len(results), 2, sharex=True)
    names = [result.kernel or f"kernel {k}" for k, result in enumerate(results)]
    labelled: set[str] = set()
    for row, result in enumerate(results):
        left = 0.0
        for cause, share in cycle_shares(result).items():
            if share == 0:
                continue
            label = None if cause in labelled else cause.replace("_", " ")
            labelled.add(cause)
            top.barh(row, share, left=left, height=0.6, color=_CAUSE_COLOURS[cause], label=label)
            left += share
    for unit, colour in zip(("arrays", "vector", "DMA", "DRAM"), PALETTE):
        offset = ("arrays", "vector", "DMA", "DRAM").index(unit)
        shares = [busy_shares(result)[unit] for result in results]
        places = [row + 0.2 * (offset - 1.5) for row in range(len(results))]
        bottom.barh(places, shares, height=0.18, color=colour, label="DRAM bandwidth" if unit == "DRAM" else unit)
        for place, share in zip(places, shares):
            bottom.text(share + 0.005, place, f"{share:.0%}", va="center", fontsize=7)
    for axes, title in ((top, "cycles of the cores: issue, stalls by cause, idle"), (bottom, "busy share of the units")):
        axes.set_yticks(range(len(results)), names)
        axes.set_ylim(len(results) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.grid(visible=False, axis="y")
        axes.set_title(title, loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.04, 0.5), frameon=False, fontsize=8)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    save(fig, path)


def draw_roofline(path: Path, results: Sequence[Result]) -> None:
    """Array operations per second over operations per DRAM byte, below the roof of the machine.

    Kernels without array work have no place on it and are named below the picture.

    Raises:
        TogsimError: the results are of different machines.
    """
    if len({str(sorted(result.machine.items())) for result in results}) != 1:
        raise TogsimError("a roofline is of one machine", expected="results of the same machine", found=f"{len(results)} results")
    roof = peaks(results[0].machine)
    placed: list[tuple[str, float, float]] = []
    without: list[str] = []
    for number, result in enumerate(results):
        name = result.kernel or f"kernel {number}"
        moved, operations = result.bytes_read + result.bytes_written, array_operations(result)
        if not (operations and moved and result.cycles):
            without.append(name)
            continue
        placed.append((name, operations / moved, operations * result.core_freq_mhz / (result.cycles * 1000)))
    low = min([roof.ridge / 16, *(x / 2 for _, x, _ in placed)])
    high = max([roof.ridge * 16, *(x * 2 for _, x, _ in placed)])
    fig, axes = figure(7, 4.4)
    axes.plot([low, roof.ridge, high], [low * roof.gbps, roof.gops, roof.gops], color="#333333", linewidth=1.6)
    for number, (name, x, y) in enumerate(placed):
        bound = min(roof.gops, x * roof.gbps)
        colour = PALETTE[number % len(PALETTE)]
        axes.plot([x, x], [y, bound], color=colour, linewidth=0.8, linestyle=":")
        axes.plot(x, y, "o", color=colour, label=f"{name}: {y:,.0f} GOP/s, {y / bound:.0%} of its roof")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.annotate(
        f"{roof.gbps:,.0f} GB/s",
        (low * 1.2, low * 1.2 * roof.gbps),
        rotation=0,
        va="top",
        ha="left",
        xytext=(6, -4),
        textcoords="offset points",
    )
    axes.annotate(f"{roof.gops:,.0f} GOP/s", (high, roof.gops), va="bottom", ha="right", xytext=(0, 3), textcoords="offset points")
    axes.set_xlabel("array operations per DRAM byte" + (f"\n(no array work: {', '.join(without)})" if without else ""))
    axes.set_ylabel("array operations, 10⁹ per second")
    axes.set_title("Roofline", loc="left")
    if placed:
        axes.legend(loc="lower right", fontsize=7.5, frameon=False)
    save(fig, path)


def write_all(folder: Path, results: Sequence[Result], timeline: dict[str, Any] | None = None, kind: str = "png") -> list[Path]:
    """Utilisation and roofline of some kernels of one machine, and the picture of a timeline; returns the files."""
    paths = [folder / f"{name}.{kind}" for name in ("utilization", "roofline")]
    draw_utilization(paths[0], results)
    draw_roofline(paths[1], results)
    if timeline is None and len(results) == 1 and results[0].events:
        timeline = timelines.from_result(results[0])
    if timeline is not None:
        paths.append(folder / f"timeline.{kind}")
        draw_timeline(paths[-1], timeline)
    return paths
