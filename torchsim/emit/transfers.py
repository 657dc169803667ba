"""Transfers and waits of a plan as togsim operations."""

from __future__ import annotations

import numpy as np

from torchsim.dialect import togsim
from torchsim.dialect.build import Index
from torchsim.emit.body import round_constant_to_bf16
from torchsim.emit.scope import Scope
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Transfer, TransferDim


def emit_transfer(scope: Scope, transfer: Transfer) -> None:
    """One ``togsim.transfer``, still coarse and of any rank."""
    plan = scope.plan
    buffer = plan.buffers[transfer.buffer]
    dims = tuple(togsim.Dim(dim.extent, dim.dram_stride, dim.spad_stride, dim.subtile, _high(scope, dim)) for dim in transfer.dims)
    togsim.Transfer(
        id=transfer.id,
        direction=transfer.direction,
        arg=transfer.arg,
        dtype=buffer.dtype,
        buffer=transfer.buffer,
        buffer_offset=buffer.offset,
        dims=dims,
        split=transfer.split_dim,
        vlane_stride=transfer.vlane_stride,
        fill=raw_bits(transfer.fill, buffer.dtype),
        accumulate=transfer.accumulate,
        offset=scope.affine(transfer.element_offset),
        spad=buffer.offset,
        tag=transfer.tag,
    ).build()


def _high(scope: Scope, dim: TransferDim) -> Index | None:
    return scope.highs[dim.axis, dim.extent] if dim.bounded and dim.axis is not None else None


def raw_bits(value: float, dtype: DType) -> int:
    """The bits of an element, zero-extended."""
    if dtype is DType.BF16:
        return int(np.float32(round_constant_to_bf16(value)).view(np.uint32)) >> 16
    with np.errstate(over="ignore"):
        return int.from_bytes(np.array(value).astype(dtype.numpy).tobytes(), "little")
