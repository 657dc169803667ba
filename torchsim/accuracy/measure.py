"""Run a workload through the whole compiler in timing mode."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

import torchsim
from torchsim.accuracy import workloads
from torchsim.accuracy.reference import Row
from torchsim.config import Machine


@dataclass(frozen=True, slots=True)
class Measurement:
    """One workload on the simulated machine.

    Attributes:
        row: what it is compared with.
        cycles: simulated core cycles of all kernels, one after another.
        kernels: number of kernels.
        array_utilization: busy share of the systolic arrays, 0..1.
        stalls: stall cycles by cause.
        cpu_seconds: processor time of compiling and simulating.
    """

    row: Row
    cycles: int
    kernels: int
    array_utilization: float
    stalls: dict[str, int]
    cpu_seconds: float

    @property
    def error(self) -> float:
        """Signed error against the hardware; 0.1 is ten percent too many cycles."""
        return self.cycles / self.row.measured - 1


def measure(row: Row, machine: Machine) -> Measurement:
    """Compile and time one covered workload; no values are computed."""
    function, arguments = workloads.program(row.workload)
    torch._dynamo.reset()
    start = time.process_time()
    with torchsim.machine(machine), torchsim.options(functional=False, timing=True, verify=False), torchsim.session() as session:
        torch.compile(function, backend="torchsim")(*arguments)
    cycles = session.cycles
    busy = sum(run.sa_utilization * run.cycles for run in session.kernels)
    return Measurement(row, cycles, len(session.kernels), busy / cycles if cycles else 0.0, session.stalls, time.process_time() - start)
