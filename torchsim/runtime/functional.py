"""Run a kernel's machine code on the functional simulator."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torchsim.config import Machine
from torchsim.iss import BlockCycles, Simulator
from torchsim.iss import Window as IssWindow
from torchsim.plan.model import KernelPlan
from torchsim.runtime.kernel import Kernel
from torchsim.runtime.options import Options
from torchsim.runtime.windows import Window
from torchsim.target.loader import Image

INSTRUCTION_LIMIT = 1_000_000_000_000
"""Backstop against runaway loops; real kernels stay far below it."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What a functional run showed. ``log``: executed transfers, waits and blocks in order (option ``record``)."""

    block_cycles: dict[int, BlockCycles]
    log: Any


_simulators: dict[str, Simulator] = {}
_lock = threading.Lock()


def simulator(machine: Machine) -> Simulator:
    """The functional simulator of a machine; one per process and machine, buffers are reused between runs."""
    key = machine.model_dump_json()
    with _lock:
        found = _simulators.get(key)
        if found is None:
            pipe = {name: value for name, value in machine.model_dump().items() if name.startswith("pipe_")}
            found = Simulator(machine.lanes, machine.spad_bytes_per_lane, machine.sa_queue_rows, pipe)
            _simulators[key] = found
    return found


def with_arguments(image: Image, bases: Sequence[int]) -> tuple[bytes, int]:
    """Image bytes followed by the argument block (64-bit device addresses), and the block's address."""
    size = -(-len(image.data) // 64) * 64
    block = b"".join(base.to_bytes(8, "little", signed=False) for base in bases)
    return image.data.ljust(size, b"\0") + block, image.base + size


def execute(kernel: Kernel, bases: Sequence[int], windows: Sequence[Window], options: Options) -> Execution:
    """Run all work-items of a kernel.

    Raises:
        TrapError: the code did something that the machine refuses.
    """
    data, block = with_arguments(kernel.image, bases)
    result = simulator(kernel.machine).run(
        data,
        kernel.image.base,
        kernel.image.symbols["kernel"],
        [IssWindow(w.address, w.host, w.nbytes, w.writable) for w in windows],
        argument_block=block,
        mode=options.dma_order,
        instruction_limit=INSTRUCTION_LIMIT,
        log=options.record,
        footprint=options.record,
        spad_used_bytes=kernel.plan.spad_bytes_per_lane,
        context=f"kernel {kernel.plan.name} ({', '.join(kernel.plan.origins)})",
    )
    return Execution(result.block_cycles, result.log)


def run_representative(plan: KernelPlan, image: Image, machine: Machine) -> dict[int, tuple[int, int]]:
    """Cost of each block, (lowest, highest), over one work-item whose transfers are replaced by fills."""
    data, block = with_arguments(image, [0] * len(plan.args))
    result = simulator(machine).run(
        data,
        image.base,
        image.symbols["kernel_tile"],
        [],
        argument_block=block,
        arguments=[0] * len(plan.grid),
        mode="early",
        dma="fill",
        instruction_limit=INSTRUCTION_LIMIT,
        spad_used_bytes=plan.spad_bytes_per_lane,
        context=f"kernel {plan.name} ({', '.join(plan.origins)}), representative work-item",
    )
    return {block_id: (lowest, highest) for block_id, (_, lowest, highest) in result.block_cycles.items()}
