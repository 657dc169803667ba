"""Seeded faults of the simulator: one instruction misbehaves as a real bug would make it. For tests of tests; free when unused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torchsim.errors import InvalidInputError
from torchsim.iss.simulator import Simulator


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; the kinds and what their figures mean are listed in ``csrc/fault.hpp``.

    Attributes:
        name: row of the instruction table that misbehaves.
        kind: what goes wrong.
        sibling: row that it is taken for (kind ``decode_as``).
        amount: figure of the kind.
        target: elements of the destination: ``none sew twice_sew mask bits8 bits16 bits32 bits64``.
    """

    name: str
    kind: str
    sibling: str = ""
    amount: int = 0
    target: str = "none"

    def __str__(self) -> str:
        figure = f" {self.amount}" if self.amount else ""
        return f"{self.name}: {self.kind} {self.sibling or self.target}{figure}"


@contextmanager
def seeded(simulator: Simulator, fault: Fault) -> Iterator[None]:
    """The fault is there inside the ``with`` and gone after it.

    Raises:
        InvalidInputError: the simulator knows no such row, kind or target.
    """
    try:
        simulator._core.set_fault(fault.name, fault.kind, fault.sibling, fault.amount, fault.target)
    except ValueError as error:
        raise InvalidInputError("no such fault", found=str(error), where=str(fault)) from error
    try:
        yield
    finally:
        simulator._core.clear_fault()
