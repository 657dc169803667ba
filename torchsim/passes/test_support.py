"""Small modules for the IR tests of the passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from togsim import _core
from torchsim._mlir import ir, new_context
from torchsim.config import Machine, load_machine
from torchsim.dialect import spad, togsim
from torchsim.dialect.build import Index, integer, integers, loop
from torchsim.dialect.function import KERNEL, define, pointer_type
from torchsim.dialect.togsim import Dim, Transfer
from torchsim.dialect.verify import verify
from torchsim.emit.producer import jit
from torchsim.passes import pipeline
from torchsim.passes.lower_producer import ARENA_OFFSETS
from torchsim.passes.translate import translate
from torchsim.plan.dtypes import DType

MACHINE: Machine = load_machine("8x8")


@contextmanager
def kernel_module(body: Callable[[], None]) -> Iterator[ir.Module]:
    """A module with one function ``kernel`` whose contents ``body`` emits; its context is current inside."""
    context = new_context()
    togsim.register(context)
    with context, ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["togsim.lanes"] = integer(MACHINE.lanes)
        module.operation.attributes[ARENA_OFFSETS] = integers([0] * 4)
        with ir.InsertionPoint(module.body):
            spad.declare_arena(4096)
            define(KERNEL, [pointer_type()], lambda arguments: body())
        verify(module, MACHINE.lanes)
        yield module
        verify(module, MACHINE.lanes)


def plan_loop(kind: str, extent: int, step: int, body: Callable[[Index], None]) -> None:
    """A loop of the plan over elements."""
    loop(0, extent, step, body, {togsim.LOOP: togsim.text(kind)})


def transfer(dims: tuple[Dim, ...], **changes: object) -> Transfer:
    """A load of f32 into buffer 0, split over its last dimension."""
    fields: dict[str, object] = {
        "id": 0, "direction": "load", "arg": 0, "dtype": DType.F32, "buffer": 0, "buffer_offset": 0, "dims": dims, "split": len(dims) - 1,
        "vlane_stride": 1, "fill": 0, "accumulate": False, "offset": 0, "spad": 0, "tag": 0,
    }  # fmt: skip
    return Transfer(**{**fields, **changes})  # type: ignore[arg-type]


def records(module: ir.Module) -> list[tuple[object, ...]]:
    """Outline a module , compile its producer and return the records without work-item marks."""
    pipeline.run((pipeline.outline_work_item, *pipeline.TIMING, *pipeline.HOST), module, MACHINE)
    producer = jit(translate(module))
    found = _core.CompiledProducer(producer.kernel_address, producer.abi_address, []).records()
    return [record for record in found if record[0] not in ("begin", "end")]
