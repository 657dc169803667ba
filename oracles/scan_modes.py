"""Scan-mode oracle (requirements G-11, H-6): the gated, event-driven simulator equals its slow reference modes.

Forced scan looks at the ready list every cycle, cycle-by-cycle never skips ahead. Same cycles and same issue order, always.

Every kernel is simulated on its own machine. Of eight kernels, one runs on the crossbar and one on the mesh as well; a checksum of its
cache key decides which, so the choice is the same in every run.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from torchsim.errors import DeadlockError, DivergenceError
from torchsim.runtime.launch import Call, Launch, Observer
from torchsim.runtime.timing import run_mode

REFERENCE_MODES = ("forced_scan", "cycle_by_cycle")
INTERCONNECTS: tuple[Sequence[str], ...] = (("crossbar",), (), (), (), ("mesh",), (), (), ())
"""What a kernel runs on besides its own machine, by a checksum of its key."""


class ScanModeOracle(Observer):
    """Simulates the time of every distinct kernel call in all modes."""

    def __init__(self) -> None:
        self.checked = 0
        self._seen: set[tuple[str, tuple[int, ...]]] = set()

    def after(self, launch: Launch) -> float | None:
        """Compare the modes.

        Raises:
            DivergenceError: a mode gives other cycles or another issue order.
        """
        key = (launch.call.kernel.key, launch.call.bases)
        if launch.options.timing and key not in self._seen:
            self._seen.add(key)
            check_modes(launch.call)
            for interconnect in INTERCONNECTS[zlib.crc32(key[0].encode()) % len(INTERCONNECTS)]:
                check_modes(on_interconnect(launch.call, interconnect))
            self.checked += 1
        return None


def on_interconnect(call: Call, name: str) -> Call:
    """The same code and addresses on a machine with another interconnect."""
    return replace(call, kernel=replace(call.kernel, machine=call.kernel.machine.model_copy(update={"icnt_type": name})))


def check_modes(call: Call, faults: dict[str, str] | None = None) -> None:
    """Run fast and reference modes on one call; ``faults`` are seeded into the fast mode only.

    Raises:
        DivergenceError: a mode differs.
    """
    try:
        fast = run_mode(call.kernel, call.bases, "fast", faults)
    except DeadlockError as error:
        run_mode(call.kernel, call.bases, REFERENCE_MODES[0])
        raise DivergenceError(
            f"the fast timing mode stops where {REFERENCE_MODES[0]} goes on", found=str(error), where=f"kernel {call.kernel.plan.name}"
        ) from error
    for mode in REFERENCE_MODES:
        slow = run_mode(call.kernel, call.bases, mode)
        if fast.cycles != slow.cycles or list(fast.issue_order) != list(slow.issue_order):
            at = next((i for i, pair in enumerate(zip(fast.issue_order, slow.issue_order, strict=False)) if pair[0] != pair[1]), None)
            raise DivergenceError(
                f"the fast timing mode differs from {mode}",
                expected=f"{slow.cycles} cycles",
                found=f"{fast.cycles} cycles" + ("" if at is None else f", issue order differs at number {at}"),
                where=f"kernel {call.kernel.plan.name}",
            )
