"""Transfers and waits become CONFIG, TAG, MVIN/MVOUT and WAIT instructions (docs/isa.md sections 3 and 4).

Loads are spread over the three load slots. A slot that only one transfer of the function uses is configured once, before the outermost loop
in which its bounds are known; a group of CONFIGs is moved whole, because CONFIG resets what the others set.
"""

from __future__ import annotations

from collections import Counter

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import Index, add, collect, integer, mul, single
from torchsim.dialect.function import entry, functions, pointer_type
from torchsim.dialect.spad import address
from torchsim.dialect.togsim import TRANSFER, WAIT, Transfer
from torchsim.passes.instructions import Instructions
from torchsim.plan.dtypes import DType

LOAD_SLOTS = (("npu.mvin", 0), ("npu.mvin2", 1), ("npu.mvin3", 2))
STORE_SLOT = ("npu.mvout", 3)
TYPE_CODES = {
    DType.I8: 1, DType.I16: 2, DType.I32: 3, DType.I64: 4, DType.F16: 5, DType.F32: 6, DType.F64: 7, DType.BF16: 8,
    DType.U8: 9, DType.BOOL: 9,
}  # fmt: skip
_RANK = 4
_ACCUMULATE = 1 << 8


def lower_transfer(module: ir.Module, machine: Machine) -> None:
    """Rewrite every ``togsim.transfer`` (rank <= 4) and ``togsim.wait``."""
    del machine
    instructions = Instructions(module)
    for op in collect(module, WAIT):
        with ir.InsertionPoint(op):
            instructions.emit("npu.wait", op.operands[0], 0)
        op.erase()
    for function in functions(module):
        transfers = collect(function, TRANSFER)
        loads = 0
        slots: list[tuple[str, int]] = []
        for op in transfers:
            is_load = Transfer.read(op).direction == "load"
            slots.append(LOAD_SLOTS[loads % len(LOAD_SLOTS)] if is_load else STORE_SLOT)
            loads += is_load
        users = Counter(slots)
        bases: dict[int, ir.Value] = {}
        for op, slot in zip(transfers, slots):
            _lower(op, slot, users[slot] == 1, bases, function, instructions)


def _lower(
    op: ir.Operation, slot: tuple[str, int], alone: bool, bases: dict[int, ir.Value], function: ir.Operation, instructions: Instructions
) -> None:
    transfer = Transfer.read(op)
    with ir.InsertionPoint(_hoisted(op, transfer) if alone else op):
        _configure(transfer, slot[1], instructions)
    if transfer.arg not in bases:
        with ir.InsertionPoint.at_block_begin(entry(function)):
            bases[transfer.arg] = _base(function, transfer.arg)
    with ir.InsertionPoint(op):
        instructions.emit("npu.tag", transfer.tag, 0)
        instructions.emit(slot[0], add(bases[transfer.arg], mul(transfer.offset, transfer.dtype.bytes)), address(transfer.spad))
    op.erase()


def _base(function: ir.Operation, arg: int) -> ir.Value:
    """The tensor's address from the argument block, which never changes while the kernel runs."""
    attributes = {"elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(64)), "rawConstantIndices": ir.DenseI32ArrayAttr.get([arg])}
    place = single("llvm.getelementptr", pointer_type(), [entry(function).arguments[0]], attributes)
    return single("llvm.load", ir.IntegerType.get_signless(64), [place], {"alignment": integer(8), "invariant": ir.UnitAttr.get()})


def _configure(transfer: Transfer, slot: int, instructions: Instructions) -> None:
    dims = transfer.dims
    pad = _RANK - len(dims)
    extents = [1] * pad + [dim.extent for dim in dims]
    dram, spad = ([0] * pad + list(strides) for strides in zip(*((dim.dram_stride, dim.spad_stride) for dim in dims)))
    instructions.emit(
        "npu.config", _fields16(extents), transfer.vlane_stride << 32 | slot << 17 | (transfer.split + pad) << 14 | transfer.dtype.bytes
    )
    instructions.emit("npu.config2", _words(dram[0], dram[1]), _words(dram[2], dram[3]))
    instructions.emit("npu.config3", _words(spad[0], spad[1]), _words(spad[2], spad[3]))
    if any(dim.high is not None for dim in dims):
        highs: list[Index] = [1] * pad + [dim.extent if dim.high is None else dim.high for dim in dims]
        packed: Index = 0
        for d, high in enumerate(highs):
            packed = add(packed, mul(high, 1 << (16 * (_RANK - 1 - d))))
        instructions.emit("npu.config_mask", 0, packed)
    if transfer.fill or transfer.accumulate:
        instructions.emit("npu.config_fill", transfer.fill, TYPE_CODES[transfer.dtype] | (_ACCUMULATE if transfer.accumulate else 0))


def _fields16(values: list[int]) -> int:
    return sum(value << (16 * (_RANK - 1 - d)) for d, value in enumerate(values))


def _words(high: int, low: int) -> int:
    return (high & 0xFFFF_FFFF) << 32 | low & 0xFFFF_FFFF


def _hoisted(op: ir.Operation, transfer: Transfer) -> ir.Operation:
    """The outermost operation before which all bounds are known: the transfer or a loop around it."""
    highs = [dim.high for dim in transfer.dims if not isinstance(dim.high, int | None)]
    place = op
    while (parent := place.block.owner.operation).name == "scf.for" and not any(_inside(high, parent) for high in highs):
        place = parent
    return place


def _inside(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is computed in a loop (or is its induction variable)."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    while True:
        parent = block.owner.operation
        if parent == loop:
            return True
        if parent.name != "scf.for":
            return False
        block = parent.block
