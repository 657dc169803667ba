"""Functions of a kernel module: ``llvm.func`` from the start, so that their addresses can be taken before the lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchsim._mlir import ir
from torchsim.dialect.build import create, symbol

KERNEL, KERNEL_TILE = "kernel", "kernel_tile"
# no-builtins: LLVM must not turn copy and fill loops into memcpy and memset. noinline: the work-item stays callable on its own.
ATTRIBUTES = ("no-builtins", "nounwind", "noinline")


def pointer_type() -> ir.Type:
    """``!llvm.ptr``."""
    return ir.Type.parse("!llvm.ptr")


def define(
    name: str, arguments: Sequence[ir.Type], body: Callable[[Sequence[ir.Value]], Sequence[ir.Value] | None], result: ir.Type | None = None
) -> ir.Operation:
    """A function at the current insertion point; ``body`` gives the value to return when there is one."""
    attributes = _signature(name, [str(one) for one in arguments], result)
    attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get(one) for one in ATTRIBUTES])
    function = ir.Operation.create("llvm.func", [], [], attributes, regions=1)
    block = function.regions[0].blocks.append(*arguments)
    with ir.InsertionPoint(block):
        create("llvm.return", operands=list(body(list(block.arguments)) or []))
    return function


def declare(module: ir.Module, name: str, arguments: int) -> None:
    """Declare a function of i64 arguments without result at the start of the module."""
    with ir.InsertionPoint.at_block_begin(module.body):
        ir.Operation.create("llvm.func", [], [], _signature(name, ["i64"] * arguments, None), regions=1)


def call(name: str, operands: Sequence[ir.Value]) -> None:
    """Call a function without result."""
    create("llvm.call", operands=operands, attributes={"callee": symbol(name), **call_segments(len(operands))})


def call_segments(operands: int) -> dict[str, ir.Attribute]:
    """Attributes that every ``llvm.call`` needs: ``operands`` values, no operand bundles."""
    return {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([operands, 0]), "op_bundle_sizes": ir.DenseI32ArrayAttr.get([])}


def functions(module: ir.Module) -> list[ir.Operation]:
    """Functions with a body, in order."""
    return [
        one.operation for one in module.body.operations if one.operation.name == "llvm.func" and len(one.operation.regions[0].blocks) > 0
    ]


def find(module: ir.Module, name: str) -> ir.Operation:
    """The function called ``name``; KeyError if there is none."""
    for function in functions(module):
        if ir.StringAttr(function.attributes["sym_name"]).value == name:
            return function
    raise KeyError(name)


def entry(function: ir.Operation) -> ir.Block:
    """The first block of a function."""
    return function.regions[0].blocks[0]


def _signature(name: str, arguments: Sequence[str], result: ir.Type | None) -> dict[str, ir.Attribute]:
    kind = ir.Type.parse(f"!llvm.func<{result or 'void'} ({', '.join(arguments)})>")
    return {"sym_name": ir.StringAttr.get(name), "function_type": ir.TypeAttr.get(kind)}
