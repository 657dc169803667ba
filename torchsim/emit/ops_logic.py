"""Compares, logic, shifts and selection."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect.build import binary, compare_floats, compare_integers
from torchsim.emit.site import Half, OpEmitter, Site, choose
from torchsim.plan.dtypes import DType


def _compare(predicate: str) -> OpEmitter:
    return OpEmitter(lambda site: site.compare(predicate, *site.args), Half.EXACT)


def _isnan(site: Site) -> ir.Value:
    x = site.args[0]
    return compare_floats("uno", x, x) if site.dtype.is_float else site.constant(False, DType.BOOL)


def _isinf(site: Site) -> ir.Value:
    if not site.dtype.is_float:
        return site.constant(False, DType.BOOL)
    return compare_floats("oeq", site.unary("math.absf"), site.constant(float("inf")))


def _bitwise(name: str) -> OpEmitter:
    return OpEmitter(lambda site: binary(name, *site.args))


def _not(site: Site) -> ir.Value:
    return binary("arith.xori", site.args[0], site.constant(True if site.dtype is DType.BOOL else -1))


def _shift_left(site: Site) -> ir.Value:
    x, amount = site.args
    bits = site.dtype.bytes * 8
    # the amount is masked because an over-long shift is poison for LLVM, whatever the select does with it
    shifted = binary("arith.shli", x, binary("arith.andi", amount, site.constant(bits - 1)))
    return choose(compare_integers("ult", amount, site.constant(bits)), shifted, site.constant(0))


def _shift_right(site: Site) -> ir.Value:
    x, amount = site.args
    bits = site.dtype.bytes * 8
    if site.dtype is DType.U8:
        shifted = binary("arith.shrui", x, binary("arith.andi", amount, site.constant(bits - 1)))
        return choose(compare_integers("ult", amount, site.constant(bits)), shifted, site.constant(0))
    return binary("arith.shrsi", x, binary("arith.minui", amount, site.constant(bits - 1)))


EMITTERS: dict[str, OpEmitter] = {
    **{predicate: _compare(predicate) for predicate in ("eq", "ne", "lt", "le", "gt", "ge")},
    "isnan": OpEmitter(_isnan, Half.EXACT),
    "isinf": OpEmitter(_isinf, Half.EXACT),
    "logical_and": _bitwise("arith.andi"),
    "logical_or": _bitwise("arith.ori"),
    "logical_xor": _bitwise("arith.xori"),
    "logical_not": OpEmitter(_not),
    "bitwise_and": _bitwise("arith.andi"),
    "bitwise_or": _bitwise("arith.ori"),
    "bitwise_xor": _bitwise("arith.xori"),
    "bitwise_not": OpEmitter(_not),
    "shift_left": OpEmitter(_shift_left),
    "shift_right": OpEmitter(_shift_right),
    "where": OpEmitter(lambda site: choose(*site.args), Half.EXACT),
}
