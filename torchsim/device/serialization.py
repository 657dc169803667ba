"""torch.save/load, pickle and deepcopy of device tensors.

They allocate through ``UntypedStorage(nbytes, device=...)``, which asks a C++ allocator that a Python backend does not have.
"""

from __future__ import annotations

from typing import Any

import torch

from torchsim.device.factories import storage_from_host
from torchsim.device.storage import DEVICE_TYPE, new_storage
from torchsim.errors import UnsupportedError

_original_new = torch._C.StorageBase.__new__


def _storage_new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
    """``UntypedStorage.__new__`` with device npu handled here."""
    if device is not None and torch.device(device).type == DEVICE_TYPE:
        if args and not isinstance(args[0], int):
            raise UnsupportedError(
                "UntypedStorage(sequence, device='npu')",
                expected="a number of bytes",
                found=type(args[0]).__name__,
                hint="build it on the CPU and move it",
            )
        return new_storage(args[0] if args else 0)
    return _original_new(cls, *args, **({} if device is None else {"device": device}), **kwargs)


def _restore(storage: Any, location: str) -> torch.UntypedStorage | None:
    """torch.load: put a storage that was loaded on the CPU where its tag says."""
    if not location.startswith(DEVICE_TYPE):
        return None
    return storage_from_host(storage if isinstance(storage, torch.UntypedStorage) else storage._untyped_storage)


def install() -> None:
    """Hook storage allocation and torch.load."""
    torch.UntypedStorage.__new__ = _storage_new  # pyright: ignore[reportAttributeAccessIssue]
    torch.serialization.register_package(5, lambda storage: None, _restore)
