"""Bring transfers to the four dimensions that the DMA engine has.

Dimensions of extent 1 go first (the split dimension stays). If more than four are left, the outermost non-split ones become loops,
row-major. All parts share the transfer's tag. A part whose peeled position is out of bounds is still issued, with bound 0 everywhere, so
that loads fill and every work-item issues the same transfers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torchsim._mlir import ir
from torchsim.config import Machine
from torchsim.dialect.build import Index, add, binary, collect, compare_integers, materialise, mul, select
from torchsim.dialect.nest import nest
from torchsim.dialect.togsim import TRANSFER, Dim, Transfer

MAX_RANK = 4


def peel_transfer(module: ir.Module, machine: Machine) -> None:
    """Rewrite every transfer of more than four dimensions or with dimensions of extent 1."""
    del machine
    for op in collect(module, TRANSFER):
        transfer = Transfer.read(op)
        units = [d for d, dim in enumerate(transfer.dims) if dim.extent == 1 and d != transfer.split]
        rest = [d for d in range(len(transfer.dims)) if d not in units]
        peeled = [d for d in rest if d != transfer.split][: max(0, len(rest) - MAX_RANK)]
        if units or peeled:
            with ir.InsertionPoint(op):
                _parts(transfer, units, peeled)
            op.erase()


def _parts(transfer: Transfer, units: Sequence[int], peeled: Sequence[int]) -> None:
    nest([transfer.dims[d].extent for d in peeled], lambda index: _part(transfer, units, peeled, index))


def _part(transfer: Transfer, units: Sequence[int], peeled: Sequence[int], index: tuple[Index, ...]) -> None:
    position: dict[int, Index] = dict.fromkeys(units, 0) | dict(zip(peeled, index))
    offset, spad = transfer.offset, transfer.spad
    inside: ir.Value | None = None
    for d, i in position.items():
        dim = transfer.dims[d]
        offset = add(offset, mul(i, dim.dram_stride))
        spad = add(spad, mul(i, dim.spad_stride * transfer.dtype.bytes))
        if dim.high is not None:
            active = compare_integers("slt", materialise(i), materialise(dim.high))
            inside = active if inside is None else binary("arith.andi", inside, active)
    kept = [d for d in range(len(transfer.dims)) if d not in position]
    dims = tuple(_bounded(transfer.dims[d], inside) for d in kept)
    replace(transfer, dims=dims, split=kept.index(transfer.split), offset=offset, spad=spad).build()


def _bounded(dim: Dim, inside: ir.Value | None) -> Dim:
    if inside is None:
        return dim
    return replace(dim, high=select(inside, dim.extent if dim.high is None else dim.high, 0))
