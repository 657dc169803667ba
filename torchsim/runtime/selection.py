"""The selected machine and tile overrides: process wide, with scoped forms."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torchsim.config import Machine, load_machine

_lock = threading.RLock()
_machines: list[Machine] = []
_tiles: list[Mapping[str, object]] = []


def current_machine() -> Machine:
    """The machine in force; TORCHSIM_MACHINE or 128x128 before any choice."""
    with _lock:
        if not _machines:
            _machines.append(load_machine())
        return _machines[-1]


def set_machine(machine: str | os.PathLike[str] | Machine) -> Machine:
    """Select a machine for the process: a name in configs/, a YAML path, or a Machine.

    Raises:
        ConfigError: no such machine or a bad file.
    """
    chosen = load_machine(machine)
    with _lock:
        if _machines:
            _machines[-1] = chosen
        else:
            _machines.append(chosen)
    return chosen


@contextmanager
def machine(choice: str | os.PathLike[str] | Machine) -> Iterator[Machine]:
    """Select a machine for a ``with`` block."""
    chosen = load_machine(choice)
    current_machine()
    with _lock:
        _machines.append(chosen)
    try:
        yield chosen
    finally:
        with _lock:
            _machines.remove(chosen)


def current_tiles() -> Mapping[str, object]:
    """The tile override in force; empty when there is none."""
    return _tiles[-1] if _tiles else {}


@contextmanager
def tiles(**override: object) -> Iterator[None]:
    """Override tile choice for kernels compiled inside the block.

    Args:
        override: tile extent by axis name (``p0=64``, ``r0=16``, ``m=128``), and optionally ``split`` (axis name),
        ``vlane_stride`` (int) and
            ``vector_axis`` (axis name). Names that a kernel does not have are ignored for that kernel; an illegal tile raises
            InvalidInputError when the kernel is compiled, one that does not fit raises SpadOverflowError.
    """
    with _lock:
        _tiles.append(dict(override))
    try:
        yield
    finally:
        with _lock:
            _tiles.pop()
