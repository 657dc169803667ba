"""Scratchpad access: the arena is one external global, every buffer an offset into it.

Distinct globals do not alias for LLVM, so overlaid buffers must be offsets into one; and a private global would be optimised away.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect import rvv
from torchsim.dialect.build import Index, constant, integer, materialise, single, symbol

ARENA = "arena"
SECTION = ".spad"
_DYNAMIC = -(1 << 31)
_SPREAD_FROM = 8
"""Elements from which on one element is loaded and spread in registers; a strided load takes a cycle for each element."""


def declare_arena(size: int) -> None:
    """Declare the arena of ``size`` bytes per lane at the current insertion point (module level)."""
    attributes = f'section = "{SECTION}", addr_space = 0 : i32, alignment = 64 : i64'
    text = f"llvm.mlir.global external @{ARENA}() {{{attributes}}} : !llvm.array<{max(size, 64)} x i8>"
    ir.InsertionPoint.current.insert(ir.Operation.parse(text))


def pointer(offset: Index) -> ir.Value:
    """Address of byte ``offset`` of the arena."""
    kind = ir.Type.parse("!llvm.ptr")
    base = single("llvm.mlir.addressof", kind, attributes={"global_name": symbol(ARENA)})
    attributes = {"elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8))}
    if isinstance(offset, int):
        return single("llvm.getelementptr", kind, [base], attributes | {"rawConstantIndices": ir.DenseI32ArrayAttr.get([offset])})
    return single("llvm.getelementptr", kind, [base, offset], attributes | {"rawConstantIndices": ir.DenseI32ArrayAttr.get([_DYNAMIC])})


def address(offset: Index) -> ir.Value:
    """Address of byte ``offset`` of the arena as i64."""
    return single("llvm.ptrtoint", ir.IntegerType.get_signless(64), [pointer(offset)])


def load(offset: Index, element: ir.Type, stride: int, count: int, width: int) -> ir.Value:
    """``count`` elements from byte ``offset``, ``stride`` elements apart, in a vector of ``width`` >= count (the rest is undefined)."""
    size = rvv.element_bits(element) // 8
    at = pointer(offset)
    if count == 1:
        return rvv.load_first(at, element, width)
    if stride == 0 and count >= _SPREAD_FROM:
        return rvv.spread_first(rvv.load_first(at, element, 2), count)
    if stride == 1 and rvv.power_of_two(count) != count:
        return rvv.load_counted(at, element, count)
    if stride == 1:
        return single("llvm.load", rvv.vector(count, element), [at], {"alignment": integer(size)})
    return rvv.load_strided(at, element, constant(stride * size), count)


def store(value: ir.Value, offset: Index, stride: int, count: int) -> None:
    """Store the first ``count`` elements of ``value`` from byte ``offset``, ``stride`` elements apart."""
    size = rvv.element_bits(value.type.element_type) // 8
    at = pointer(offset)
    if count == 1:
        rvv.store_first(value, at)
    elif stride == 1:
        ir.Operation.create("llvm.store", [], [value, at], {"alignment": integer(size)})
    else:
        rvv.store_strided(value, at, materialise(stride * size))
