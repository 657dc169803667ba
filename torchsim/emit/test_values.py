from __future__ import annotations

import numpy as np
import pytest

from torchsim.config import load_machine
from torchsim.emit import ops_arith, ops_divide, ops_logic, ops_special
from torchsim.emit.ops import CONVERSIONS, EMITTERS, emit_op
from torchsim.emit.test_support import argument_types, check_against_plan, op_group, random_array
from torchsim.errors import UnsupportedError
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis, Group, Node, Op, TensorArg
from torchsim.plan.model import BlockOp
from torchsim.plan.ops import OPS

MACHINE = load_machine("8x8")
FLOATS = [dtype for dtype in DType if dtype.is_float]
INTEGERS = [dtype for dtype in DType if not dtype.is_float and dtype is not DType.BOOL]
FLOAT_ONLY = {"truediv", "sqrt", "rsqrt", "reciprocal", "fma", *ops_special.EMITTERS}
INTEGER_ONLY = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right", "truncdiv"}
BOOL_OPS = [
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
    "eq", "ne", "lt", "le", "gt", "ge", "where", "maximum", "minimum",
]  # fmt: skip
FAMILIES = {"arith": ops_arith.EMITTERS, "logic": ops_logic.EMITTERS, "divide": ops_divide.EMITTERS, "special": ops_special.EMITTERS}
LEAVES = {"load", "value", "constant", "index", "in_range"}


def _names(family: str, dtype: DType) -> list[str]:
    if dtype is DType.BOOL:
        return [name for name in FAMILIES[family] if name in BOOL_OPS]
    wrong = INTEGER_ONLY if dtype.is_float else FLOAT_ONLY
    return [name for name in FAMILIES[family] if name not in wrong and not name.startswith("logical")]


def _many(ops: list[tuple[str, list[DType], DType]], size: int) -> Group:
    """One kernel that computes many ops of the same inputs; each result is an argument of the op's name."""
    args: dict[str, TensorArg] = {}
    nodes: list[Node] = []
    for name, types, result in ops:
        body: list[Op] = []
        for i, dtype in enumerate(types):
            tensor = f"{dtype.value}{i}"
            args.setdefault(tensor, TensorArg(tensor, dtype, size, "input"))
            body.append(Op("load", dtype, (), Access(tensor, (1,))))
        body.append(Op(name, result, tuple(range(len(types)))))
        out = f"{name}_{result.value}"
        args[out] = TensorArg(out, result, size, "output")
        nodes.append(Node(out, "pointwise", tuple(body), (len(body) - 1,), result, True, store=Access(out, (1,))))
    return Group("ops", tuple(args.values()), (Axis("i", size),), tuple(nodes))


def _check(group: Group, seed: int, rtol: float = 0.0) -> None:
    plan = build(group, MACHINE)
    rng = np.random.default_rng(seed)
    check_against_plan(plan, MACHINE, [random_array(arg.dtype, arg.elements, rng) for arg in plan.args], rtol=rtol)


def test_every_op_has_code() -> None:
    assert {*EMITTERS, *CONVERSIONS} == set(OPS) - LEAVES


@pytest.mark.req("C-22", "C-2")
@pytest.mark.parametrize(("family", "dtype"), [(family, dtype) for family in FAMILIES for dtype in DType if _names(family, dtype)])
def test_ops(family: str, dtype: DType) -> None:
    names = _names(family, dtype)
    # f64 special functions and the f64 fma of the interpreter are within an ulp or two, not exact
    inexact = {*ops_special.EMITTERS, "fma"} if dtype is DType.F64 else set()
    for group, rtol in (([name for name in names if name not in inexact], 0.0), ([name for name in names if name in inexact], 3e-15)):
        if group:
            _check(_many([(name, *argument_types(name, dtype)) for name in group], 312), seed=7, rtol=rtol)


@pytest.mark.req("C-22")
@pytest.mark.parametrize("source", DType)
def test_casts(source: DType) -> None:
    _check(_many([("cast", [source], target) for target in DType], 312), seed=11)


@pytest.mark.parametrize("source", DType)
def test_bitcasts(source: DType) -> None:
    targets = [target for target in DType if target.bytes == source.bytes and target is not DType.BOOL]
    _check(_many([("bitcast", [source], target) for target in targets], 104), seed=13)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.BF16, DType.I8, DType.BOOL])
@pytest.mark.parametrize("size", [1, 9, 20, 3000])
def test_lengths(dtype: DType, size: int) -> None:
    """One element a lane, odd tails, whole vectors, loops; a copy is what LLVM likes best to turn into scalar code."""
    _check(op_group("cast", [dtype], dtype, [size]), seed=17)


CORNERS = {
    DType.F32: [(3e38, 1e-44), (1e30, 3.7), (-5.5, 2.0), (5.5, -2.0), (5.5, np.inf), (-1.0, np.inf), (np.inf, 2.0), (1.0, 0.0), (0.0, 0.0)],
    DType.F64: [
        (1.7e308, 5e-324),
        (1e300, 3.7),
        (5.5, np.inf),
        (np.inf, 2.0),
        (1.0, 0.0),
        (1e-310, 3e-320),
        (9e307, 1.5e-160),
        (-6.0, 2.0),
    ],
    DType.I32: [(-(2**31), -1), (7, 0), (-7, 2), (7, -2), (-7, -2), (0, 5), (2**31 - 1, -1), (-(2**31), 2)],
    DType.I64: [(-(2**63), -1), (7, 0), (-7, 2), (7, -2), (-7, -2), (0, 5), (2**63 - 1, -1), (-(2**63), 3)],
    DType.I8: [(-128, -1), (7, 0), (-7, 2), (7, -2), (-7, -2), (0, 5), (127, -1), (-128, 2)],
}


@pytest.mark.parametrize("dtype", CORNERS)
@pytest.mark.parametrize("name", ["mod", "remainder", "floordiv", "truncdiv"])
def test_division_corners(name: str, dtype: DType) -> None:
    """Quotients beyond the mantissa, infinities, zero, and the overflow of the most negative integer by -1."""
    if dtype.is_float and name == "truncdiv":
        name = "truediv"
    pairs = CORNERS[dtype]
    plan = build(op_group(name, [dtype, dtype], dtype, [len(pairs)]), MACHINE)
    columns = [np.array(column, dtype=dtype.numpy) for column in zip(*pairs)]
    check_against_plan(plan, MACHINE, [*columns, np.zeros(len(pairs), dtype.numpy)])


@pytest.mark.parametrize(("name", "dtype"), [("sqrt", DType.I32), ("shift_left", DType.F32), ("frobnicate", DType.F32)])
def test_ops_without_code_are_named(name: str, dtype: DType) -> None:
    with pytest.raises(UnsupportedError, match=name):
        emit_op(BlockOp(name, dtype), [], [dtype], 8)
