"""Errors of the timing simulator. Each keeps its four parts apart and survives pickling."""

from __future__ import annotations

from typing import Any


class TogsimError(Exception):
    """Base of all errors that togsim raises on purpose.

    Args:
        summary: one sentence, what went wrong.
        expected: what would have been right.
        found: what was there instead.
        where: work-item, record, file or config key.
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
        return (_rebuild, (type(self), self.summary, self.expected, self.found, self.where, self.hint))


def _rebuild(cls: type[TogsimError], summary: str, expected: str, found: str, where: str, hint: str) -> TogsimError:
    return cls(summary, expected=expected, found=found, where=where, hint=hint)


class ConfigError(TogsimError):
    """The machine description cannot be simulated: unknown key, zero or negative figure, unknown name."""


class TraceError(TogsimError):
    """A trace producer or its records are wrong: ABI version, missing symbol, degenerate record."""


class DeadlockError(TogsimError):
    """No event can make progress; ``found`` lists every blocked instruction and what it waits for."""
