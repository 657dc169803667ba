"""Split a coarse transfer into the pieces that its subtiles name, each with its own tag, so that compute can start on the first.

Pieces are issued in row-major order over the subtile counts; piece i completes under ``tag + i``. A transfer that no dimension cuts stays
as it is.
"""

from __future__ import annotations

from dataclasses import replace

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import Index, add, clamp, collect, mul, sub
from torchsim.dialect.nest import nest
from torchsim.dialect.togsim import TRANSFER, Dim, Transfer
from torchsim.errors import PlanError


def fine_grained_dma(module: ir.Module, machine: Machine) -> None:
    """Replace every cut transfer by loops over its pieces.

    Raises:
        PlanError: a subtile does not divide its extent, or cuts the split dimension inside a row of lanes.
    """
    for op in collect(module, TRANSFER):
        transfer = Transfer.read(op)
        if any(dim.subtile != dim.extent for dim in transfer.dims):
            _check(transfer, machine.lanes)
            with ir.InsertionPoint(op):
                _pieces(transfer, machine.lanes)
            op.erase()


def _pieces(transfer: Transfer, lanes: int) -> None:
    nest([dim.extent // dim.subtile for dim in transfer.dims], lambda index: _piece(transfer, index, lanes))


def _piece(transfer: Transfer, index: tuple[Index, ...], lanes: int) -> None:
    offset, spad, number = transfer.offset, transfer.spad, 0
    dims: list[Dim] = []
    for d, (dim, i) in enumerate(zip(transfer.dims, index, strict=True)):
        in_lane = dim.subtile // lanes if d == transfer.split else dim.subtile
        offset = add(offset, mul(i, dim.subtile * dim.dram_stride))
        spad = add(spad, mul(i, in_lane * dim.spad_stride * transfer.dtype.bytes))
        number = add(mul(number, dim.extent // dim.subtile), i)
        cut = dim.subtile != dim.extent
        high = clamp(sub(dim.high, mul(i, dim.subtile)), 0, dim.subtile) if cut and dim.high is not None else dim.high
        dims.append(replace(dim, extent=dim.subtile, high=high))
    replace(transfer, dims=tuple(dims), offset=offset, spad=spad, tag=add(transfer.tag, number)).build()


def _check(transfer: Transfer, lanes: int) -> None:
    for d, dim in enumerate(transfer.dims):
        if dim.extent % dim.subtile:
            raise PlanError(f"transfer {transfer.id}: subtile {dim.subtile} does not divide extent {dim.extent}", where=f"dimension {d}")
        row = transfer.vlane_stride * lanes
        if d == transfer.split and dim.subtile != dim.extent and dim.subtile % row:
            raise PlanError(
                f"transfer {transfer.id}: subtile {dim.subtile} cuts the split dimension inside a row",
                expected=f"a multiple of {row}",
                where=f"dimension {d}",
            )
