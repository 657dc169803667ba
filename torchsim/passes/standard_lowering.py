"""From scf, arith, math, vector and func to the LLVM dialect, with MLIR's own passes."""

from __future__ import annotations

from torchsim._mlir import ir, passmanager
from torchsim.config import Machine

PIPELINE = "builtin.module(convert-scf-to-cf,convert-to-llvm,reconcile-unrealized-casts)"


def standard_lowering(module: ir.Module, machine: Machine) -> None:
    """Run the conversion passes."""
    del machine
    passmanager.PassManager.parse(PIPELINE).run(module.operation)
