"""Compare two final states of a kernel bit for bit and describe the first difference of each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from torchsim.errors import InvalidInputError

from .protocol import Bytes, SpikeWindow

_SHOWN = 16


class FinalState(Protocol):
    """What is compared: final windows in the order given, and the scratchpad as uint8 [lanes, bytes]."""

    @property
    def windows(self) -> Sequence[Bytes]: ...
    @property
    def spad(self) -> npt.NDArray[np.uint8]: ...


@dataclass(frozen=True, slots=True)
class Difference:
    """The first differing byte of one window or of the scratchpad.

    Attributes:
        place: "window" or "scratchpad".
        name: the window's name or device address; empty for the scratchpad.
        lane: lane of the scratchpad byte, None for a window.
        offset: byte offset in the window or in the lane's scratchpad.
        element: number of the element of a window; None for the scratchpad.
        found, expected: bytes from the start of that element (scratchpad: aligned to 8), at most 16; from the state under
            test and from Spike.
        count: differing bytes in this place altogether.
    """

    place: str
    name: str
    lane: int | None
    offset: int
    element: int | None
    found: bytes
    expected: bytes
    count: int

    def __str__(self) -> str:
        if self.lane is not None:
            where = f"scratchpad lane {self.lane}, byte {self.offset:#x}"
        else:
            where = f"window {self.name}, element {self.element}, byte {self.offset}"
        return f"{where}: {self.found.hex(' ')}, Spike has {self.expected.hex(' ')} ({self.count} bytes differ)"


def compare(
    found: FinalState,
    spike: FinalState,
    *,
    windows: Sequence[SpikeWindow] | None = None,
    spad_used_bytes: int | None = None,
    ignore_windows: Mapping[int, npt.NDArray[np.bool_]] | None = None,
    ignore_spad: npt.NDArray[np.bool_] | None = None,
) -> list[Difference]:
    """Differences between a simulator's final state and Spike's; empty when they are equal.

    Args:
        found: state under test.
        spike: result of ``SpikeOracle.run``.
        windows: what was passed to ``run``; gives names and element sizes to the report.
        spad_used_bytes: compare only so many bytes of each lane; all that both have by default.
        ignore_windows: by window number a byte mask, True where bits may differ (results of f64 special functions).
        ignore_spad: byte mask for the scratchpad, bool [lanes, bytes] or broadcastable to it.

    Raises:
        InvalidInputError: the two states do not have the same windows, lanes or scratchpad size.
    """
    if [len(one) for one in found.windows] != [len(one) for one in spike.windows]:
        sizes = [str([len(one) for one in state.windows]) for state in (spike, found)]
        raise InvalidInputError("the states have different windows", expected=sizes[0], found=sizes[1])
    result: list[Difference] = []
    for number, (ours, theirs) in enumerate(zip(found.windows, spike.windows)):
        a, b = np.frombuffer(ours, np.uint8), np.frombuffer(theirs, np.uint8)
        differs = _differing(a, b, None if ignore_windows is None else ignore_windows.get(number))
        if differs.size:
            window = windows[number] if windows else None
            size = window.element_bytes if window else 1
            start = int(differs[0]) // size * size
            name = (window.name or f"{window.address:#x}") if window else str(number)
            shown = slice(start, start + _SHOWN)
            result.append(
                Difference("window", name, None, int(differs[0]), start // size, a[shown].tobytes(), b[shown].tobytes(), int(differs.size))
            )
    result += _compare_spad(found.spad, spike.spad, spad_used_bytes, ignore_spad)
    return result


def _compare_spad(
    ours: npt.NDArray[np.uint8], theirs: npt.NDArray[np.uint8], used: int | None, ignore: npt.NDArray[np.bool_] | None
) -> list[Difference]:
    if used is not None:
        ours, theirs = ours[:, :used], theirs[:, :used]
    if ours.shape != theirs.shape:
        raise InvalidInputError("the states have different scratchpads", expected=str(theirs.shape), found=str(ours.shape))
    mask = None if ignore is None else np.broadcast_to(ignore, ours.shape).reshape(-1)
    differs = _differing(ours.reshape(-1), theirs.reshape(-1), mask)
    if not differs.size:
        return []
    lane, offset = divmod(int(differs[0]), ours.shape[1])
    shown = slice(offset // 8 * 8, offset // 8 * 8 + _SHOWN)
    return [Difference("scratchpad", "", lane, offset, None, ours[lane, shown].tobytes(), theirs[lane, shown].tobytes(), int(differs.size))]


def _differing(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8], ignore: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.intp]:
    if ignore is None and np.array_equal(a, b):
        return np.empty(0, np.intp)
    differs = a != b
    if ignore is not None:
        differs &= ~ignore
    return np.flatnonzero(differs)
