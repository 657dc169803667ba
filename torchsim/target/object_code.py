"""LLVM IR text to a RISC-V object file, in process, with the LLVM inside llvmlite.

That LLVM has no RISC-V assembly parser and aborts the process on some inputs, so those are refused before it sees
them (docs/lane-safety.md lists them). Two-register NPU instructions are calls of ``__insn_c1_<funct3>_<funct7>`` that the
loader replaces.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from torchsim.errors import InternalError, UnsupportedError

TRIPLE = "riscv64-unknown-elf"
FEATURES = "+m,+a,+f,+d,+c,+v,+zvl256b,+zfh,+zvfh,+xsfvcp,-relax"
INSTRUCTION_CALL = re.compile(r"__insn_c1_(\d+)_(\d+)\Z")
"""Name of a function whose calls become a custom-1 instruction: funct3, funct7; operands in a0 and a1."""

MAX_VECTOR_BITS = 2048  # LMUL 8 at VLEN 256

_QUOTED = re.compile(r'"[^"]*"')
_INLINE_ASM = re.compile(r'\basm\b(?:\s+(?:sideeffect|alignstack|inteldialect|unwind))*\s+""')
_DECLARED = re.compile(r'^declare\b[^@\n]*@("?)([^"\s(]+)\1\s*\(', re.MULTILINE)
_DEFINED = re.compile(r'^define\b[^@\n]*@("?)([^"\s(]+)\1\s*\(', re.MULTILINE)
_FIXED_VECTOR = re.compile(r"\.v(\d+)([if])(\d+)")
# riscv_vector_cc keeps v1-v7 and v24-v31 over the call; MLIR's llvm.func has no keyword for it
_PLAIN_CALL = re.compile(r"\b(declare|call)( void @__insn_c1_)")


@cache
def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu="generic-rv64", features=FEATURES, opt=2, reloc="static", codemodel="medium", abiname="lp64d")


def compile_object(llvm_ir: str, *, unroll: bool = True) -> bytes:
    """Compile a module of kernel functions.

    Args:
        llvm_ir: a module as text; functions carry ``no-builtins``; buffers are external globals.
        unroll: loop unrolling; off for bodies that work on register groups of eight (reference: spills).

    Returns:
        An ELF64 relocatable file for riscv64, static relocations, medium code model, no relaxation.

    Raises:
        InternalError: the text is no valid module, or holds something that LLVM cannot emit for this target.
        UnsupportedError: the module calls a function that does not exist on the machine.
    """
    return _machine().emit_object(_optimised_module(llvm_ir, unroll))


def compile_assembly(llvm_ir: str, *, unroll: bool = True) -> str:
    """The same code as ``compile_object`` as assembly text, for dumps and tests."""
    return _machine().emit_assembly(_optimised_module(llvm_ir, unroll))


def _optimised_module(llvm_ir: str, unroll: bool) -> Any:
    _refuse_fatal(llvm_ir)
    text = _PLAIN_CALL.sub(r"\1 riscv_vector_cc\2", llvm_ir)
    machine = _machine()
    try:
        module = llvm.parse_assembly(text)
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError("the compiler produced LLVM IR that LLVM rejects", found=str(error).strip()) from error
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = unroll
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def _refuse_fatal(llvm_ir: str) -> None:
    """Refuse what would abort the process in LLVM, or can never link."""
    bare = _QUOTED.sub('""', llvm_ir)
    if _INLINE_ASM.search(bare) or re.search(r"^module asm", bare, re.MULTILINE):
        raise InternalError(
            "inline assembly cannot be emitted",
            expected="calls of __insn_c1_<funct3>_<funct7> or llvm.riscv.* intrinsics",
            hint="see docs/lane-safety.md",
        )
    defined = {match[2] for match in _DEFINED.finditer(llvm_ir)}
    for match in _DECLARED.finditer(llvm_ir):
        name = match[2]
        if name.startswith("llvm."):
            _check_intrinsic(name)
        elif name not in defined and not INSTRUCTION_CALL.match(name) and _is_used(name, llvm_ir):
            raise UnsupportedError(
                f"the kernel calls {name}, which does not exist on the machine",
                expected="arithmetic, llvm.riscv.* intrinsics and __insn_c1_* calls",
                found=f"declare @{name}",
                hint="map the operation to instructions before LLVM sees it",
            )


def _is_used(name: str, llvm_ir: str) -> bool:
    return len(re.findall(rf'@"?{re.escape(name)}"?(?![\w.$-])', llvm_ir)) > 1


def _check_intrinsic(name: str) -> None:
    if re.match(r"llvm\.mem(cpy|move|set)\b", name):
        raise UnsupportedError(
            f"the kernel uses {name}, which becomes a library call", hint="emit a vector loop; mark functions no-builtins"
        )
    fixed = _FIXED_VECTOR.search(name)
    if fixed is None or not name.startswith(("llvm.vector.insert.nxv", "llvm.riscv.sf.vc.")):
        return
    lanes, bits = int(fixed[1]), int(fixed[1]) * int(fixed[3])
    if lanes & (lanes - 1) or bits > MAX_VECTOR_BITS:
        raise InternalError(
            f"LLVM cannot lower {name}",
            expected=f"a vector of a power of two elements and at most {MAX_VECTOR_BITS} bits",
            found=f"{lanes} elements, {bits} bits",
            hint="widen to the next power of two and pass the true length",
        )
