"""Differentiable moves between cpu and npu that copy nothing: the same bytes under the other device's tag."""

from __future__ import annotations

from typing import Any

import torch

from torchsim.device.storage import device_view, host_view


class ToNpu(torch.autograd.Function):
    """CPU tensor -> npu tensor over the same bytes; the gradient comes back over the same bytes."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        """Adopt the CPU storage."""
        return device_view(tensor)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        """Gradient as a CPU tensor."""
        return ToCpu.apply(grads[0])


class ToCpu(torch.autograd.Function):
    """npu tensor -> CPU tensor over the same bytes."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        """View the host bytes."""
        return host_view(tensor)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        """Gradient as an npu tensor."""
        return ToNpu.apply(grads[0])


def to_npu(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor on device npu, sharing memory with the CPU tensor; keeps gradients flowing. npu tensors pass through.

    Raises:
        UnsupportedError: complex, quantised or sparse.
    """
    if tensor.device.type == "npu":
        return tensor
    return ToNpu.apply(tensor) if tensor.requires_grad and torch.is_grad_enabled() else device_view(tensor)


def to_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor on the CPU, sharing memory with the npu tensor; keeps gradients flowing. CPU tensors pass through."""
    if tensor.device.type == "cpu":
        return tensor
    return ToCpu.apply(tensor) if tensor.requires_grad and torch.is_grad_enabled() else host_view(tensor)
