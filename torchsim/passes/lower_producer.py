"""The skeleton becomes host functions that call back through the trace ABI (togsim_runtime.h).

They are ``togsim_kernel``, ``togsim_kernel_tile`` and ``togsim_abi_version``. Numbers that do not vary live in constant arrays; the others
are stored to a scratch array on the stack before each call (the simulator copies everything before it returns).
"""

from __future__ import annotations

from collections.abc import Sequence

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import Index, collect, constant, create, i64_type, integer, materialise, single, symbol
from torchsim.dialect.function import KERNEL, KERNEL_TILE, call_segments, define, entry, find, pointer_type
from torchsim.dialect.records import ComputeRecord, DmaRecord, RangeRecord
from torchsim.dialect.togsim import COMPUTE, DMA, MEMORY_BARRIER, get_int
from torchsim.passes.trace_abi import trace_abi

ENTRY, TILE, VERSION = "togsim_kernel", "togsim_kernel_tile", "togsim_abi_version"
ARENA_OFFSETS = "togsim.arena_offsets"
"""Module attribute: arena offset of every buffer of the plan."""


def lower_producer(module: ir.Module, machine: Machine) -> None:
    """Rewrite the functions of a skeleton."""
    del machine
    offsets = tuple(ir.DenseI64ArrayAttr(module.operation.attributes[ARENA_OFFSETS]))
    arrays = _Arrays(module)
    tile = _Function(module, KERNEL_TILE, TILE, arrays)
    for op in collect(tile.function, DMA, COMPUTE, MEMORY_BARRIER):
        with ir.InsertionPoint(op):
            if op.name == DMA:
                tile.dma(DmaRecord.read(op))
            elif op.name == COMPUTE:
                tile.compute(ComputeRecord.read(op, offsets))
            else:
                tile.callback("memory_barrier", [op.operands[0], constant(get_int(op, "count"))])
        op.erase()
    kernel = _Function(module, KERNEL, ENTRY, arrays)
    for op in collect(kernel.function, "llvm.call"):
        with ir.InsertionPoint(op):
            kernel.dispatch(list(op.operands)[1:])
        op.erase()
    with ir.InsertionPoint(module.body):
        _version()


class _Arrays:
    """Constant arrays of the module, one per content."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.names: dict[tuple[int, ...], str] = {}

    def pointer(self, values: tuple[int, ...]) -> ir.Value:
        """Address of a constant array."""
        name = self.names.get(values)
        if name is None:
            name = self.names[values] = f"numbers_{len(self.names)}"
            with ir.InsertionPoint.at_block_begin(self.module.body):
                numbers = ", ".join(map(str, values))
                of = f"{len(values)} x i64"
                text = f"llvm.mlir.global private constant @{name}(dense<[{numbers}]> : tensor<{of.replace(' ', '')}>) : !llvm.array<{of}>"
                ir.InsertionPoint.current.insert(ir.Operation.parse(text))
        return single("llvm.mlir.addressof", pointer_type(), attributes={"global_name": symbol(name)})


class _Function:
    """One host function ``(ctx, pointer to i64, i32)`` made from a kernel function."""

    def __init__(self, module: ir.Module, old_name: str, name: str, arrays: _Arrays) -> None:
        self.arrays = arrays
        self.slots = 1
        old = find(module, old_name)
        with ir.InsertionPoint(old):
            self.function = define(name, [pointer_type(), pointer_type(), ir.IntegerType.get_signless(32)], lambda arguments: None)
        block = entry(self.function)
        [end] = block.operations
        for operation in [one.operation for one in entry(old).operations][:-1]:
            operation.move_before(end.operation)
        self.context, vector = block.arguments[0], block.arguments[1]
        with ir.InsertionPoint.at_block_begin(block):
            for i, index in enumerate(list(entry(old).arguments)[1:]):
                index.replace_all_uses_with(single("llvm.load", i64_type(), [_element(vector, i)], {"alignment": integer(8)}))
            entry(old).arguments[0].replace_all_uses_with(self.context)
            self.size = constant(1)
            self.scratch = single(
                "llvm.alloca", pointer_type(), [self.size], {"elem_type": ir.TypeAttr.get(i64_type()), "alignment": integer(8)}
            )
        old.erase()

    def dma(self, record: DmaRecord) -> None:
        """``togsim_api.dma``; all transfers of a kernel are asynchronous."""
        rank = len(record.dims)
        arrays = self._array((*record.dims, *record.strides, *[0] * rank, *record.highs))
        dims, strides, low, high = (_element(arrays, rank * i) for i in range(4))
        ranges = self._ranges(record.reads, record.writes, after=4 * rank)
        operands = [_i32(record.direction), _i32(record.arg), materialise(record.offset), _i32(rank), dims, strides, low, high]
        self.callback("dma", [*operands, _i32(record.element_bits), _i32(1), materialise(record.tag), *ranges])

    def compute(self, record: ComputeRecord) -> None:
        """``togsim_api.compute``."""
        self.callback("compute", [constant(record.id), _i32(record.type), *self._ranges(record.reads, record.writes)])

    def dispatch(self, indices: Sequence[ir.Value]) -> None:
        """``togsim_api.dispatch`` of the tile function."""
        tile = single("llvm.mlir.addressof", pointer_type(), attributes={"global_name": symbol(TILE)})
        self.callback("dispatch", [tile, self._array(tuple(indices)), _i32(len(indices))])

    def callback(self, name: str, operands: Sequence[ir.Value]) -> None:
        """Call a function of the table at the start of the context."""
        pointer = pointer_type()
        table = single("llvm.load", pointer, [self.context], {"alignment": integer(8)})
        attributes = {
            "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
            "rawConstantIndices": ir.DenseI32ArrayAttr.get([trace_abi().offsets[name]]),
        }
        function = single("llvm.load", pointer, [single("llvm.getelementptr", pointer, [table], attributes)], {"alignment": integer(8)})
        arguments = [function, self.context, *operands]
        create("llvm.call", operands=arguments, attributes=call_segments(len(arguments)))

    def _ranges(self, reads: tuple[RangeRecord, ...], writes: tuple[RangeRecord, ...], after: int = 0) -> list[ir.Value]:
        numbers = tuple(number for one in (*reads, *writes) for number in one.fields)
        array = self._array(numbers, after)
        return [array, _i32(len(reads)), _element(array, 4 * len(reads)), _i32(len(writes))]

    def _array(self, numbers: tuple[Index, ...], after: int = 0) -> ir.Value:
        """Address of the numbers: constant data, or the scratch array from element ``after``."""
        known = tuple(number for number in numbers if isinstance(number, int))
        if len(known) == len(numbers):
            return self.arrays.pointer(known or (0,))
        if after + len(numbers) > self.slots:
            self.slots = after + len(numbers)
            self.size.owner.operation.attributes["value"] = integer(self.slots)
        start = _element(self.scratch, after)
        for i, number in enumerate(numbers):
            create("llvm.store", operands=[materialise(number), _element(start, i)], attributes={"alignment": integer(8)})
        return start


def _element(pointer: ir.Value, index: int) -> ir.Value:
    if index == 0:
        return pointer
    attributes = {"elem_type": ir.TypeAttr.get(i64_type()), "rawConstantIndices": ir.DenseI32ArrayAttr.get([index])}
    return single("llvm.getelementptr", pointer_type(), [pointer], attributes)


def _i32(value: int) -> ir.Value:
    return constant(value, 32)


def _version() -> None:
    define(VERSION, [], lambda arguments: [_i32(trace_abi().version)], ir.IntegerType.get_signless(32))
