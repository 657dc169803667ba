"""The device as Dynamo and Inductor see it: one device, one processor, no streams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

# Inductor reads these of any device that is no CPU. Only the processor count steers anything (how reductions are split), and
# torchsim turns splitting off.
_PROPERTIES = SimpleNamespace(
    name="npu",
    multi_processor_count=1,
    total_memory=1 << 34,
    major=1,
    minor=0,
    warp_size=32,
    max_threads_per_multi_processor=1,
    regs_per_multiprocessor=1,
    max_threads_per_block=1,
    gcnArchName="npu",
)


def make_interface(base: Any) -> Any:
    """A DeviceInterface subclass; ``base`` is passed so that this module does not import Dynamo."""

    class Worker:
        """What compile workers ask; the process itself is the only worker."""

        get_device_properties = staticmethod(lambda device=None: _PROPERTIES)
        current_device = staticmethod(lambda: 0)
        set_device = staticmethod(lambda device: None)

    class NpuInterface(base):
        """Device ``npu``."""

        current_device = staticmethod(lambda: 0)
        set_device = staticmethod(lambda device: None)
        exchange_device = staticmethod(lambda device: 0)
        maybe_exchange_device = staticmethod(lambda device: 0)
        device_count = staticmethod(lambda: 1)
        is_available = staticmethod(lambda: True)
        synchronize = staticmethod(lambda device=None: None)
        get_compute_capability = staticmethod(lambda device=None: "npu")
        is_bf16_supported = staticmethod(lambda including_emulation=False: True)
        get_raw_stream = staticmethod(lambda index: 0)

    NpuInterface.Worker = Worker
    return NpuInterface
