"""The togsim dialect in Python: registration, and typed views of the operations that passes read and rebuild.

A view is plain data with SSA values in it: ``Transfer.read(op)`` gives one, ``dataclasses.replace`` changes it, ``build()`` makes the
new operation at the current insertion point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchsim._mlir import ir, irdl
from torchsim.dialect.build import Index, create, integer, integers, known, materialise
from torchsim.dialect.definition import irdl_text
from torchsim.plan.dtypes import DType

TRANSFER, WAIT, BLOCK_BEGIN, BLOCK_END = "togsim.transfer", "togsim.wait", "togsim.block_begin", "togsim.block_end"
VLANE_IDX, PRELOAD, MATMUL = "togsim.vlane_idx", "togsim.preload", "togsim.matmul"
DMA, COMPUTE, MEMORY_BARRIER = "togsim.dma", "togsim.compute", "togsim.memory_barrier"
LOOP = "togsim.loop"
"""Attribute of an ``scf.for`` of the plan: ``work_item``, ``tile`` or ``chunk``."""


def register(context: ir.Context) -> None:
    """Load the dialect into a context."""
    with context, ir.Location.unknown():
        irdl.load_dialects(ir.Module.parse(irdl_text()))


def text(value: str) -> ir.Attribute:
    """String attribute."""
    return ir.StringAttr.get(value)


def get_int(op: ir.Operation, name: str) -> int:
    """Integer attribute of an operation."""
    return ir.IntegerAttr(op.attributes[name]).value


def get_text(op: ir.Operation, name: str) -> str:
    """String attribute of an operation."""
    return ir.StringAttr(op.attributes[name]).value


def get_list(op: ir.Operation, name: str) -> tuple[int, ...]:
    """Array attribute of an operation."""
    return tuple(ir.DenseI64ArrayAttr(op.attributes[name]))


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension of a transfer: extents and strides in elements; ``high`` is the exclusive bound, None when it is the extent."""

    extent: int
    dram_stride: int
    spad_stride: int
    subtile: int
    high: Index | None


@dataclass(frozen=True, slots=True)
class Transfer:
    """``togsim.transfer``. ``offset``: DRAM elements from the argument's base to position 0; ``spad``: arena byte offset of position 0.

    ``buffer_offset``: arena byte offset of the buffer; ``split``: index of the dimension that is laid over the lanes; ``fill``: raw bits.
    """

    id: int
    direction: str
    arg: int
    dtype: DType
    buffer: int
    buffer_offset: int
    dims: tuple[Dim, ...]
    split: int
    vlane_stride: int
    fill: int
    accumulate: bool
    offset: Index
    spad: Index
    tag: Index

    @staticmethod
    def read(op: ir.Operation) -> Transfer:
        """The view of an operation."""
        offset, spad, tag, *highs = (known(value) for value in op.operands)
        bounds = iter(highs)
        columns = zip(*(get_list(op, name) for name in ("extents", "dram_strides", "spad_strides", "subtiles", "bounded")), strict=True)
        return Transfer(
            id=get_int(op, "id"),
            direction=get_text(op, "direction"),
            arg=get_int(op, "arg"),
            dtype=DType(get_text(op, "dtype")),
            buffer=get_int(op, "buffer"),
            buffer_offset=get_int(op, "buffer_offset"),
            dims=tuple(Dim(e, d, s, t, next(bounds) if bounded else None) for e, d, s, t, bounded in columns),
            split=get_int(op, "split"),
            vlane_stride=get_int(op, "vlane_stride"),
            fill=get_int(op, "fill"),
            accumulate=bool(get_int(op, "accumulate")),
            offset=offset,
            spad=spad,
            tag=tag,
        )

    def build(self) -> ir.Operation:
        """A new operation at the current insertion point."""
        operands = [materialise(self.offset), materialise(self.spad), materialise(self.tag)]
        operands += [materialise(dim.high) for dim in self.dims if dim.high is not None]
        attributes = {
            "id": integer(self.id),
            "direction": text(self.direction),
            "arg": integer(self.arg),
            "dtype": text(self.dtype.value),
            "buffer": integer(self.buffer),
            "buffer_offset": integer(self.buffer_offset),
            "extents": integers([dim.extent for dim in self.dims]),
            "dram_strides": integers([dim.dram_stride for dim in self.dims]),
            "spad_strides": integers([dim.spad_stride for dim in self.dims]),
            "subtiles": integers([dim.subtile for dim in self.dims]),
            "bounded": integers([int(dim.high is not None) for dim in self.dims]),
            "split": integer(self.split),
            "vlane_stride": integer(self.vlane_stride),
            "fill": integer(self.fill),
            "accumulate": integer(int(self.accumulate)),
        }
        return create(TRANSFER, operands=operands, attributes=attributes)

    def in_lane_extent(self, dim: int, lanes: int) -> int:
        """Positions of one dimension that a lane holds: the extent, or whole rows of ``vlane_stride`` on the split dimension."""
        extent = self.dims[dim].extent
        if dim != self.split:
            return extent
        return -(-extent // (self.vlane_stride * lanes)) * self.vlane_stride

    def span_bytes(self, lanes: int) -> int:
        """In-lane bytes from the first to past the last element that the transfer touches."""
        last = sum((self.in_lane_extent(d, lanes) - 1) * dim.spad_stride for d, dim in enumerate(self.dims))
        return (last + 1) * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class ByteRange:
    """In-lane bytes ``[begin, begin + length)`` of a buffer."""

    buffer: int
    begin: Index
    length: int


@dataclass(frozen=True, slots=True)
class BlockInfo:
    """What ``togsim.block_begin`` and ``togsim.compute`` carry: id, kind (vector, preload, matmul), declared ranges."""

    id: int
    kind: str
    reads: tuple[ByteRange, ...]
    writes: tuple[ByteRange, ...]

    @staticmethod
    def read(op: ir.Operation) -> BlockInfo:
        """The view of an operation."""
        begins = [known(value) for value in op.operands]
        names = (get_list(op, "read_buffers"), get_list(op, "read_lengths"), get_list(op, "write_buffers"), get_list(op, "write_lengths"))
        count = len(names[0])
        reads = tuple(ByteRange(*parts) for parts in zip(names[0], begins[:count], names[1], strict=True))
        writes = tuple(ByteRange(*parts) for parts in zip(names[2], begins[count:], names[3], strict=True))
        return BlockInfo(get_int(op, "id"), get_text(op, "kind"), reads, writes)

    def build(self, name: str) -> ir.Operation:
        """A ``togsim.block_begin`` or ``togsim.compute`` at the current insertion point."""
        operands = [materialise(one.begin) for one in (*self.reads, *self.writes)]
        attributes = {
            "id": integer(self.id),
            "kind": text(self.kind),
            "read_buffers": integers([one.buffer for one in self.reads]),
            "read_lengths": integers([one.length for one in self.reads]),
            "write_buffers": integers([one.buffer for one in self.writes]),
            "write_lengths": integers([one.length for one in self.writes]),
        }
        return create(name, operands=operands, attributes=attributes)


def wait(tag: Index) -> ir.Operation:
    """``togsim.wait``."""
    return create(WAIT, operands=[materialise(tag)])


def block_end(block: int) -> ir.Operation:
    """``togsim.block_end``."""
    return create(BLOCK_END, attributes={"id": integer(block)})


def block_contents(begin: ir.Operation) -> tuple[list[ir.Operation], ir.Operation]:
    """Operations between a ``block_begin`` and its ``block_end``, and that end."""
    contents: list[ir.Operation] = []
    operations: Sequence[ir.Operation] = [one.operation for one in begin.block.operations]
    start = operations.index(begin) + 1
    for operation in operations[start:]:
        if operation.name == BLOCK_END:
            return contents, operation
        contents.append(operation)
    raise ValueError("block_begin without block_end")  # the verifier reports it with its place
