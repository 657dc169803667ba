"""Programs side by side on the partitions of one machine."""

from __future__ import annotations

from collections.abc import Sequence

from togsim.stats import Result
from torchsim.errors import InvalidInputError
from torchsim.runtime.session import Session
from torchsim.runtime.timing import run_together


def simulate_together(sessions: Sequence[Session]) -> Result:
    """Simulate the kernels of several finished sessions at the same time: those of session p on partition p, one after another.

    The sessions ran one after another, each on partition 0 with the memory to itself; here they share interconnect and DRAM, and
    a kernel finds DRAM rows as the one before it left them.
    ``result.partition_cycles(p)`` is what session p takes now.

    Raises:
        InvalidInputError: a session without timed kernels.
        ConfigError: sessions on different machines, or more sessions than the machine has partitions.
    """
    programs = [[(call.kernel, call.bases) for run, call in zip(s.kernels, s.calls, strict=True) if run.cycles] for s in sessions]
    if not programs or not all(programs):
        raise InvalidInputError(
            "no timed kernel in a session",
            expected="sessions with at least one kernel that ran with timing on",
            hint="torchsim.set_options(timing=True)",
        )
    return run_together(programs)
