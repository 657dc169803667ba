"""Transitive closures of a dependency graph, over the events ISSUE and DONE of every instruction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oracles.trace_analysis.work_item import Event


def closures(
    instructions: Iterable[int], needs: Mapping[int, Iterable[Event]], transfers_of: Mapping[int, list[int]]
) -> dict[int, set[Event]]:
    """Record -> every event that comes before its issue, whatever the machine.

    Besides ``needs``: an instruction is DONE after its ISSUE, and a barrier is DONE when its transfers are.
    """
    issue: dict[int, set[Event]] = {}
    done: dict[int, set[Event]] = {}
    for i in sorted(instructions):  # every need points back in program order
        issue[i] = set[Event]()
        for producer, event in needs.get(i, ()):
            issue[i] |= issue[producer] | {(producer, "ISSUE")} if event == "ISSUE" else done[producer]
        done[i] = issue[i] | {(i, "ISSUE"), (i, "DONE")}
        for transfer in transfers_of.get(i, []):
            done[i] |= done[transfer]
    return issue
