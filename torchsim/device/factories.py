"""The kernels that cannot go through the host fallback: they create or re-point device tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchsim.device.storage import DEVICE_TYPE, adopt, host_storage, host_view, new_storage, require_supported, reset_view, view_on


def _extent(size: Sequence[int], stride: Sequence[int]) -> int:
    """Elements that a strided view spans."""
    if any(extent == 0 for extent in size):
        return 0
    return 1 + sum((extent - 1) * step for extent, step in zip(size, stride))


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: object = None,
    device: object = None,
    pin_memory: object = None,
) -> torch.Tensor:
    """aten::empty_strided."""
    del layout, device, pin_memory
    kind = dtype or torch.get_default_dtype()
    require_supported(kind)
    return view_on(new_storage(_extent(size, stride) * kind.itemsize), kind, size, stride, 0)


def empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: object = None,
    device: object = None,
    pin_memory: object = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """aten::empty.memory_format."""
    del layout, device, pin_memory
    shape = torch.empty(size, dtype=torch.uint8, device="meta", memory_format=memory_format or torch.contiguous_format)
    return empty_strided(shape.size(), shape.stride(), dtype=dtype)


def copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """aten::_copy_from: copy_ where at least one side is on the device."""
    del non_blocking
    require_supported(source.dtype)
    host_view(target).copy_(host_view(source))
    return target


def copy_from_and_resize(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """aten::_copy_from_and_resize."""
    if target.shape != source.shape:
        target.resize_(source.shape)
    return copy_from(source, target)


def set_storage(tensor: torch.Tensor, source: torch.UntypedStorage) -> torch.Tensor:
    """aten::set_.source_Storage."""
    return reset_view(tensor, source, [source.nbytes() // tensor.dtype.itemsize], [1], 0)


def set_storage_view(
    tensor: torch.Tensor, source: torch.UntypedStorage, offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> torch.Tensor:
    """aten::set_.source_Storage_storage_offset; without strides the view is contiguous."""
    if len(size) and not len(stride):
        stride = torch.empty(size, dtype=torch.uint8, device="meta").stride()
    return reset_view(tensor, source, size, stride, offset)


def set_tensor(tensor: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """aten::set_.source_Tensor."""
    return reset_view(tensor, source.untyped_storage(), source.size(), source.stride(), source.storage_offset())


def resize(tensor: torch.Tensor, size: Sequence[int], *, memory_format: torch.memory_format | None = None) -> torch.Tensor:
    """aten::resize_: contiguous afterwards, old bytes kept where they fit."""
    shape = torch.empty(size, dtype=torch.uint8, device="meta", memory_format=memory_format or torch.contiguous_format)
    storage = tensor.untyped_storage()
    needed = (int(tensor.storage_offset()) + _extent(shape.size(), shape.stride())) * tensor.dtype.itemsize
    if needed > storage.nbytes():
        grown = new_storage(needed)
        if storage.nbytes():
            _bytes(host_storage(grown))[: storage.nbytes()].copy_(_bytes(host_storage(storage)))
        storage = grown
    return reset_view(tensor, storage, shape.size(), shape.stride(), tensor.storage_offset())


def scalar(tensor: torch.Tensor) -> object:
    """aten::_local_scalar_dense, behind ``item()``."""
    return host_view(tensor).item()


def storage_from_host(host: torch.UntypedStorage) -> torch.UntypedStorage:
    """A device storage that owns a copy of a CPU storage's bytes."""
    return adopt(host.clone())


def _bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    """The storage as a CPU byte tensor."""
    return torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage)


KERNELS = {
    "empty.memory_format": empty,
    "empty_strided": empty_strided,
    "_copy_from": copy_from,
    "_copy_from_and_resize": copy_from_and_resize,
    "set_.source_Storage": set_storage,
    "set_.source_Storage_storage_offset": set_storage_view,
    "set_.source_Tensor": set_tensor,
    "resize_": resize,
    "_local_scalar_dense": scalar,
}
"""aten name -> kernel, registered under the device's dispatch key."""

__all__ = ["DEVICE_TYPE", "KERNELS", "copy_from", "empty", "empty_strided", "storage_from_host"]
