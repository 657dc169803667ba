"""Hooks into torch's compiler that cost nothing until the compiler is imported.

``import torchsim`` must not import Dynamo or Inductor (seconds). Some of their modules are watched instead; when one is
imported, by whomever, the matching piece of torchsim is put in place. The rest of the front end loads at the first graph.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


class _Loader(importlib.abc.Loader):
    """The real loader, then the callback."""

    def __init__(self, inner: Any, callback: Callable[[ModuleType], None]) -> None:
        self._inner = inner
        self._callback = callback

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """As the real loader."""
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module as usual, then tell the callback."""
        module.__spec__.loader = module.__loader__ = self._inner  # pyright: ignore[reportOptionalMemberAccess]
        self._inner.exec_module(module)
        self._callback(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds watched modules through the other finders and wraps their loader once."""

    def __init__(self) -> None:
        self.watched: dict[str, Callable[[ModuleType], None]] = {}
        self._busy = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Spec with the wrapped loader, or None for every module that is not watched."""
        if fullname not in self.watched or getattr(self._busy, "name", None) == fullname:
            return None
        self._busy.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._busy.name = None
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, self.watched.pop(fullname))
        return spec


_finder = _Finder()


def after_import(name: str, callback: Callable[[ModuleType], None]) -> None:
    """Call ``callback(module)`` once: now if the module is imported already, else right after its import."""
    module = sys.modules.get(name)
    if module is not None:
        callback(module)
        return
    _finder.watched[name] = callback
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
