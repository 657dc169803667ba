"""Functions of the special-function unit: emitted as ``math`` operations, which the math_to_vcix pass turns into instructions."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect.build import binary, single
from torchsim.emit.site import Half, OpEmitter, Site


def _sigmoid(site: Site) -> ir.Value:
    x, one = site.args[0], site.constant(1)
    exp = single("math.exp", x.type, [single("arith.negf", x.type, [x])])
    return binary("arith.divf", one, binary("arith.addf", one, exp))


def _function(name: str) -> OpEmitter:
    return OpEmitter(lambda site: site.unary(f"math.{name}"), Half.WIDEN)


EMITTERS: dict[str, OpEmitter] = {name: _function(name) for name in ("exp", "tanh", "erf", "sin", "cos", "log", "atan")} | {
    "sigmoid": OpEmitter(_sigmoid, Half.WIDEN)
}
