"""The vocabulary of compute bodies, shared by analysis, plans, the plan interpreter and the emitter.

Result types: ``same`` = type of the arguments (which agree), ``bool``, ``given`` = stated on the op. Half types round to
their width after every op, as eager does; f16/bf16 special functions are computed in f32 and rounded once.
"""

from __future__ import annotations

from typing import NamedTuple


class OpSpec(NamedTuple):
    """Number of arguments, result type rule, and one line of meaning."""

    arity: int
    result: str
    meaning: str


OPS: dict[str, OpSpec] = {
    # leaves
    "load": OpSpec(0, "given", "element of a tensor (group) or scratchpad buffer (block)"),
    "value": OpSpec(0, "given", "result of an earlier node of the group, by name (group bodies only)"),
    "constant": OpSpec(0, "given", "attribute: int, float or bool"),
    "index": OpSpec(0, "given", "affine combination of the logical axis positions; i64 or i32"),
    "in_range": OpSpec(0, "given", "bool: the logical position is inside the extents of the listed axes (block bodies only)"),
    # arithmetic: floats round to nearest even, integers wrap
    "add": OpSpec(2, "same", "a + b"),
    "sub": OpSpec(2, "same", "a - b"),
    "mul": OpSpec(2, "same", "a * b"),
    "truediv": OpSpec(2, "same", "a / b, floats"),
    "floordiv": OpSpec(2, "same", "floor(a / b) as torch.floor_divide; integer division by zero gives -1 on no path: guarded, result 0"),
    "truncdiv": OpSpec(2, "same", "a / b rounded toward zero, integers"),
    "mod": OpSpec(2, "same", "C remainder: fmod for floats, sign of the dividend for integers"),
    "remainder": OpSpec(2, "same", "Python remainder: sign of the divisor"),
    "neg": OpSpec(1, "same", "-a"),
    "abs": OpSpec(1, "same", "|a|"),
    "sign": OpSpec(1, "same", "-1, 0 or 1 (0 for NaN, as torch.sign)"),
    "fma": OpSpec(3, "same", "a * b + c, one rounding"),
    "sqrt": OpSpec(1, "same", ""),
    "rsqrt": OpSpec(1, "same", "1 / sqrt(a), each rounded"),
    "reciprocal": OpSpec(1, "same", "1 / a"),
    "minimum": OpSpec(2, "same", "NaN propagates"),
    "maximum": OpSpec(2, "same", "NaN propagates"),
    "relu": OpSpec(1, "same", "max(a, 0); NaN propagates"),
    "floor": OpSpec(1, "same", ""),
    "ceil": OpSpec(1, "same", ""),
    "trunc": OpSpec(1, "same", ""),
    "round": OpSpec(1, "same", "to nearest even"),
    # special functions
    "exp": OpSpec(1, "same", "special-function unit"),
    "tanh": OpSpec(1, "same", "special-function unit"),
    "erf": OpSpec(1, "same", "special-function unit"),
    "sin": OpSpec(1, "same", "special-function unit"),
    "cos": OpSpec(1, "same", "special-function unit"),
    "log": OpSpec(1, "same", "special-function unit"),
    "atan": OpSpec(1, "same", "special-function unit"),
    "sigmoid": OpSpec(1, "same", "1 / (1 + exp(-a))"),
    # compares and logic
    "eq": OpSpec(2, "bool", ""),
    "ne": OpSpec(2, "bool", "true for NaN"),
    "lt": OpSpec(2, "bool", ""),
    "le": OpSpec(2, "bool", ""),
    "gt": OpSpec(2, "bool", ""),
    "ge": OpSpec(2, "bool", ""),
    "isnan": OpSpec(1, "bool", ""),
    "isinf": OpSpec(1, "bool", ""),
    "logical_and": OpSpec(2, "bool", "arguments bool"),
    "logical_or": OpSpec(2, "bool", "arguments bool"),
    "logical_xor": OpSpec(2, "bool", "arguments bool"),
    "logical_not": OpSpec(1, "bool", "argument bool"),
    "bitwise_and": OpSpec(2, "same", "integers and bool"),
    "bitwise_or": OpSpec(2, "same", "integers and bool"),
    "bitwise_xor": OpSpec(2, "same", "integers and bool"),
    "bitwise_not": OpSpec(1, "same", "integers and bool"),
    "shift_left": OpSpec(2, "same", "0 for amounts >= width or negative"),
    "shift_right": OpSpec(2, "same", "arithmetic for signed types; sign fill for amounts >= width or negative"),
    "where": OpSpec(3, "same", "first argument bool"),
    # conversions
    "cast": OpSpec(1, "given", "as torch's CPU copy: float to int as C on x86-64, int wraps, to bool is != 0"),
    "bitcast": OpSpec(1, "given", "same width"),
}

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all")
"""Reduction kinds. max and min propagate NaN; any and all take bool."""
