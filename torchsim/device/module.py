"""``torch.npu``: what core asks of a device module. One device, no streams, the CPU's random numbers."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch


class device:
    """``with torch.npu.device(0)``: there is one device, so nothing changes."""

    def __init__(self, index: Any) -> None:
        self.index = index

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        return None


class NpuModule:
    """Installed as ``torch.npu``."""

    device = device

    def is_initialized(self) -> bool:
        """Always: there is nothing to initialise."""
        return True

    def is_available(self) -> bool:
        """Always: the device is simulated."""
        return True

    def device_count(self) -> int:
        """One."""
        return 1

    def current_device(self) -> int:
        """Zero."""
        return 0

    def set_device(self, index: Any) -> None:
        """There is one device."""

    def synchronize(self, index: Any = None) -> None:
        """Kernels complete before their call returns."""

    def manual_seed(self, seed: int) -> None:
        """Device random numbers are the CPU generator's, which torch.manual_seed seeds itself."""

    def manual_seed_all(self, seed: int) -> None:
        """See manual_seed."""

    def get_rng_state(self, index: Any = None) -> torch.Tensor:
        """State of the CPU generator."""
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, index: Any = None) -> None:
        """Set the state of the CPU generator."""
        torch.set_rng_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Types that ``torch.autocast("npu")`` accepts."""
        return [torch.float16, torch.bfloat16]

    def _is_in_bad_fork(self) -> bool:
        """Forking is harmless."""
        return False
