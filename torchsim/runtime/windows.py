"""From tensors to device memory: argument addresses, windows over host bytes, and the check against overlapping storages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torchsim.errors import InvalidInputError
from torchsim.plan.group import TensorArg
from torchsim.runtime.arena import Arena


@dataclass(frozen=True, slots=True)
class Window:
    """Device bytes [address, address + nbytes) are the host bytes at ``host``."""

    address: int
    host: int
    nbytes: int
    writable: bool


@dataclass(slots=True)
class _Interval:
    """Host bytes that arguments of one storage touch."""

    begin: int
    end: int
    writable: bool
    storage: int
    offset_to_device: int
    name: str


def map_arguments(args: Sequence[TensorArg], tensors: Sequence[Any], arena: Arena) -> tuple[list[int], list[Window]]:
    """Device address of every argument, and the windows that make exactly the touched bytes reachable.

    Args:
        args: the kernel's arguments.
        tensors: tensors whose element 0 of the argument is ``data_ptr()``, one per argument.
        arena: gives each storage its device address.

    Raises:
        InvalidInputError: two distinct storages share bytes and one of them is written (the compiled program assumes that distinct storages
            are distinct memory).
    """
    bases: list[int] = []
    intervals: list[_Interval] = []
    for arg, tensor in zip(args, tensors, strict=True):
        storage = tensor.untyped_storage()
        host = tensor.data_ptr()
        shift = arena.address(storage) - storage.data_ptr()
        bases.append(host + shift)
        nbytes = arg.elements * arg.dtype.bytes
        if nbytes:
            intervals.append(_Interval(host, host + nbytes, arg.role != "input", storage.data_ptr(), shift, arg.name))
    return bases, _merge(intervals)


def _merge(intervals: list[_Interval]) -> list[Window]:
    """Windows without overlap: touching intervals of one storage become one window."""
    intervals.sort(key=lambda item: (item.begin, item.end))
    merged: list[_Interval] = []
    for item in intervals:
        last = merged[-1] if merged else None
        if last is None or item.begin >= last.end:
            merged.append(item)
        elif last.offset_to_device == item.offset_to_device:
            last.end = max(last.end, item.end)
            last.writable = last.writable or item.writable
        elif last.writable or item.writable:
            raise InvalidInputError(
                "two storages share memory and a kernel writes one of them",
                expected="distinct storages over distinct bytes, or views of one storage",
                found=f"arguments {last.name!r} and {item.name!r} overlap in host bytes {item.begin:#x}..{min(last.end, item.end):#x}",
                hint="pass views of one tensor, or clone() one of them",
            )
        else:
            merged.append(item)
    return [Window(item.begin + item.offset_to_device, item.begin, item.end - item.begin, item.writable) for item in merged]
