"""Run the same bytes on the functional simulator and on stock Spike, and say where they first differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from torchsim.errors import TrapError
from torchsim.iss import Simulator, Window

from .cases import RESULT, STORED
from .compare import compare
from .oracle import POISON, SpikeOracle
from .program import Program
from .protocol import IMAGE_BASE, Mode, SpikeWindow

_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class IssResult:
    """State after a run of the functional simulator; ``trap`` is the cause or None."""

    windows: list[bytes]
    spad: npt.NDArray[np.uint8]
    trap: str | None


class Both:
    """The two machines side by side, the simulator made here unless one of the same shape is given. A context manager."""

    def __init__(self, lanes: int, spad_bytes: int, queue_rows: int = 256, simulator: Simulator | None = None) -> None:
        self.lanes = lanes
        self.spike = SpikeOracle(lanes, spad_bytes, queue_rows)
        self.iss = simulator or Simulator(lanes, spad_bytes, queue_rows)
        self.mapped: list[npt.NDArray[np.uint8]] = []  # window contents that the simulator works on, step by step
        self.last_trap: str | None = None  # cause of the simulator's trap in the last comparison

    def __enter__(self) -> Both:
        return self

    def __exit__(self, *_: object) -> None:
        self.spike.close()

    def run_iss(
        self, image: bytes, windows: Sequence[SpikeWindow], spad: npt.NDArray[np.uint8], mode: Mode, spad_fill: int = POISON
    ) -> IssResult:
        """As ``SpikeOracle.run``, on the functional simulator."""
        host, views = mapped(windows)
        trap: str | None = None
        try:
            self.iss.run(image, IMAGE_BASE, IMAGE_BASE, views, mode=mode, spad=spad, spad_fill=spad_fill, instruction_limit=_LIMIT)
        except TrapError as error:
            trap = error.cause
        return IssResult([data.tobytes() for data in host], self.iss.scratchpad(), trap)

    def difference(
        self,
        program: Program,
        spad: npt.NDArray[np.uint8],
        windows: Sequence[SpikeWindow] = (),
        mode: Mode = "early",
        *,
        ignore: npt.NDArray[np.bool_] | None = None,
        same_cause: bool = True,
    ) -> str | None:
        """None if the two agree: without a trap on every byte of windows and scratchpad, else on the cause of the trap.

        Args:
            program: machine code.
            spad: scratchpad before it, uint8 [lanes, n].
            windows: tensors.
            mode: order of transfers.
            ignore: scratchpad bytes that may differ, bool, broadcast over the lanes.
            same_cause: False where a program may have several faults, of which either machine may meet another first.
        """
        image = program.image()
        ours = self.run_iss(image, windows, spad, mode)
        self.last_trap = ours.trap
        theirs = self.spike.run(image, windows=windows, spad=spad, mode=mode, instruction_limit=_LIMIT)
        if ours.trap or theirs.trap:
            agree = (ours.trap == theirs.trap.cause or not same_cause) if ours.trap and theirs.trap else False
            return None if agree else f"simulator: {ours.trap or 'no trap'}; Spike: {theirs.trap or 'no trap'}"
        lines = [f"{one}{_register(one.lane, one.offset)}" for one in compare(ours, theirs, windows=windows, ignore_spad=ignore)]
        return "\n".join(lines) or None


def mapped(windows: Sequence[SpikeWindow]) -> tuple[list[npt.NDArray[np.uint8]], list[Window]]:
    """Copies of window contents in host memory, to be kept alive, and the simulator's view of them."""
    host = [np.frombuffer(window.data, np.uint8).copy() for window in windows]
    return host, [Window(window.address, data.ctypes.data, data.size, window.writable) for window, data in zip(windows, host)]


def _register(lane: int | None, offset: int) -> str:
    """Which register of a ``cases.Case`` a scratchpad byte belongs to."""
    place = offset - RESULT
    if lane is None or not 0 <= place < 1536 + 8 * len(STORED):
        return ""
    if place < 1024:
        return f"; v{place // 32}, byte {place % 32}"
    if place < 1536:
        return f"; {'xf'[(place - 1024) // 256]}{place % 256 // 8}"
    return f"; {list(STORED)[(place - 1536) // 8]}"
