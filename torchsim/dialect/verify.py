"""Rules of the togsim dialect that IRDL cannot state: between operands and attributes, and between operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchsim._mlir import ir
from torchsim.dialect.build import collect
from torchsim.dialect.togsim import (
    BLOCK_BEGIN,
    BLOCK_END,
    COMPUTE,
    DMA,
    MATMUL,
    MEMORY_BARRIER,
    PRELOAD,
    TRANSFER,
    WAIT,
    get_int,
    get_list,
    get_text,
)
from torchsim.errors import InternalError
from torchsim.plan.dtypes import DType

_ACCUMULATING = (DType.I8, DType.I16, DType.I32, DType.I64, DType.F32, DType.F64, DType.U8)
_OUTSIDE_BLOCKS = (TRANSFER, WAIT, DMA, COMPUTE, MEMORY_BARRIER)
_STRIDE_LIMIT = 1 << 31


def verify(module: ir.Module, lanes: int, where: str = "") -> None:
    """MLIR's own verification, then the rules of the dialect.

    Raises:
        InternalError: names the operation and the rule; ``where`` says after which pass.
    """
    try:
        module.operation.verify()
    except Exception as error:
        raise InternalError("the IR is invalid", found=str(error), where=where) from error
    checks: dict[str, Callable[[ir.Operation], Iterator[str]]] = {
        TRANSFER: _transfer,
        DMA: _geometry,
        BLOCK_BEGIN: _ranges,
        COMPUTE: _ranges,
        PRELOAD: lambda op: _is(get_int(op, "count") == lanes, f"count is not the number of lanes, {lanes}"),
        MATMUL: lambda op: _is(get_int(op, "rows") > 0, "no rows"),
    }
    for op in collect(module, *checks):
        for problem in checks[op.name](op):
            raise InternalError(f"{op.name}: {problem}", found=str(op), where=where)
    _blocks(module, where)


def _is(condition: bool, problem: str) -> Iterator[str]:
    if not condition:
        yield problem


def _geometry(op: ir.Operation) -> Iterator[str]:
    names = [name for name in ("extents", "dram_strides", "spad_strides", "subtiles", "bounded") if name in op.attributes]
    lengths = {len(get_list(op, name)) for name in names}
    yield from _is(len(lengths) == 1 and lengths != {0}, "the lists of dimensions differ in length")
    fixed = 3
    yield from _is(len(op.operands) - fixed == sum(get_list(op, "bounded")), "as many bounds as bounded dimensions are needed")
    yield from _is(all(extent > 0 for extent in get_list(op, "extents")), "an extent is not positive")
    yield from _is(
        all(-_STRIDE_LIMIT <= stride < _STRIDE_LIMIT for stride in get_list(op, "dram_strides")), "a DRAM stride exceeds 32 bits"
    )
    yield from _is(get_text(op, "direction") in ("load", "store"), "direction is neither load nor store")


def _transfer(op: ir.Operation) -> Iterator[str]:
    yield from _geometry(op)
    extents, subtiles = get_list(op, "extents"), get_list(op, "subtiles")
    yield from _is(0 <= get_int(op, "split") < len(extents), "the split dimension does not exist")
    yield from _is(get_int(op, "vlane_stride") > 0, "vlane_stride is not positive")
    yield from _is(all(extent % subtile == 0 for extent, subtile in zip(extents, subtiles)), "a subtile does not divide its extent")
    is_store = get_text(op, "direction") == "store"
    yield from _is(not (is_store and get_int(op, "fill")), "a store has a fill")
    accumulates = bool(get_int(op, "accumulate"))
    yield from _is(not accumulates or is_store and DType(get_text(op, "dtype")) in _ACCUMULATING, "this transfer cannot accumulate")


def _ranges(op: ir.Operation) -> Iterator[str]:
    reads, writes = len(get_list(op, "read_buffers")), len(get_list(op, "write_buffers"))
    same = reads == len(get_list(op, "read_lengths")) and writes == len(get_list(op, "write_lengths"))
    yield from _is(same and len(op.operands) == reads + writes, "ranges, lengths and begins differ in number")
    yield from _is(get_text(op, "kind") in ("vector", "preload", "matmul"), "unknown kind")


def _blocks(module: ir.Module, where: str) -> None:
    """Begin and end pair up in one block of the IR, nothing forbidden lies between, and no value escapes."""
    for begin in collect(module, BLOCK_BEGIN):
        inside: list[ir.Operation] = []
        end = None
        started = False
        for one in begin.block.operations:
            operation = one.operation
            if operation == begin:
                started = True
            elif started and operation.name == BLOCK_END:
                end = operation
                break
            elif started:
                inside += [operation, *_nested(operation)]
        if end is None or get_int(end, "id") != get_int(begin, "id"):
            raise InternalError("togsim.block_begin without its end", found=str(begin), where=where)
        for operation in inside:
            if operation.name in (*_OUTSIDE_BLOCKS, BLOCK_BEGIN):
                raise InternalError(f"{operation.name} inside a block", found=str(operation), where=where)
            if any(use.owner.operation not in inside for result in operation.results for use in result.uses):
                raise InternalError("a value of a block is used outside", found=str(operation), where=where)
    if len(collect(module, BLOCK_BEGIN)) != len(collect(module, BLOCK_END)):
        raise InternalError("togsim.block_end without its begin", where=where)


def _nested(operation: ir.Operation) -> list[ir.Operation]:
    return [
        one.operation
        for region in operation.regions
        for block in region.blocks
        for two in block.operations
        for one in (two, *_nested(two.operation))
    ]
