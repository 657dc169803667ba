"""Run-time options, process wide, with a scoped form. Captured when a kernel is compiled or a session opens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from torchsim.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Options:
    """What happens when a compiled model runs.

    Attributes:
        functional: execute the machine code, so that values are right.
        timing: simulate time; collected by ``torchsim.session()``.
        verify: compare every kernel's outputs with the CPU golden, stop at the first divergence.
        fallback: ``"error"``: an op that cannot be compiled is an error; ``"cpu"``: it runs on the host and is listed in the session.
        dma_order: ``"early"`` or ``"late"`` completion of asynchronous transfers in the functional simulator.
        record: keep what the machine code executed, per kernel call, for the record oracle.
    """

    functional: bool = True
    timing: bool = True
    verify: bool = False
    fallback: str = "error"
    dma_order: Literal["early", "late"] = "early"
    record: bool = False


_CHOICES = {"fallback": ("error", "cpu"), "dma_order": ("early", "late")}
_lock = threading.RLock()
_current = Options()


def current_options() -> Options:
    """The options in force."""
    return _current


def set_options(**changes: Any) -> None:
    """Change options for the process.

    Raises:
        InvalidInputError: unknown name or value.
    """
    global _current
    with _lock:
        _current = _changed(_current, changes)


@contextmanager
def options(**changes: Any) -> Iterator[Options]:
    """Change options for a ``with`` block (process wide: backward runs on other threads)."""
    global _current
    with _lock:
        before = _current
        _current = _changed(before, changes)
    try:
        yield _current
    finally:
        with _lock:
            _current = before


def _changed(base: Options, changes: dict[str, Any]) -> Options:
    known = {item.name: type(getattr(base, item.name)) for item in fields(base)}
    for name, value in changes.items():
        if name not in known:
            raise InvalidInputError(f"unknown option {name!r}", expected=", ".join(known), found=name)
        if name in _CHOICES and value not in _CHOICES[name]:
            raise InvalidInputError(f"bad value of option {name!r}", expected=" or ".join(map(repr, _CHOICES[name])), found=repr(value))
        if not isinstance(value, known[name]):
            raise InvalidInputError(f"bad value of option {name!r}", expected=known[name].__name__, found=repr(value))
    return replace(base, **changes)
