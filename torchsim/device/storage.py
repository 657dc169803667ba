"""Device storages that alias host memory, and tensors over them.

Every storage of device ``npu`` is made over the bytes of a CPU storage that it keeps alive, so a tensor moves between the two
devices without a copy: ``adopt`` and ``host_view`` only build another view of the same bytes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from torchsim.errors import InvalidInputError, UnsupportedError

DEVICE_TYPE = "npu"
DEVICE = torch.device("privateuseone", 0)  # the enumerator has this name until the backend is renamed, and stays the same device

_SET = torch.ops.aten.set_.source_Storage_storage_offset
_CPU_KERNELS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_HOST = "_torchsim_host"
_MIRROR = "_torchsim_device"
_lock = threading.Lock()


def require_supported(dtype: torch.dtype) -> None:
    """Refuse element types that the device has no storage or arithmetic for.

    Raises:
        UnsupportedError: a complex or quantised type.
    """
    if dtype.is_complex or dtype in (torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4):
        raise UnsupportedError(
            f"device npu has no tensors of type {dtype}",
            expected="a real floating point, integer or bool type",
            found=str(dtype),
            where="creation of an npu tensor",
            hint="keep real and imaginary parts as two real tensors (torch.view_as_real on the CPU)",
        )


def is_npu(value: object) -> bool:
    """Whether ``value`` is a tensor on device npu."""
    return isinstance(value, torch.Tensor) and value.device.type == DEVICE_TYPE


def new_storage(nbytes: int) -> torch.UntypedStorage:
    """A device storage of ``nbytes`` uninitialised bytes."""
    return adopt(torch.UntypedStorage(nbytes))


def adopt(host: torch.UntypedStorage) -> torch.UntypedStorage:
    """The device storage over a CPU storage's bytes; the same object as long as one is alive, so that views stay views."""
    with _lock:
        mirror = getattr(host, _MIRROR, None)
        known = None if mirror is None else mirror()
        if known is not None and known.data_ptr() == host.data_ptr() and known.nbytes() == host.nbytes():
            return known
        storage = _alias(host.data_ptr(), DEVICE, host.nbytes())
        setattr(storage, _HOST, host)
        setattr(host, _MIRROR, weakref.ref(storage))
        return storage


def _alias(pointer: int, device: torch.device, nbytes: int) -> Any:
    """A storage over memory that somebody else owns."""
    return torch._C._construct_storage_from_data_pointer(pointer, device, nbytes)


def host_storage(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """The CPU storage under a device storage."""
    host: Any = getattr(storage, _HOST, None)
    if host is None:  # made by C++ over foreign memory (from_blob in old pickles): alias it and keep it alive from the alias
        host = _alias(storage.data_ptr(), torch.device("cpu"), storage.nbytes())
        host._torchsim_keep = storage
    return host


def view_on(storage: torch.UntypedStorage, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], offset: Any) -> torch.Tensor:
    """A device tensor over a device storage; ``offset`` and strides in elements.

    Raises:
        UnsupportedError: complex or quantised dtype.
    """
    require_supported(dtype)
    tensor = torch._C._acc.create_empty_tensor([0], dtype)  # pyright: ignore[reportAttributeAccessIssue]
    return reset_view(tensor, storage, size, stride, offset)


def reset_view(
    tensor: torch.Tensor, storage: torch.UntypedStorage, size: Sequence[int], stride: Sequence[int], offset: Any
) -> torch.Tensor:
    """Point an existing device tensor at a storage (what ``set_`` means), in place."""
    _SET.redispatch(_CPU_KERNELS, tensor, storage, offset, size, stride)
    return tensor


def host_view(tensor: torch.Tensor) -> torch.Tensor:
    """CPU tensor over the same bytes, size and strides (no copy, no gradient); a CPU tensor is returned as it is."""
    if tensor.device.type != DEVICE_TYPE:
        return tensor
    view = torch.empty(0, dtype=tensor.dtype, device="cpu")
    view.set_(host_storage(tensor.untyped_storage()), tensor.storage_offset(), tensor.size(), tensor.stride())
    return torch._neg_view(view) if tensor.is_neg() else view


def device_view(tensor: torch.Tensor) -> torch.Tensor:
    """Device tensor over a CPU tensor's bytes (no copy, no gradient); a device tensor is returned as it is.

    Raises:
        UnsupportedError: complex, quantised or sparse.
        InvalidInputError: on a third device.
    """
    if tensor.device.type == DEVICE_TYPE:
        return tensor
    if tensor.device.type != "cpu":
        raise InvalidInputError(
            "only CPU memory can be adopted", expected="a tensor on device cpu", found=str(tensor.device), hint="call .cpu() first"
        )
    if tensor.layout != torch.strided:
        raise UnsupportedError(
            f"device npu has no {tensor.layout} tensors",
            expected="a strided tensor",
            found=str(tensor.layout),
            hint="call .to_dense() first",
        )
    plain = tensor.detach().resolve_neg()
    return view_on(adopt(plain.untyped_storage()), plain.dtype, plain.size(), plain.stride(), plain.storage_offset())


def host_pointer(tensor: torch.Tensor) -> int:
    """Host address of the tensor's first element."""
    return tensor.data_ptr()


def storage_nbytes(tensor: torch.Tensor) -> int:
    """Bytes of the whole storage under the tensor."""
    return tensor.untyped_storage().nbytes()
