"""Checks of an installation, for ``torchsim doctor``."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from torchsim.runtime.cache import cache_dir

REQUIRED_TORCH = "2.13.0"
"""Inductor's internals move between releases; this one is what the front end is written against."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; a failed optional check is a warning."""

    name: str
    ok: bool
    required: bool
    detail: str


def checks() -> list[Check]:
    """All findings, in the order in which a user would fix them."""
    return [
        Check("python", sys.version_info >= (3, 11), True, platform.python_version()),
        _version("torch", REQUIRED_TORCH),
        _attempt("MLIR bindings", True, lambda: _import("mlir.ir")),
        _attempt("llvmlite", True, lambda: _import("llvmlite.binding")),
        _attempt("functional simulator", True, lambda: _import("torchsim.iss._core")),
        _attempt("TOGSim", True, lambda: _import("togsim._core")),
        _attempt("cache folder", True, _writable_cache),
        _attempt("stock Spike", False, lambda: "spike " + metadata.version("spike")),
        Check(
            "C++ compiler",
            shutil.which(os.environ.get("CXX", "g++")) is not None,
            False,
            shutil.which(os.environ.get("CXX", "g++")) or "not found: needed by the Spike oracle and to build from source",
        ),
    ]


def _attempt(name: str, required: bool, action: Callable[[], str]) -> Check:
    try:
        return Check(name, True, required, action())
    except (ImportError, OSError, metadata.PackageNotFoundError) as error:
        return Check(name, False, required, f"{type(error).__name__}: {error}")


def _import(module: str) -> str:
    return str(getattr(importlib.import_module(module), "__file__", module))


def _version(package: str, wanted: str) -> Check:
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        return Check(package, False, True, f"not installed, expected {wanted}")
    return Check(package, found.split("+")[0] == wanted, True, f"{found}, expected {wanted}")


def _writable_cache() -> str:
    folder = cache_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder):
        return str(folder)
