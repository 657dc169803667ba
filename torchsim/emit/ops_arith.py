"""Arithmetic, extrema and rounding. Integers wrap; floats round to nearest even after every operation (no contraction)."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect.build import binary, single
from torchsim.emit.registers import is_unsigned
from torchsim.emit.site import Half, OpEmitter, Site, choose
from torchsim.plan.dtypes import DType


def _add(site: Site) -> ir.Value:
    return binary("arith.ori", *site.args) if site.dtype is DType.BOOL else site.binary("arith.addf", "arith.addi")


def _mul(site: Site) -> ir.Value:
    return binary("arith.andi", *site.args) if site.dtype is DType.BOOL else site.binary("arith.mulf", "arith.muli")


def _neg(site: Site) -> ir.Value:
    if site.dtype.is_float:
        return site.unary("arith.negf")
    return binary("arith.subi", site.constant(0), site.args[0])


def _abs(site: Site) -> ir.Value:
    if site.dtype.is_float:
        return site.unary("math.absf")
    if is_unsigned(site.dtype):
        return site.args[0]
    return binary("arith.maxsi", site.args[0], _neg(site))


def _sign(site: Site) -> ir.Value:
    x, zero, one = site.args[0], site.constant(0), site.constant(1)
    if site.dtype is DType.BOOL:
        return x
    positive = choose(site.compare("gt", x, zero), one, zero)
    return positive if is_unsigned(site.dtype) else choose(site.compare("lt", x, zero), site.constant(-1), positive)


def _fma(site: Site) -> ir.Value:
    if site.dtype.is_float:
        return single("math.fma", site.args[0].type, list(site.args))
    return binary("arith.addi", binary("arith.muli", *site.args[:2]), site.args[2])


def _reciprocal(site: Site) -> ir.Value:
    return binary("arith.divf", site.constant(1), site.args[0])


def _rsqrt(site: Site) -> ir.Value:
    return binary("arith.divf", site.constant(1), site.unary("math.sqrt"))


def _relu(site: Site) -> ir.Value:
    x, zero = site.args[0], site.constant(0)
    # a compare and a select: two instructions, and NaN passes through; maximumf takes five
    return x if is_unsigned(site.dtype) else choose(site.compare("lt", x, zero), zero, x)


def _rounding(name: str) -> OpEmitter:
    return OpEmitter(lambda site: site.unary(name) if site.dtype.is_float else site.args[0], Half.EXACT)


EMITTERS: dict[str, OpEmitter] = {
    "add": OpEmitter(_add),
    "sub": OpEmitter(lambda site: site.binary("arith.subf", "arith.subi")),
    "mul": OpEmitter(_mul),
    "truediv": OpEmitter(lambda site: binary("arith.divf", *site.args)),
    "neg": OpEmitter(_neg, Half.EXACT),
    "abs": OpEmitter(_abs, Half.EXACT),
    "sign": OpEmitter(_sign, Half.EXACT),
    "fma": OpEmitter(_fma, Half.WIDEN),
    "sqrt": OpEmitter(lambda site: site.unary("math.sqrt")),
    "rsqrt": OpEmitter(_rsqrt, Half.WIDEN),
    "reciprocal": OpEmitter(_reciprocal),
    "minimum": OpEmitter(lambda site: site.binary("arith.minimumf", "arith.minsi", "arith.minui"), Half.EXACT),
    "maximum": OpEmitter(lambda site: site.binary("arith.maximumf", "arith.maxsi", "arith.maxui"), Half.EXACT),
    "relu": OpEmitter(_relu, Half.EXACT),
    "floor": _rounding("math.floor"),
    "ceil": _rounding("math.ceil"),
    "trunc": _rounding("math.trunc"),
    "round": _rounding("math.roundeven"),
}
