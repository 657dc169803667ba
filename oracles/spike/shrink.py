"""A failing random case becomes the shortest one that still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .cases import Case, Instruction


def shrink(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Leave out instructions, then simplify vtype, length and modes, as long as ``fails`` stays true; ``fails(case)`` must hold.

    Every accepted step makes the case smaller, so this ends; the result is minimal: no single step is left that keeps the failure.
    """
    while True:
        for smaller in _smaller(case):
            if fails(smaller):
                case = smaller
                break
        else:
            return case


def _smaller(case: Case) -> Iterator[Case]:
    """Candidates, the boldest first."""
    count = len(case.instructions)
    size = count // 2
    while size:
        for start in range(0, count, size):
            rest = case.instructions[:start] + case.instructions[start + size :]
            if rest and not _falls_off(rest):
                yield replace(case, instructions=rest)
        size //= 2
    if case.lmul > 1:
        yield replace(case, lmul=case.lmul // 2)
    for vl in sorted({0, 1, case.vl // 2, case.vl - 1}):
        if 0 <= vl < case.vl:
            yield replace(case, vl=vl)
    if case.frm:
        yield replace(case, frm=0)
    if case.vxrm:
        yield replace(case, vxrm=0)
    for place, (name, operands) in enumerate(case.instructions):
        if operands.get("vm") == 0:
            changed = (name, {**operands, "vm": 1})
            yield replace(case, instructions=(*case.instructions[:place], changed, *case.instructions[place + 1 :]))


def _falls_off(instructions: tuple[Instruction, ...]) -> bool:
    """Whether the last instruction jumps over what follows the case, or one jumps into the middle of nothing."""
    name, operands = instructions[-1]
    return name in ("jal", "beq", "bne", "blt", "bge", "bltu", "bgeu") and operands.get("imm", 0) > 4
