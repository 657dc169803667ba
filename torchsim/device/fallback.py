"""Eager ops on device tensors: run the CPU kernel on the host view and hand the result back as a device tensor.

Views stay views (the result shares an argument's storage), in-place and ``out=`` calls return the caller's tensor, and new
results are adopted without a copy.
"""

from __future__ import annotations

from typing import Any

import torch

from torchsim.device.storage import DEVICE_TYPE, adopt, host_view, reset_view, view_on
from torchsim.errors import UnsupportedError


class _Call:
    """One op call: which host tensors and storages stand for which device ones."""

    __slots__ = ("storages", "tensors")

    def __init__(self) -> None:
        self.tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.storages: dict[int, torch.UntypedStorage] = {}

    def to_host(self, value: Any) -> Any:
        """Replace device tensors and devices inside an argument."""
        if isinstance(value, torch.Tensor):
            if value.device.type != DEVICE_TYPE:
                return value
            if value.numel() == 0 and value.untyped_storage().nbytes() == 0:
                # An empty out= tensor may be resized by the op, which must not free memory that an alias still points to.
                host = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="cpu")
            else:
                host = host_view(value)
                self.storages[host.untyped_storage()._cdata] = value.untyped_storage()
            self.tensors[id(host)] = (host, value)
            return host
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == DEVICE_TYPE else value
        if isinstance(value, (list, tuple)):
            return type(value)(self.to_host(item) for item in value)
        return value

    def to_device(self, value: Any, op: Any) -> Any:
        """Replace host tensors inside a result."""
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                return value
            known = self.tensors.get(id(value))
            if known is not None:
                return self._returned_argument(value, known[1], op)
            host = value.untyped_storage()
            storage = self.storages.get(host._cdata)
            return view_on(adopt(host) if storage is None else storage, value.dtype, value.size(), value.stride(), value.storage_offset())
        if isinstance(value, (list, tuple)):
            items = [self.to_device(item, op) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    def _returned_argument(self, host: torch.Tensor, original: torch.Tensor, op: Any) -> torch.Tensor:
        """An in-place or out= result: the caller's tensor, re-pointed when the op resized it."""
        if original.shape == host.shape and original.stride() == host.stride() and host.untyped_storage()._cdata in self.storages:
            return original
        storage = host.untyped_storage()
        mine = self.storages.get(storage._cdata)
        if mine is None:
            return reset_view(original, adopt(storage), host.size(), host.stride(), host.storage_offset())
        if storage.data_ptr() != mine.data_ptr():
            raise UnsupportedError(
                f"{op} resized an out= tensor that already holds data",
                expected="an out= tensor of the result's size or an empty one",
                found=f"size {tuple(original.shape)}",
                where=str(op),
                hint="pass torch.empty(0, device='npu')",
            )
        return reset_view(original, mine, host.size(), host.stride(), host.storage_offset())


def run_on_host(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Boxed fallback of every aten op for the device's dispatch key."""
    call = _Call()
    host_args = [call.to_host(value) for value in args]
    host_kwargs = {name: call.to_host(value) for name, value in kwargs.items()}
    return call.to_device(op(*host_args, **host_kwargs), op)


def convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> torch.Tensor:
    """aten::convolution_overrideable, which core calls for out-of-tree devices."""
    return run_on_host(torch.ops.aten.convolution.default, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def convolution_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    mask: Any,
) -> Any:
    """aten::convolution_backward_overrideable."""
    bias_sizes = [weight.shape[1] * groups if transposed else weight.shape[0]]
    return run_on_host(
        torch.ops.aten.convolution_backward.default,
        grad,
        x,
        weight,
        bias_sizes,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        mask,
    )


def lstm_cell(
    input_gates: torch.Tensor,
    hidden_gates: torch.Tensor,
    cell: torch.Tensor,
    input_bias: torch.Tensor | None = None,
    hidden_bias: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """aten::_thnn_fused_lstm_cell: core has no CPU kernel of that name to fall back to."""
    gates = input_gates + hidden_gates
    if input_bias is not None and hidden_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, c, o = gates.chunk(4, 1)
    i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
    new_cell = f * cell + i * c
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, c, o], 1)


def mse_loss(x: torch.Tensor, target: torch.Tensor, reduction: int = 1) -> torch.Tensor:
    """aten::mse_loss. Core would make the output first and call the out= form, which resizes a reduced output and warns about it."""
    return run_on_host(torch.ops.aten.mse_loss.default, x, target, reduction)


def smooth_l1_loss(x: torch.Tensor, target: torch.Tensor, reduction: int = 1, beta: float = 1.0) -> torch.Tensor:
    """aten::smooth_l1_loss, for the same reason as mse_loss."""
    return run_on_host(torch.ops.aten.smooth_l1_loss.default, x, target, reduction, beta)


KERNELS = {
    "mse_loss": mse_loss,
    "smooth_l1_loss": smooth_l1_loss,
    "convolution_overrideable": convolution,
    "convolution_backward_overrideable": convolution_backward,
    "_thnn_fused_lstm_cell": lstm_cell,
}
"""aten name -> kernel, for ops that the boxed fallback alone does not serve."""
