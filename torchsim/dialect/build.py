"""Thin construction of operations: integers fold in Python, types and constants need no spelling.

``Index`` is a 64-bit integer that is either known now (int) or computed by the kernel (an i64 SSA value). Operations go to the
current insertion point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from torchsim._mlir import ir, scf

Index: TypeAlias = "int | ir.Value"
_CMPI = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8, "uge": 9}
_CMPF = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "ord": 7, "ueq": 8, "ugt": 9, "une": 13, "uno": 14}


def create(
    name: str, results: Sequence[ir.Type] = (), operands: Sequence[ir.Value] = (), attributes: Mapping[str, ir.Attribute] | None = None
) -> ir.Operation:
    """Any operation without regions, by name."""
    return ir.Operation.create(name, list(results), list(operands), dict(attributes or {}))


def single(name: str, result: ir.Type, operands: Sequence[ir.Value] = (), attributes: Mapping[str, ir.Attribute] | None = None) -> ir.Value:
    """The result of an operation that has exactly one."""
    return create(name, [result], operands, attributes).results[0]


def i64_type() -> ir.Type:
    """Type of every index, address and instruction operand."""
    return ir.IntegerType.get_signless(64)


def integer(value: int, bits: int = 64) -> ir.Attribute:
    """Integer attribute; values beyond the signed range wrap to the same bits."""
    value &= (1 << bits) - 1
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value - (1 << bits) if value >> (bits - 1) else value)


def integers(values: Sequence[int]) -> ir.Attribute:
    """Array attribute of i64."""
    return ir.DenseI64ArrayAttr.get(list(values))


def symbol(name: str) -> ir.Attribute:
    """Reference to a function or global."""
    return ir.FlatSymbolRefAttr.get(name)


def constant(value: int, bits: int = 64) -> ir.Value:
    """Scalar integer constant."""
    return single("arith.constant", ir.IntegerType.get_signless(bits), attributes={"value": integer(value, bits)})


def materialise(index: Index) -> ir.Value:
    """The i64 SSA value of an index."""
    return constant(index) if isinstance(index, int) else index


def known(value: ir.Value) -> Index:
    """The number behind an integer constant, else the value itself."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "arith.constant":
        attribute = owner.operation.attributes["value"]
        if isinstance(attribute, ir.IntegerAttr):
            return attribute.value
    return value


def add(a: Index, b: Index) -> Index:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int):
        a, b = b, a
    return a if isinstance(b, int) and b == 0 else _arith("addi", a, b)


def sub(a: Index, b: Index) -> Index:
    """a - b."""
    return add(a, -b) if isinstance(b, int) else _arith("subi", a, b)


def mul(a: Index, b: Index) -> Index:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int) and b in (0, 1):
        return a if b else 0
    return _arith("muli", a, b)


def floordiv(a: Index, b: int) -> Index:
    """a // b for a >= 0, b > 0."""
    if isinstance(a, int):
        return a // b
    return a if b == 1 else _arith("divui", a, b)


def mod(a: Index, b: int) -> Index:
    """a % b for a >= 0, b > 0."""
    if isinstance(a, int):
        return a % b
    return 0 if b == 1 else _arith("remui", a, b)


def clamp(a: Index, low: int, high: int) -> Index:
    """a limited to [low, high], signed."""
    if isinstance(a, int):
        return max(low, min(high, a))
    return _arith("maxsi", _arith("minsi", a, high), low)


def select(condition: ir.Value, a: Index, b: Index) -> ir.Value:
    """a where the i1 condition holds, else b."""
    first = materialise(a)
    return single("arith.select", first.type, [condition, first, materialise(b)])


def _arith(name: str, a: Index, b: Index) -> ir.Value:
    return single(f"arith.{name}", i64_type(), [materialise(a), materialise(b)])


def binary(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """``name`` on two values of one type that gives that type (scalars or vectors)."""
    return single(name, a.type, [a, b])


def compare_integers(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """arith.cmpi; the predicate by its name (slt, ult, ..)."""
    return single("arith.cmpi", _i1_like(a.type), [a, b], {"predicate": integer(_CMPI[predicate])})


def compare_floats(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """arith.cmpf; the predicate by its name (olt, une, ..)."""
    return single("arith.cmpf", _i1_like(a.type), [a, b], {"predicate": integer(_CMPF[predicate])})


def _i1_like(of: ir.Type) -> ir.Type:
    bit = ir.IntegerType.get_signless(1)
    return ir.VectorType.get(of.shape, bit) if isinstance(of, ir.VectorType) else bit


def splat(value: int | float | bool, of: ir.VectorType) -> ir.Value:
    """A vector constant with one value; floats are rounded to the element type, integers wrap."""
    element = of.element_type
    if isinstance(element, ir.IntegerType):
        bits = element.width
        attribute = integer(int(value), bits) if bits > 1 else ir.BoolAttr.get(bool(value))
    else:
        attribute = ir.FloatAttr.get(element, float(value))
    return single("arith.constant", of, attributes={"value": ir.DenseElementsAttr.get_splat(of, attribute)})


def broadcast(scalar: ir.Value, of: ir.VectorType) -> ir.Value:
    """A vector of a scalar that is the same in every lane."""
    return single("vector.broadcast", of, [scalar])


def loop(
    start: Index,
    stop: Index,
    step: int,
    body: Callable[[Index], None],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> None:
    """``scf.for``; without attributes a loop of one known trip is inlined and one of none vanishes."""
    if attributes is None and isinstance(start, int) and isinstance(stop, int) and stop - start <= step:
        if stop > start:
            body(start)
        return
    for_op = scf.ForOp(materialise(start), materialise(stop), materialise(step))
    for key, value in (attributes or {}).items():
        for_op.operation.attributes[key] = value
    with ir.InsertionPoint(for_op.body):
        body(for_op.induction_variable)
        create("scf.yield")


def carried_loop(
    start: int, stop: int, step: int, initial: Sequence[ir.Value], body: Callable[[Index, list[ir.Value]], Sequence[ir.Value]]
) -> list[ir.Value]:
    """``scf.for`` that carries values; the body returns their next values. One known trip is inlined."""
    if stop - start <= step:
        return list(body(start, list(initial))) if stop > start else list(initial)
    for_op = scf.ForOp(materialise(start), materialise(stop), materialise(step), list(initial))
    with ir.InsertionPoint(for_op.body):
        create("scf.yield", operands=list(body(for_op.induction_variable, list(for_op.inner_iter_args))))
    return list(for_op.results)


def collect(root: Any, *names: str) -> list[ir.Operation]:
    """All operations below ``root`` (module or operation) with one of these names, in program order (outer before inner)."""
    found: list[ir.Operation] = []

    def visit(operation: Any) -> Any:
        if operation.operation.name in names:
            found.append(operation.operation)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
