"""LLVM dialect to LLVM IR text."""

from __future__ import annotations

from torchsim._mlir import ir, llvm
from torchsim.errors import InternalError


def translate(module: ir.Module) -> str:
    """LLVM IR of a module.

    Raises:
        InternalError: an operation of another dialect is left; translating it would crash the process.
    """
    left: dict[str, int] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.operation.name
        if not name.startswith("llvm.") and name != "builtin.module":
            left[name] = left.get(name, 0) + 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    if left:
        found = ", ".join(f"{name} ({count})" for name, count in sorted(left.items()))
        raise InternalError("the lowering left operations of other dialects", expected="only the llvm dialect", found=found)
    return llvm.translate_module_to_llvmir(module.operation)
