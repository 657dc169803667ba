"""Canonical device addresses (requirement G-23).

Within one session storages get device addresses in the order in which kernels first use them, 512-byte aligned, from a fresh
arena. Machine code, DMA logs and timing see only these addresses, so cycles depend neither on earlier allocations nor on
the process.
"""

from __future__ import annotations

from typing import Any

DEVICE_BASE = 0x10_0000_0000
ALIGNMENT = 512


class Arena:
    """Addresses of one session. An address is never used twice within an arena, so a freed storage cannot be taken for a new one."""

    def __init__(self) -> None:
        self._next = DEVICE_BASE

    def address(self, storage: Any) -> int:
        """Device address of a ``torch.UntypedStorage``, assigned at the first call.

        The assignment is kept on the storage's Python object, which lives as long as the storage.
        """
        assigned = getattr(storage, "_torchsim_address", None)
        if assigned is not None and assigned[0] is self:
            return assigned[1]
        address = self._next
        self._next += -(-max(storage.nbytes(), 1) // ALIGNMENT) * ALIGNMENT
        storage._torchsim_address = (self, address)
        return address
