"""Host bytes of a kernel call's windows, before and after, and runs of the same kernel on copies of them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torchsim.runtime.windows import Window


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Copies of window contents, one uint8 array per window."""

    windows: tuple[Window, ...]
    contents: tuple[np.ndarray[Any, np.dtype[np.uint8]], ...]

    def on_copies(self) -> tuple[tuple[Window, ...], tuple[np.ndarray[Any, np.dtype[np.uint8]], ...]]:
        """The same device addresses over fresh copies of the contents; keep the arrays alive while the windows are in use."""
        copies = tuple(content.copy() for content in self.contents)
        moved = tuple(replace(window, host=copy.ctypes.data) for window, copy in zip(self.windows, copies, strict=True))
        return moved, copies


def take(windows: Sequence[Window]) -> Snapshot:
    """Copy what the windows show now."""
    return Snapshot(tuple(windows), tuple(_read(window) for window in windows))


def _read(window: Window) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(ctypes.string_at(window.host, window.nbytes), np.uint8).copy()


def first_difference(windows: Sequence[Window], expected: Sequence[Any], found: Sequence[Any]) -> str | None:
    """Where two sets of window contents first differ, in words; None when they are equal."""
    for window, want, got in zip(windows, expected, found, strict=True):
        bad = np.flatnonzero(np.asarray(want) != np.asarray(got))
        if bad.size:
            at = int(bad[0])
            return (
                f"device address {window.address + at:#x} (byte {at} of a window of {window.nbytes}): "
                f"expected {int(want[at]):#04x}, found {int(got[at]):#04x}; {bad.size} bytes differ"
            )
    return None
