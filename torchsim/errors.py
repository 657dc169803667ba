"""The one hierarchy of errors.

Every message says what was expected, what was found, where, and what to try; the four parts are kept apart so
that a report can show them and so that an error survives pickling (pytest-xdist sends errors between processes).
"""

from __future__ import annotations

from typing import Any


class TorchsimError(Exception):
    """Base of all errors raised on purpose.

    Args:
        summary: one sentence, what went wrong.
        expected: what would have been right.
        found: what was there instead.
        where: op, kernel, tile, file or config key.
        hint: what to try.
    """

    def __init__(self, summary: str, *, expected: str = "", found: str = "", where: str = "", hint: str = "") -> None:
        self.summary = summary
        self.expected = expected
        self.found = found
        self.where = where
        self.hint = hint
        parts = [("expected", expected), ("found", found), ("where", where), ("try", hint)]
        super().__init__("\n".join([summary, *(f"  {name}: {text}" for name, text in parts if text)]))

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"expected": self.expected, "found": self.found, "where": self.where, "hint": self.hint}
        return (_rebuild, (type(self), self.summary, state, self.__dict__))


def _rebuild(cls: type[TorchsimError], summary: str, state: dict[str, str], attributes: dict[str, Any]) -> TorchsimError:
    error = cls.__new__(cls)
    TorchsimError.__init__(error, summary, **state)
    error.__dict__.update(attributes)
    return error


class UnsupportedError(TorchsimError):
    """A legal program that this version cannot compile (op, dtype, access pattern)."""


class InvalidInputError(TorchsimError):
    """The user's call is wrong (overlapping storages, a tile override that is no tile, a bad argument)."""


class ConfigError(TorchsimError):
    """A machine or option file is wrong: unknown key, bad value, missing key."""


class CapacityError(TorchsimError):
    """Something does not fit the machine."""


class SpadOverflowError(CapacityError):
    """A tile needs more scratchpad per lane than a dispatch may use (requirements T-1, T-2)."""


class PlanError(TorchsimError):
    """A KernelPlan violates one of its rules; raised by the plan validator."""


class LaneSafetyError(TorchsimError):
    """The object code moves a per-lane value through a scalar register (reference: docs/lane-safety.md)."""


class TrapError(TorchsimError):
    """The functional simulator stopped a kernel. ``cause`` is one of the names in docs/isa.md section 6."""

    def __init__(self, summary: str, *, cause: str = "", pc: int = 0, **parts: str) -> None:
        super().__init__(summary, **parts)
        self.cause = cause
        self.pc = pc


class TraceError(TorchsimError):
    """A trace producer or its records are wrong: ABI mismatch, degenerate record, truncated file."""


class DeadlockError(TorchsimError):
    """The timing simulator made no progress; the message lists what each blocked instruction waits for."""


class CacheError(TorchsimError):
    """A cache entry is damaged and could not be rebuilt."""


class DivergenceError(TorchsimError):
    """Two oracles disagree; the message says at which kernel, op and element first."""


class InternalError(TorchsimError):
    """A fault of torchsim itself; please report it with the message."""
