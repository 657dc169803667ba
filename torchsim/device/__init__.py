"""Device ``npu``: plain torch tensors whose storage aliases host memory, registered as the PrivateUse1 backend from Python.

``register()`` is called by ``import torchsim``. Nothing here imports the compiler.
"""

from __future__ import annotations

from torchsim.device.overlap import check_overlap
from torchsim.device.registration import register
from torchsim.device.retag import ToCpu, ToNpu, to_cpu, to_npu
from torchsim.device.storage import (
    DEVICE_TYPE,
    adopt,
    device_view,
    host_pointer,
    host_storage,
    host_view,
    is_npu,
    require_supported,
    storage_nbytes,
)

__all__ = [
    "DEVICE_TYPE",
    "ToCpu",
    "ToNpu",
    "adopt",
    "check_overlap",
    "device_view",
    "host_pointer",
    "host_storage",
    "host_view",
    "is_npu",
    "register",
    "require_supported",
    "storage_nbytes",
    "to_cpu",
    "to_npu",
]
