"""Two-register NPU instructions as calls that the loader replaces: ``__insn_c1_<funct3>_<funct7>(i64, i64)``."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect.build import Index, materialise
from torchsim.dialect.function import call, declare
from torchsim.target.isa.table import BY_NAME


def function_name(instruction: str) -> str:
    """Function whose call is the instruction, e.g. of ``npu.mvin``."""
    match = BY_NAME[instruction].match
    return f"__insn_c1_{match >> 12 & 7}_{match >> 25}"


class Instructions:
    """Emits instructions and declares their functions in a module."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.declared: set[str] = set()

    def emit(self, instruction: str, rs1: Index, rs2: Index) -> None:
        """One instruction at the current insertion point."""
        name = function_name(instruction)
        if name not in self.declared:
            declare(self.module, name, 2)
            self.declared.add(name)
        call(name, [materialise(rs1), materialise(rs2)])
