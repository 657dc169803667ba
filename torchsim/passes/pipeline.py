"""The order of the passes, and the driver that runs, dumps and verifies them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.passes.fine_grained_dma import fine_grained_dma
from torchsim.passes.loop_rounding import loop_rounding
from torchsim.passes.lower_block import lower_block
from torchsim.passes.lower_producer import lower_producer
from torchsim.passes.lower_transfer import lower_transfer
from torchsim.passes.math_to_vcix import math_to_vcix
from torchsim.passes.matmul_to_vcix import matmul_to_vcix
from torchsim.passes.outline_work_item import outline_work_item
from torchsim.passes.peel_transfer import peel_transfer
from torchsim.passes.skeleton import skeleton
from torchsim.passes.standard_lowering import standard_lowering
from torchsim.passes.trip_counts import trip_counts

Pass: TypeAlias = Callable[[ir.Module, Machine], None]
Observer: TypeAlias = Callable[[str, ir.Module], None]
"""Called after every pass with its name: dumping, verification in tests."""

COMMON: tuple[Pass, ...] = (loop_rounding, fine_grained_dma, peel_transfer, trip_counts, outline_work_item)
"""Up to here machine code and trace producer are one module."""
FUNCTIONAL: tuple[Pass, ...] = (matmul_to_vcix, math_to_vcix, lower_transfer, lower_block, standard_lowering)
TIMING: tuple[Pass, ...] = (skeleton,)
HOST: tuple[Pass, ...] = (lower_producer, standard_lowering)


def run(passes: Sequence[Pass], module: ir.Module, machine: Machine, observe: Observer | None = None) -> None:
    """Run passes in order on a module of the current context."""
    for one in passes:
        one(module, machine)
        if observe is not None:
            observe(one.__name__, module)


def dump_to(folder: Path, prefix: str = "") -> Observer:
    """An observer that writes the module after every pass as ``NN_<prefix><pass>.mlir``."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0

    def write(name: str, module: ir.Module) -> None:
        nonlocal count
        count += 1
        (folder / f"{count:02d}_{prefix}{name}.mlir").write_text(str(module))

    return write
