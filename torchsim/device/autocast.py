"""``torch.autocast("npu")``: matrix products run in the autocast type, everything else falls through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchsim.device.storage import DEVICE_TYPE

_NAMES = ("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "conv1d", "conv2d", "scaled_dot_product_attention")
_KEY = "AutocastPrivateUse1"


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype != torch.float64 else value
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    return value


def _casting(op: Any) -> Callable[..., Any]:
    """A kernel that casts floating point arguments and calls the op below autocast."""
    below = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _KEY))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        dtype = torch.get_autocast_dtype(DEVICE_TYPE)
        with torch._C._ExcludeDispatchKeyGuard(below):
            return op(*(_cast(value, dtype) for value in args), **{name: _cast(value, dtype) for name, value in kwargs.items()})

    return kernel


def register(ops: torch.library.Library, everything: torch.library.Library) -> None:
    """Register the cast list and the fall-through of all other ops."""
    everything.fallback(torch.library.fallthrough_kernel, _KEY)
    for name in _NAMES:
        packet = getattr(torch.ops.aten, name)
        overload = "default" if "default" in packet.overloads() else packet.overloads()[0]
        ops.impl(name, _casting(getattr(packet, overload)), _KEY)
