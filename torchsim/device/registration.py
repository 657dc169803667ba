"""Registers device ``npu`` with torch, once per process."""

from __future__ import annotations

import threading

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from torchsim.device import autocast, factories, fallback, serialization
from torchsim.device.module import NpuModule
from torchsim.device.storage import DEVICE_TYPE
from torchsim.errors import ConfigError

_lock = threading.Lock()
_libraries: list[torch.library.Library] = []


def register() -> None:
    """Make ``torch.device("npu")`` work; further calls do nothing.

    Raises:
        ConfigError: another out-of-tree backend has taken torch's single private device.
    """
    with _lock:
        if _libraries:
            return
        taken = torch._C._get_privateuse1_backend_name()
        if taken not in ("privateuseone", DEVICE_TYPE):
            raise ConfigError(
                "torch's private device is taken",
                expected="no other out-of-tree backend in this process",
                found=f"device {taken!r}",
                hint="import torchsim in a process of its own",
            )
        _setup_privateuseone_for_python_backend(DEVICE_TYPE, backend_module=NpuModule())
        ops, everything = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
        for name, kernel in {**factories.KERNELS, **fallback.KERNELS}.items():
            ops.impl(name, kernel, "PrivateUse1")
        everything.fallback(fallback.run_on_host, "PrivateUse1")
        autocast.register(ops, everything)
        serialization.install()
        _libraries.extend((ops, everything))  # a library that is collected takes its kernels with it
