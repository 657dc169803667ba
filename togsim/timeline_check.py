"""The rules of the Chrome trace event format that a timeline must keep, so that every viewer shows it as meant."""

from __future__ import annotations

from collections import Counter
from typing import Any

_NEEDED = {
    "X": ("pid", "tid", "ts", "dur", "name"),
    "b": ("pid", "ts", "id", "cat", "name"),
    "n": ("pid", "ts", "id", "cat", "name"),
    "e": ("pid", "ts", "id", "cat", "name"),
    "s": ("pid", "tid", "ts", "id", "cat", "name"),
    "f": ("pid", "tid", "ts", "id", "cat", "name", "bp"),
    "C": ("pid", "ts", "name", "args"),
    "M": ("pid", "name", "args"),
}
_METADATA = ("process_name", "thread_name", "process_sort_index", "thread_sort_index")
_Span = tuple[int, int]


def faults(timeline: dict[str, Any]) -> list[str]:
    """Every rule that ``timeline`` breaks, in words; empty for a timeline that is right."""
    found: list[str] = []
    good: list[dict[str, Any]] = []
    for number, event in enumerate(timeline.get("traceEvents", ())):
        wrong = _event_fault(event)
        if wrong:
            found.append(f"event {number}: {wrong}")
        else:
            good.append(event)
    if not good:
        found.append("no events")
    slices = _slices(good)
    return found + _nesting_faults(slices) + _asynchronous_faults(good) + _flow_faults(good, slices)


def _event_fault(event: dict[str, Any]) -> str:
    """What is wrong with one event alone."""
    phase = event.get("ph")
    if phase not in _NEEDED:
        return f"unknown phase {phase!r}"
    missing = [key for key in _NEEDED[phase] if key not in event]
    if missing:
        return f"{phase} without {', '.join(missing)}"
    for key in ("ts", "dur"):
        if key in event and (not isinstance(event[key], int) or event[key] < 0):
            return f"{key} is {event[key]!r}"
    if phase == "C" and not (event["args"] and all(isinstance(value, int | float) for value in event["args"].values())):
        return "a counter without numbers"
    if phase == "M" and (event["name"] not in _METADATA or not event["args"]):
        return f"unknown metadata {event['name']!r}"
    return ""


def _slices(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[_Span]]:
    lanes: dict[tuple[int, int], list[_Span]] = {}
    for event in events:
        if event["ph"] == "X":
            lanes.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    return lanes


def _nesting_faults(lanes: dict[tuple[int, int], list[_Span]]) -> list[str]:
    """Slices of one lane lie beside or inside each other."""
    found: list[str] = []
    for lane, spans in lanes.items():
        open_ends: list[int] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                found.append(f"lane {lane}: the slice at {start} ends at {end}, after {open_ends[-1]} of the slice around it")
            open_ends.append(end)
    return found


def _asynchronous_faults(events: list[dict[str, Any]]) -> list[str]:
    """Every beginning has one end, not before it."""
    begin: dict[Any, int] = {}
    end: dict[Any, int] = {}
    found: list[str] = []
    for event in events:
        if event["ph"] in "be":
            table, key = (begin if event["ph"] == "b" else end), (event["pid"], event["cat"], event["id"], event["name"])
            if key in table:
                found.append(f"asynchronous {key}: {event['ph']} twice")
            table[key] = event["ts"]
    found += [f"asynchronous {key}: not begun and ended once" for key in begin.keys() ^ end.keys()]
    return found + [f"asynchronous {key}: ends before it begins" for key in begin.keys() & end.keys() if end[key] < begin[key]]


def _flow_faults(events: list[dict[str, Any]], lanes: dict[tuple[int, int], list[_Span]]) -> list[str]:
    """Every flow starts once and ends once, later or at the same time, and both ends lie in slices."""
    found: list[str] = []
    times: dict[Any, dict[str, int]] = {}
    counts: Counter[tuple[Any, str]] = Counter()
    edges = {lane: (sorted(spans), set(spans)) for lane, spans in lanes.items()}
    for event in events:
        if event["ph"] not in "sf":
            continue
        key = (event["cat"], event["id"])
        counts[key, event["ph"]] += 1
        times.setdefault(key, {})[event["ph"]] = event["ts"]
        spans = edges.get((event["pid"], event["tid"]), ([], set()))[0]
        if not any(start <= event["ts"] <= end for start, end in spans):
            found.append(f"flow {key}: its {event['ph']} at {event['ts']} lies in no slice")
    for key, ends in times.items():
        if counts[key, "s"] != 1 or counts[key, "f"] != 1:
            found.append(f"flow {key}: {counts[key, 's']} starts, {counts[key, 'f']} ends")
        elif ends["f"] < ends["s"]:
            found.append(f"flow {key}: ends before it starts")
    return found
