"""KernelPlan to MLIR to image."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from torchsim._mlir import ir, new_context
from torchsim.config import Machine
from torchsim.dialect import spad, togsim
from torchsim.dialect.build import Index, integer, integers, loop
from torchsim.dialect.function import KERNEL, define, pointer_type
from torchsim.emit.blocks import emit_block
from torchsim.emit.body import vector_limit
from torchsim.emit.cpp import print_cpp
from torchsim.emit.registers import register_bits
from torchsim.emit.scope import Scope
from torchsim.emit.transfers import emit_transfer
from torchsim.errors import InternalError
from torchsim.passes import loops, pipeline
from torchsim.passes.lower_producer import ARENA_OFFSETS
from torchsim.passes.translate import translate
from torchsim.plan.arena import leaves
from torchsim.plan.model import Block, ChunkLoop, Item, KernelPlan, TileLoop, Transfer, Wait
from torchsim.target.address_map import SPAD_BASE
from torchsim.target.image import Image
from torchsim.target.lane_checker import check_lane_safety
from torchsim.target.loader import load
from torchsim.target.object_code import compile_assembly, compile_object

_LMUL4_BITS = 1024


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A kernel ready to run.

    Attributes:
        plan: what it was made from.
        image: machine code; symbols ``kernel`` (all work-items) and ``kernel_tile`` (one, by tile indices).
        spad_bytes: arena bytes per lane.
        producer_ir: LLVM IR of the trace producer for the host (``emit.producer.jit``).
        timings: seconds per stage.
    """

    plan: KernelPlan
    image: Image
    spad_bytes: int
    producer_ir: str
    timings: Mapping[str, float] = field(default_factory=dict, compare=False)


def emit_module(plan: KernelPlan, machine: Machine) -> ir.Module:
    """High-level IR of a kernel in a fresh context: loops over work-items and tiles, togsim operations, vector code of the blocks.

    Raises:
        InternalError: the plan was made for another number of lanes.
        UnsupportedError: a body holds an op without code.
    """
    if plan.lanes != machine.lanes:
        raise InternalError(
            "plan and machine differ", expected=f"{machine.lanes} lanes", found=f"{plan.lanes} lanes", where=f"kernel {plan.name}"
        )
    context = new_context()
    togsim.register(context)
    with context, ir.Location.name(plan.name):
        module = ir.Module.create()
        module.operation.attributes["togsim.lanes"] = integer(plan.lanes)
        module.operation.attributes[ARENA_OFFSETS] = integers([buffer.offset for buffer in plan.buffers])
        with ir.InsertionPoint(module.body):
            spad.declare_arena(plan.spad_bytes_per_lane)
            define(
                KERNEL,
                [pointer_type()],
                lambda arguments: _work_items(plan, [a for a, axis in enumerate(plan.axes) if not axis.reduction], {}),
            )
    return module


def compile_kernel(plan: KernelPlan, machine: Machine, dump: Path | None = None) -> CompiledKernel:
    """The whole chain for one plan.

    Args:
        plan: a valid plan.
        machine: the machine it was made for.
        dump: folder that gets the IR after every pass, the LLVM IR, the assembly, the object file and a listing.

    Raises:
        UnsupportedError: an op or type without code.
        LaneSafetyError: the object code would move per-lane values through scalar registers.
        InternalError: a pass left the IR in a state that cannot be compiled.
    """
    clock = _Clock()
    observe = pipeline.dump_to(dump) if dump else None
    with clock.stage("emit"):
        module = emit_module(plan, machine)
    if observe:
        observe("emit", module)
    with module.context, ir.Location.name(plan.name):
        with clock.stage("passes"):
            pipeline.run(pipeline.COMMON, module, machine, observe)
            timing = module.operation.clone()
            pipeline.run(pipeline.FUNCTIONAL, module, machine, observe)
        with clock.stage("translate"):
            llvm_ir = translate(module)
        with clock.stage("producer"):
            pipeline.run(pipeline.TIMING, timing, machine, observe)
            if dump:
                (dump / "producer.cpp").write_text(print_cpp(timing))
            pipeline.run(pipeline.HOST, timing, machine, observe)
            producer_ir = translate(timing)
    unroll = _may_unroll(plan)
    if dump:
        (dump / "kernel.ll").write_text(llvm_ir)
        (dump / "producer.ll").write_text(producer_ir)
        (dump / "kernel.s").write_text(compile_assembly(llvm_ir, unroll=unroll))
    with clock.stage("object"):
        code = compile_object(llvm_ir, unroll=unroll)
    with clock.stage("load"):
        image = load(code, {spad.ARENA: SPAD_BASE})
    if dump:
        (dump / "kernel.o").write_bytes(code)
        (dump / "kernel.lst").write_text(image.listing())
    with clock.stage("check"):
        check_lane_safety(image, where=f"kernel {plan.name}")
    return CompiledKernel(plan, image, plan.spad_bytes_per_lane, producer_ir, clock.seconds)


def _work_items(plan: KernelPlan, axes: Sequence[int], elements: dict[int, Index]) -> None:
    """Loops over the parallel axes; everything else lies in the innermost one, so that it can be outlined."""
    if not axes:
        scope = Scope.root(plan)
        for axis, element in elements.items():
            scope = scope.with_axis(axis, element)
        _items(scope, plan.body)
        return
    _axis_loop(plan, axes[0], loops.WORK_ITEM, lambda element: _work_items(plan, axes[1:], {**elements, axes[0]: element}))


def _axis_loop(plan: KernelPlan, axis: int, kind: str, body: Callable[[Index], None]) -> None:
    """A loop over the elements of an axis in steps of its tile; the loop_rounding pass makes the bound whole."""
    loop(0, plan.axes[axis].extent, max(plan.tile.extents[axis], 1), body, {togsim.LOOP: togsim.text(kind), "togsim.axis": integer(axis)})


def _items(scope: Scope, items: Sequence[Item]) -> None:
    for item in items:
        match item:
            case Transfer():
                emit_transfer(scope, item)
            case Wait():
                togsim.wait(scope.affine(item.tag))
            case Block():
                emit_block(scope, item)
            case TileLoop():
                _axis_loop(
                    scope.plan, item.axis, loops.TILE, lambda element, item=item: _items(scope.with_axis(item.axis, element), item.body)
                )
            case ChunkLoop():
                chunk = {togsim.LOOP: togsim.text(loops.CHUNK)}
                loop(item.start, item.stop, 1, lambda i, item=item: _items(scope.with_variable(item.variable, i), item.body), chunk)


def _may_unroll(plan: KernelPlan) -> bool:
    """Unrolled bodies on register groups of eight spill; smaller groups gain."""
    for item in leaves(plan.body):
        if isinstance(item, Block):
            widest = max((register_bits(op.dtype) for op in item.ops), default=32)
            if item.kind != "vector" or vector_limit(item, []) * widest > _LMUL4_BITS:
                return False
    return True


class _Clock:
    """Seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
