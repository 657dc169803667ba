"""A compiled kernel as the runtime keeps it: plan, image, trace producer and cycle table; compiled once, then read from the cache."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from torchsim.config import Machine
from torchsim.plan.group import Group
from torchsim.plan.model import KernelPlan
from torchsim.plan.serialize import from_json, to_json
from torchsim.runtime import cache
from torchsim.runtime.cycles import CycleTable, measure
from torchsim.target.loader import Image


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel for one machine.

    Attributes:
        key: cache key; also the name under which generated code finds it.
        plan: the plan that was compiled.
        machine: the machine that it was compiled for.
        image: machine code and constants.
        producer_ir: LLVM IR of the trace producer.
        cycle_table: cost of every compute block.
        compiled: False when it came from the disk cache.
    """

    key: str
    plan: KernelPlan
    machine: Machine
    image: Image
    producer_ir: str
    cycle_table: CycleTable
    compiled: bool = field(compare=False, default=True)


_lock = threading.RLock()


def kernel_key(group: Group, machine: Machine, tiles: Mapping[str, object]) -> str:
    """Cache key: everything that changes the code."""
    return cache.entry_key(repr(group), machine.model_dump_json(), json.dumps(dict(tiles), sort_keys=True, default=str))


def obtain(group: Group, machine: Machine, tiles: Mapping[str, object]) -> Kernel:
    """The kernel of a group: from the disk cache, else compiled and stored.

    Raises:
        UnsupportedError, SpadOverflowError, InvalidInputError: the group cannot be compiled (so).
    """
    key = kernel_key(group, machine, tiles)
    entry = cache.load(key)
    if entry is not None:
        header, blobs = entry
        return Kernel(
            key,
            from_json(blobs["plan"].decode()),
            machine,
            Image.from_bytes(blobs["image"]),
            blobs["producer"].decode(),
            CycleTable.from_json(json.dumps(header["cycles"])),
            compiled=False,
        )
    with _lock:
        kernel = _compile(key, group, machine, tiles)
    cache.store(
        key,
        {"name": kernel.plan.name, "origins": list(kernel.plan.origins), "cycles": json.loads(kernel.cycle_table.to_json())},
        {"plan": to_json(kernel.plan).encode(), "image": kernel.image.to_bytes(), "producer": kernel.producer_ir.encode()},
    )
    return kernel


def _compile(key: str, group: Group, machine: Machine, tiles: Mapping[str, object]) -> Kernel:
    from torchsim.emit.kernel import compile_kernel  # MLIR and LLVM: seconds to import, not needed when the cache is warm
    from torchsim.plan.build import build
    from torchsim.plan.describe import describe
    from torchsim.plan.validate import validate
    from torchsim.runtime.dump import dump_folder
    from torchsim.runtime.tile_override import tile_override

    plan = build(group, machine, tile_override(tiles, group) if tiles else None)
    validate(plan, machine)
    folder = dump_folder(plan.name, key)
    if folder is not None:
        (folder / "plan.txt").write_text(describe(plan))
    compiled = compile_kernel(plan, machine, folder)
    table = measure(plan, compiled.image, machine)
    return Kernel(key, plan, machine, compiled.image, compiled.producer_ir, table)
