"""The timing form of a kernel: loops, transfers and waits stay, straight-line compute becomes one costed ``togsim.compute`` per block."""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import collect, create, integer, integers, materialise, sub
from torchsim.dialect.togsim import BLOCK_BEGIN, COMPUTE, DMA, MEMORY_BARRIER, TRANSFER, WAIT, BlockInfo, Transfer, block_contents, text


def skeleton(module: ir.Module, machine: Machine) -> None:
    """Rewrite blocks, transfers and waits into the records that the trace carries; drop the arena."""
    for op in collect(module, BLOCK_BEGIN):
        contents, end = block_contents(op)
        with ir.InsertionPoint(op):
            BlockInfo.read(op).build(COMPUTE)
        for one in (end, *reversed(contents), op):
            one.erase()
    for op in collect(module, TRANSFER):
        with ir.InsertionPoint(op):
            _dma(Transfer.read(op), machine.lanes)
        op.erase()
    for op in collect(module, WAIT):
        with ir.InsertionPoint(op):
            create(MEMORY_BARRIER, operands=[op.operands[0]], attributes={"count": integer(0)})
        op.erase()
    for op in collect(module, "llvm.mlir.global"):
        op.erase()


def _dma(transfer: Transfer, lanes: int) -> None:
    dims = transfer.dims
    operands = [materialise(transfer.offset), materialise(sub(transfer.spad, transfer.buffer_offset)), materialise(transfer.tag)]
    operands += [materialise(dim.high) for dim in dims if dim.high is not None]
    attributes = {
        "direction": text(transfer.direction),
        "arg": integer(transfer.arg),
        "element_bits": integer(transfer.dtype.bytes * 8),
        "buffer": integer(transfer.buffer),
        "buffer_offset": integer(transfer.buffer_offset),
        "length": integer(transfer.span_bytes(lanes)),
        "extents": integers([dim.extent for dim in dims]),
        "dram_strides": integers([dim.dram_stride for dim in dims]),
        "bounded": integers([int(dim.high is not None) for dim in dims]),
    }
    create(DMA, operands=operands, attributes=attributes)
