"""One kernel call: map the arguments, run the machine code, simulate time, tell the session and the observers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torchsim.runtime.arena import Arena
from torchsim.runtime.functional import Execution, execute
from torchsim.runtime.kernel import Kernel
from torchsim.runtime.options import Options, current_options
from torchsim.runtime.report import KernelRun
from torchsim.runtime.session import active_session
from torchsim.runtime.timing import simulate
from torchsim.runtime.windows import Window, map_arguments


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel call: what is needed to simulate its time again. ``bases``: device address of every argument, in bytes."""

    kernel: Kernel
    bases: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """What an observer sees of a call.

    Attributes:
        call: kernel and argument addresses.
        tensors: the argument tensors.
        windows: device memory that the kernel can reach.
        golden: argument name -> fx node of its golden value.
        incomparable: argument name -> reason why there is none.
        graph_id: the graph that the call belongs to.
        options: options in force.
        execution: what the functional simulator showed; None before it ran and in timing-only mode.
    """

    call: Call
    tensors: tuple[Any, ...]
    windows: tuple[Window, ...]
    golden: dict[str, str]
    incomparable: dict[str, str]
    graph_id: str
    options: Options
    execution: Execution | None = None


class Observer:
    """Watches kernel calls (oracles, tools). Either method may raise to stop the program at a divergence."""

    def before(self, launch: Launch) -> None:
        """The arguments are mapped, nothing ran yet."""

    def after(self, launch: Launch) -> float | None:
        """The call is done; returns the largest error in ULP if it measured one."""


_observers: list[Observer] = []
_lock = threading.RLock()


def add_observer(observer: Observer) -> None:
    """Let ``observer`` watch every kernel call from now on."""
    _observers.append(observer)


def remove_observer(observer: Observer) -> None:
    """Undo ``add_observer``."""
    _observers.remove(observer)


class Launcher:
    """Callable under which generated code runs one kernel in one graph."""

    def __init__(self, kernel: Kernel, graph_id: str, golden: dict[str, str], incomparable: dict[str, str]) -> None:
        self.kernel = kernel
        self._graph_id = graph_id
        self._golden = golden
        self._incomparable = incomparable

    def __call__(self, *tensors: Any) -> None:
        """Run on tensors in the order of the plan's arguments; outputs are written in place."""
        options = current_options()
        with _lock:
            self._run(tensors, options)

    def _run(self, tensors: Sequence[Any], options: Options) -> None:
        session = active_session()
        arena = session.arena if session is not None else Arena()
        bases, windows = map_arguments(self.kernel.plan.args, tensors, arena)
        call = Call(self.kernel, tuple(bases))
        launch = Launch(call, tuple(tensors), tuple(windows), self._golden, self._incomparable, self._graph_id, options)
        observers = tuple(_observers)
        for observer in observers:
            observer.before(launch)
        if options.functional:
            launch = replace(launch, execution=execute(self.kernel, bases, windows, options))
        measured = [ulp for observer in observers if (ulp := observer.after(launch)) is not None]
        if session is not None:
            session.add(_report(call, options, max(measured, default=None)), call)


def _report(call: Call, options: Options, max_ulp: float | None) -> KernelRun:
    plan, machine = call.kernel.plan, call.kernel.machine
    tile = {axis.name: extent for axis, extent in zip(plan.axes, plan.tile.extents, strict=True)}
    items = 1
    for count in plan.grid:
        items *= count
    base = KernelRun(plan.name, plan.origins, tile, plan.spad_bytes_per_lane, machine.dispatch_budget_bytes, items, max_ulp=max_ulp)
    if not options.timing:
        return base
    result = simulate(call.kernel, call.bases)
    return KernelRun(
        base.name,
        base.origins,
        base.tile,
        base.spad_bytes_per_lane,
        base.budget_bytes_per_lane,
        items,
        dma_bytes=result.dma_bytes,
        cycles=result.cycles,
        sa_utilization=result.sa_utilization,
        stalls=dict(result.stalls),
        max_ulp=max_ulp,
    )
