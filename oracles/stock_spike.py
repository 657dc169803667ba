"""Stock-Spike oracle (requirements S-5, H-1): every kernel call runs again on unforked Spike; DRAM and scratchpad must be equal
bit for bit."""

from __future__ import annotations

import functools

from oracles import snapshot
from oracles.spike import recording
from oracles.spike.both import Both
from oracles.spike.lockstep import Kernel as RecordedKernel
from oracles.spike.lockstep import first_difference
from oracles.spike.oracle import SpikeOracle
from oracles.spike.protocol import SpikeWindow
from torchsim.config import Machine
from torchsim.errors import DivergenceError
from torchsim.plan.dtypes import DType
from torchsim.plan.model import KernelPlan
from torchsim.runtime.cache import cache_dir
from torchsim.runtime.cycles import blocks
from torchsim.runtime.functional import simulator, with_arguments
from torchsim.runtime.launch import Launch, Observer

_F64_FUNCTIONS = frozenset({"exp", "tanh", "erf", "sin", "cos", "log", "atan", "sigmoid"})


@functools.cache
def _spike(lanes: int, spad_bytes: int, queue_rows: int) -> SpikeOracle:
    return SpikeOracle(lanes, spad_bytes, queue_rows)


def spike_of(machine: Machine) -> SpikeOracle:
    """Stock Spike with the machine's shape: one child process for each shape in this process."""
    return _spike(machine.lanes, machine.spad_bytes_per_lane, machine.sa_queue_rows)


class StockSpikeOracle(Observer):
    """Compares final windows and used scratchpad with Spike's.

    Attributes:
        checked: kernel calls compared.
        left_out: kernel calls not compared, with the reason.
    """

    def __init__(self, machine: Machine) -> None:
        self.checked = 0
        self.left_out: list[tuple[str, str]] = []
        self._machine = machine
        self._before: snapshot.Snapshot | None = None

    def before(self, launch: Launch) -> None:
        """Keep the memory as it is before the call."""
        self._before = snapshot.take(launch.windows)

    def after(self, launch: Launch) -> float | None:
        """Run on Spike and compare.

        Raises:
            DivergenceError: a byte differs, or Spike trapped.
        """
        if launch.execution is None or self._before is None:
            return None
        kernel = launch.call.kernel
        if uses_f64_special_functions(kernel.plan):
            self.left_out.append((kernel.plan.name, "float64 special functions are defined within 1 ulp, not to the bit"))
            return None
        machine = kernel.machine
        data, block = with_arguments(kernel.image, launch.call.bases)
        windows = [
            SpikeWindow(window.address, content.tobytes(), window.writable)
            for window, content in zip(self._before.windows, self._before.contents, strict=True)
        ]
        result = spike_of(machine).run(
            data,
            kernel.image.base,
            kernel.image.symbols["kernel"],
            block,
            windows,
            mode=launch.options.dma_order,
            spad_used_bytes=kernel.plan.spad_bytes_per_lane,
        )
        recorded = RecordedKernel(
            bytes(data), kernel.image.base, kernel.image.symbols["kernel"], block, tuple(windows), mode=launch.options.dma_order
        )
        where = f"kernel {kernel.plan.name}, origins {', '.join(kernel.plan.origins)}"
        if result.trap is not None:
            raise DivergenceError(
                f"stock Spike traps: {result.trap}", expected="the run of the functional simulator, which ended well", where=where
            )
        found = snapshot.take(launch.windows).contents
        difference = snapshot.first_difference(launch.windows, [memoryview(content) for content in result.windows], found)
        if difference is not None:
            raise DivergenceError(
                "functional simulator and stock Spike leave different DRAM contents",
                found=difference,
                where=where,
                hint=_first_wrong_instruction(recorded, machine, kernel.plan.name),
            )
        self._scratchpad(kernel.plan, result.spad, where, recorded)
        self.checked += 1
        return None

    def _scratchpad(self, plan: KernelPlan, expected: object, where: str, recorded: RecordedKernel) -> None:
        import numpy as np

        used = plan.spad_bytes_per_lane
        found = simulator(self._machine).scratchpad(used)
        want = np.asarray(expected)[:, :used]
        bad = np.argwhere(found != want)
        if bad.size:
            lane, offset = (int(value) for value in bad[0])
            raise DivergenceError(
                "functional simulator and stock Spike leave different scratchpad contents",
                expected=f"{int(want[lane, offset]):#04x}",
                found=f"{int(found[lane, offset]):#04x} at lane {lane}, byte {offset:#x}; {len(bad)} bytes differ",
                where=where,
                hint=_first_wrong_instruction(recorded, self._machine, plan.name),
            )


def _first_wrong_instruction(kernel: RecordedKernel, machine: Machine, name: str) -> str:
    """What lock-step finds, and the file from which it can be run again."""
    path = cache_dir() / "spike" / "kernels" / f"{name}.npz"
    recording.save(path, kernel, machine.lanes, machine.spad_bytes_per_lane, machine.sa_queue_rows)
    with Both(machine.lanes, machine.spad_bytes_per_lane, machine.sa_queue_rows, simulator(machine)) as both:
        found = first_difference(both, kernel)
    return f"{found or 'lock-step finds no instruction'}\nagain: python -m oracles.spike lockstep {path}"


def uses_f64_special_functions(plan: KernelPlan) -> bool:
    """Whether a plan computes special functions in float64 (left out of bit equality, docs/isa.md section 5)."""
    return any(op.dtype is DType.F64 and op.name in _F64_FUNCTIONS for block in blocks(plan.body) for op in block.ops)
