"""Simulate the time of a kernel call with TOGSim."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from togsim import Launch, Simulator
from togsim import errors as togsim_errors
from togsim._core import CompiledProducer
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


PROGRAM_SPACE = 1 << 40
"""Distance of the address spaces of programs that run on different partitions, in bytes."""


def run_together(programs: Sequence[Sequence[tuple[Kernel, tuple[int, ...]]]]) -> Result:
    """Simulate programs side by side, number p on partition p of the machine; the kernels of each run in turn.

    Args:
        programs: per partition its kernel calls with their argument addresses, in order of execution. Each program has an address space
            of its own in the shared memory.

    Raises:
        ConfigError: kernels of different machines, more programs than partitions.
    """
    kernels = [kernel for program in programs for kernel, _ in program]
    machines = {kernel.machine.model_dump_json() for kernel in kernels}
    if len(machines) != 1:
        raise errors.ConfigError("programs for different machines", expected="kernels of one machine", found=f"{len(machines)} machines")
    with _lock:
        launches = [
            Launch(
                CompiledProducer(producer(kernel).kernel_address, producer(kernel).abi_address, []),
                [base + p * PROGRAM_SPACE for base in bases],
                kernel.cycle_table.rows,
                p,
            )
            for p, program in enumerate(programs)
            for kernel, bases in program
        ]
        return _translated(
            f"kernels {', '.join(kernel.plan.name for kernel in kernels)}", lambda: _simulator(machines.pop()).run_launches(launches)
        )


def _run(kernel: Kernel, bases: Sequence[int], **choices: Any) -> Result:
    made = producer(kernel)
    simulator = _simulator(kernel.machine.model_dump_json())
    arguments = (made.kernel_address, made.abi_address, [], list(bases), list(kernel.cycle_table.rows))
    return _translated(f"kernel {kernel.plan.name}", lambda: simulator.run(*arguments, **choices))


def _translated(what: str, run: Callable[[], Result]) -> Result:
    try:
        return run()
    except togsim_errors.TogsimError as error:
        kind = _ERRORS.get(type(error), errors.InternalError)
        where = f"{what}; {error.where}" if error.where else what
        raise kind(error.summary, expected=error.expected, found=error.found, where=where, hint=error.hint) from error


def _simulate(kernel: Kernel, bases: Sequence[int], timeline: bool) -> Timing:
    result = _run(kernel, bases, timeline=timeline)
    arrays = kernel.machine.num_cores * kernel.machine.num_systolic_array_per_core
    busy = sum(busy for core in result.cores for busy in core.array_busy)
    utilization = busy / (arrays * result.cycles) if result.cycles else 0.0
    return Timing(result.cycles, result.bytes_read + result.bytes_written, utilization, result.stalls, result)
