"""Special functions and the lane number become instructions: ``math.exp`` on a vector is one ``sf.vc.v.iv``."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import collect
from torchsim.dialect.togsim import VLANE_IDX
from torchsim.passes import vcix

FUNCTIONS = {f"math.{name}": f"npu.{name}" for name in ("exp", "tanh", "erf", "sin", "cos", "log", "atan")}


def math_to_vcix(module: ir.Module, machine: Machine) -> None:
    """Rewrite every special function and ``togsim.vlane_idx``."""
    del machine
    for op in collect(module, VLANE_IDX, *FUNCTIONS):
        with ir.InsertionPoint(op):
            result = op.results[0]
            new = vcix.lane_index(result.type) if op.name == VLANE_IDX else vcix.unary(FUNCTIONS[op.name], op.operands[0])
        result.replace_all_uses_with(new)
        op.erase()
