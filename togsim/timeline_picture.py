"""A timeline as a picture: one row for each lane, transfers in flight, and the load of the DRAM below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from togsim import timeline as timelines
from togsim.plotting import PALETTE, figure, save

_COLOURS = {"vector": PALETTE[2], "matmul": PALETTE[0], "preload": PALETTE[4], "MOVIN": PALETTE[1], "MOVOUT": PALETTE[3]}
_ITEM_COLOURS = ("#9db8cc", "#c9d8e3")
_Bar = tuple[int, int, str]


def draw_timeline(path: Path, timeline: dict[str, Any], begin: int = 0, end: int | None = None, title: str = "Timeline") -> None:
    """Draw the cycles [begin, end) of a timeline (default: all)."""
    events = [event for event in timeline["traceEvents"] if event["pid"] < timelines.DRAM_TRACK or event["ph"] == "C"]
    slices = [event for event in events if event["ph"] == "X" and event["pid"] < timelines.DRAM_TRACK]
    last = max((event["ts"] + event["dur"] for event in slices), default=1) if end is None else end
    rows = _rows(events, slices)
    counters = _load([event for event in events if event["ph"] == "C"])
    heights = [max(len(rows), 2), 2.2] if counters else [1]
    fig, both = figure(10, 1.3 + 0.34 * (len(rows) + 2.5 * bool(counters)), len(heights), sharex=True, height_ratios=heights)
    axes = both[0] if counters else both
    seen: dict[str, Any] = {}
    for row, (_, bars) in enumerate(rows):
        for start, stop, kind in bars:
            if stop <= begin or start >= last or stop == start:
                continue
            colour = _COLOURS.get(kind) or _ITEM_COLOURS[int(kind) % 2]
            (patch,) = axes.barh(
                row, stop - start, left=start, height=0.72, color=colour, edgecolor="white", linewidth=_edge(stop - start, last - begin)
            )
            if kind in _COLOURS:
                seen.setdefault(kind, patch)
            elif min(stop, last) - max(start, begin) > (last - begin) / 25:
                axes.text((max(start, begin) + min(stop, last)) / 2, row, f"item {kind}", ha="center", va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(begin, last)
    axes.grid(visible=False, axis="y")
    axes.set_title(title, loc="left")
    names = {"MOVIN": "load", "MOVOUT": "store"}
    axes.legend(
        seen.values(), [names.get(kind, kind) for kind in seen], loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8
    )
    bottom = axes
    if counters:
        bottom = both[1]
        times, shares = zip(*counters)
        bottom.fill_between(times, shares, step="post", color=PALETTE[5], alpha=0.8, linewidth=0)
        bottom.set_ylim(0, None)
        bottom.set_ylabel("DRAM\nrequests\nper cycle", fontsize=8)
    bottom.set_xlabel("core cycles")
    bottom.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    save(fig, path)


def _edge(width: int, shown: int) -> float:
    """Width of a bar's white edge: none on a bar that it would hide."""
    return 0.4 if width * 150 > shown else 0.0


def _rows(events: list[dict[str, Any]], slices: list[dict[str, Any]]) -> list[tuple[str, list[_Bar]]]:
    """Name and bars of every row: the lanes of each core in order, then its transfers in flight."""
    lane_names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event.get("name") == "thread_name"}
    cores = {core for core, _ in lane_names}
    rows: list[tuple[str, list[_Bar]]] = []
    for core, lane in sorted(lane_names):
        bars = [
            (event["ts"], event["ts"] + event["dur"], event["name"].split()[1 if lane < timelines.ITEM_LANES else 0])
            for event in slices
            if (event["pid"], event["tid"]) == (core, lane)
        ]
        if bars:
            prefix = f"core {core} " if len(cores) > 1 else ""
            rows.append((prefix + lane_names[core, lane], bars))
        if lane == timelines.STORE_LANE and (flying := _in_flight(events, core)):
            rows.append((f"core {core} in flight" if len(cores) > 1 else "transfers in flight", flying))
    return rows


def _in_flight(events: list[dict[str, Any]], core: int) -> list[_Bar]:
    """Cycles in which some load, or else some store, is between its first request and its last answer."""
    begins = {event["id"]: event for event in events if event["ph"] == "b" and event["pid"] == core}
    spans = [
        (begins[event["id"]]["ts"], event["ts"], event["name"].split()[0])
        for event in events
        if event["ph"] == "e" and event["pid"] == core
    ]
    merged: list[_Bar] = []
    for start, stop, kind in sorted(spans):
        if merged and merged[-1][2] == kind and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop), kind)
        else:
            merged.append((start, stop, kind))
    return merged


def _load(counters: list[dict[str, Any]]) -> list[tuple[int, float]]:
    """(cycle, requests per DRAM cycle of all channels together) at every change."""
    levels: dict[str, float] = {}
    found: list[tuple[int, float]] = []
    for event in sorted(counters, key=lambda event: event["ts"]):
        window = int(event["name"].split(" in ")[1].split()[0])
        levels[event["name"]] = event["args"]["requests"] / window
        if found and found[-1][0] == event["ts"]:
            found.pop()
        found.append((event["ts"], sum(levels.values())))
    return found
