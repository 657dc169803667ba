"""Simulate the time of a kernel call with TOGSim."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from togsim import Simulator
from togsim import errors as togsim_errors
from togsim.simulator import Mode
from togsim.stats import Result
from torchsim import errors
from torchsim.config import Machine
from torchsim.runtime.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Timing:
    """Result of one kernel call: cycles in core cycles, bytes moved by DMA, share of SA busy cycles, stall cycles by cause."""

    cycles: int
    dma_bytes: int
    sa_utilization: float
    stalls: dict[str, int]
    result: Result


_ERRORS: dict[type[togsim_errors.TogsimError], type[errors.TorchsimError]] = {
    togsim_errors.TraceError: errors.TraceError,
    togsim_errors.DeadlockError: errors.DeadlockError,
    togsim_errors.ConfigError: errors.ConfigError,
}
"""TOGSim knows nothing of torchsim, so its errors are translated here."""

_lock = threading.RLock()
_known: dict[tuple[str, tuple[int, ...]], Timing] = {}
_producers: dict[str, Any] = {}


@functools.lru_cache(maxsize=16)
def _simulator(machine_json: str) -> Simulator:
    return Simulator(Machine.model_validate_json(machine_json).model_dump())


def producer(kernel: Kernel) -> Any:
    """The kernel's trace producer, JIT compiled at the first use in a process."""
    with _lock:
        found = _producers.get(kernel.key)
        if found is None:
            from torchsim.emit.producer import jit

            found = jit(kernel.producer_ir)
            _producers[kernel.key] = found
        return found


def simulate(kernel: Kernel, bases: Sequence[int], *, timeline: bool = False) -> Timing:
    """Cycles of one call. The result is a function of kernel, machine and addresses, so equal calls are answered from memory."""
    key = (kernel.key, tuple(bases))
    with _lock:
        if not timeline and key in _known:
            return _known[key]
        timing = _simulate(kernel, bases, timeline)
        if not timeline:
            _known[key] = timing
        return timing


def run_mode(kernel: Kernel, bases: Sequence[int], mode: Mode, faults: Mapping[str, Any] | None = None) -> Result:
    """TOGSim's own result of one call in a given scan mode with its issue order, optionally with seeded faults; never answered
    from memory."""
    return _run(kernel, bases, mode=mode, issue_order=True, faults=faults)


def _run(kernel: Kernel, bases: Sequence[int], **choices: Any) -> Result:
    made = producer(kernel)
    try:
        return _simulator(kernel.machine.model_dump_json()).run(
            made.kernel_address, made.abi_address, [], list(bases), list(kernel.cycle_table.rows), **choices
        )
    except togsim_errors.TogsimError as error:
        kind = _ERRORS.get(type(error), errors.InternalError)
        where = f"kernel {kernel.plan.name}; {error.where}" if error.where else f"kernel {kernel.plan.name}"
        raise kind(error.summary, expected=error.expected, found=error.found, where=where, hint=error.hint) from error


def _simulate(kernel: Kernel, bases: Sequence[int], timeline: bool) -> Timing:
    result = _run(kernel, bases, timeline=timeline)
    arrays = kernel.machine.num_cores * kernel.machine.num_systolic_array_per_core
    busy = sum(busy for core in result.cores for busy in core.array_busy)
    utilization = busy / (arrays * result.cycles) if result.cycles else 0.0
    return Timing(result.cycles, result.bytes_read + result.bytes_written, utilization, result.stalls, result)
