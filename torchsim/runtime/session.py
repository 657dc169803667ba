"""``torchsim.session()``: collects everything that runs inside."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from torchsim.errors import InvalidInputError
from torchsim.runtime import report
from torchsim.runtime.arena import Arena
from torchsim.runtime.report import Fallback, KernelRun
from torchsim.runtime.selection import current_machine

if TYPE_CHECKING:
    from torchsim.runtime.launch import Call

_lock = threading.RLock()
_open: list[Session] = []


class Session:
    """Results of the kernels that ran inside a ``with torchsim.session()`` block, in order of execution."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.machine = current_machine()
        self.kernels: list[KernelRun] = []
        self.calls: list[Call] = []
        self._fallbacks: dict[tuple[str, str], int] = {}

    @property
    def cycles(self) -> int:
        """Total simulated core cycles: the kernels run one after another."""
        return sum(run.cycles for run in self.kernels)

    @property
    def fallbacks(self) -> list[Fallback]:
        """Ops that ran on the host, with how often each did."""
        return [Fallback(op, node, count) for (op, node), count in self._fallbacks.items()]

    @property
    def stalls(self) -> dict[str, int]:
        """Stall cycles by cause, over all kernels."""
        total: dict[str, int] = {}
        for run in self.kernels:
            for cause, cycles in (run.stalls or {}).items():
                total[cause] = total.get(cause, 0) + cycles
        return total

    def add(self, run: KernelRun, call: Call) -> None:
        """Record one kernel call (called by the runtime)."""
        with _lock:
            self.kernels.append(run)
            self.calls.append(call)

    def add_fallback(self, op: str, node: str) -> None:
        """Record one host op (called by the runtime)."""
        with _lock:
            self._fallbacks[op, node] = self._fallbacks.get((op, node), 0) + 1

    def table(self) -> str:
        """Plain text table of the kernels."""
        return report.table(self.kernels)

    def to_json(self, path: str | Path) -> None:
        """Write kernels, fallbacks, totals and the resolved machine as JSON."""
        report.to_json(path, self.machine.model_dump_json(), self.kernels, self.fallbacks)

    def timeline(self, path: str | Path) -> None:
        """Write a Chrome/Perfetto timeline of all kernels, one after another; opens in ui.perfetto.dev.

        The kernels are simulated again with events on; the simulator is deterministic, so these are the reported cycles.

        Raises:
            InvalidInputError: no kernel of this session was timed.
        """
        from torchsim.runtime.timeline import write_timeline

        write_timeline(Path(path), self._timed())

    def plots(self, folder: str | Path, kind: str = "png") -> list[Path]:
        """Write pictures of all timed kernels: utilisation, roofline, timeline; returns the files. Needs matplotlib (extra ``plots``).

        Args:
            folder: where to.
            kind: ``"png"`` or ``"svg"``.

        Raises:
            InvalidInputError: no kernel of this session was timed, or matplotlib is missing.
        """
        from torchsim.runtime.pictures import write_pictures

        return write_pictures(Path(folder), self._timed(), kind)

    def _timed(self) -> list[tuple[KernelRun, Call]]:
        """The kernel calls that were timed; at least one."""
        timed = [(run, call) for run, call in zip(self.kernels, self.calls, strict=True) if run.cycles]
        if not timed:
            raise InvalidInputError(
                "no timed kernel in this session",
                expected="at least one kernel that ran with timing on",
                hint="torchsim.set_options(timing=True)",
            )
        return timed

    def save_traces(self, folder: str | Path) -> list[Path]:
        """Write every distinct kernel call as a saved trace below ``folder``; returns the folders.

        ``python -m togsim run FOLDER`` simulates one of them without torch and gives the same cycles.

        Raises:
            InvalidInputError: no kernel ran in this session, or the host has no C compiler.
        """
        from torchsim.runtime.save_traces import save_traces  # LLVM: not needed otherwise

        if not self.calls:
            raise InvalidInputError("no kernel ran in this session", expected="at least one call of a compiled model")
        return save_traces(Path(folder), self.calls)


@contextmanager
def session() -> Iterator[Session]:
    """Collect what runs inside the block. Process wide: kernels on other threads (backward) are collected too.

    Raises:
        InvalidInputError: a session is already open.
    """
    with _lock:
        if _open:
            raise InvalidInputError("a session is already open", hint="use one session at a time; sessions are process wide")
        opened = Session()
        _open.append(opened)
    try:
        yield opened
    finally:
        with _lock:
            _open.remove(opened)


def active_session() -> Session | None:
    """The open session, or None."""
    return _open[-1] if _open else None
