"""Trace producers: compiled in this process, or printed as C++."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.emit.cpp import print_cpp
from torchsim.emit.kernel import emit_module
from torchsim.errors import InternalError
from torchsim.passes import pipeline
from torchsim.passes.lower_producer import ENTRY, VERSION
from torchsim.plan.model import KernelPlan


@dataclass(frozen=True, slots=True, eq=False)
class Producer:
    """Addresses of ``togsim_kernel`` and ``togsim_abi_version``; the code lives as long as this object."""

    kernel_address: int
    abi_address: int
    engine: Any


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def verified(producer_ir: str) -> tuple[Any, Any]:
    """The LLVM module of a producer, and the host's target.

    Raises:
        InternalError: LLVM rejects the text.
    """
    target = _target()
    try:
        module = llvm.parse_assembly(producer_ir)
        module.verify()
    except RuntimeError as error:
        raise InternalError("the trace producer is no valid LLVM IR", found=str(error).strip()) from error
    return module, target


def jit(producer_ir: str) -> Producer:
    """Compile the LLVM IR of a producer.

    Raises:
        InternalError: LLVM rejects the text, or an entry point is missing.
    """
    module, target = verified(producer_ir)
    # An engine owns its target machine, so each has its own. Without optimisation: a producer runs about as fast (it is bound by what it
    # writes) and compiles many times faster.
    engine = llvm.create_mcjit_compiler(module, target.create_target_machine(opt=0, jit=True))
    engine.finalize_object()
    kernel, version = engine.get_function_address(ENTRY), engine.get_function_address(VERSION)
    if not kernel or not version:
        raise InternalError("the trace producer lacks an entry point", expected=f"{ENTRY} and {VERSION}")
    return Producer(kernel, version, engine)


def cpp_source(plan: KernelPlan, machine: Machine) -> str:
    """The producer of a plan as C++ that needs ``togsim_runtime.h`` and gives the same records."""
    module = emit_module(plan, machine)
    with module.context, ir.Location.unknown():
        pipeline.run((*pipeline.COMMON, *pipeline.TIMING), module, machine)
        return print_cpp(module)
