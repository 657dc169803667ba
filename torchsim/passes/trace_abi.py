"""The trace ABI as the runtime header states it: version, call formats, and where the functions lie in the callback table."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torchsim.errors import InternalError

_POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class TraceAbi:
    """``offsets``: byte offset of every callback in ``togsim_api``; ``call_formats``: the header's text between its markers."""

    version: int
    offsets: dict[str, int]
    call_formats: str


def header_path() -> Path:
    """``togsim/include/togsim_runtime.h`` of the installed togsim."""
    spec = importlib.util.find_spec("togsim")
    if spec is None or not spec.submodule_search_locations:
        raise InternalError("the package togsim is not installed", expected="togsim beside torchsim")
    return Path(next(iter(spec.submodule_search_locations))) / "include" / "togsim_runtime.h"


@cache
def trace_abi() -> TraceAbi:
    """Read the header.

    Raises:
        InternalError: the header lacks the version, a marker, or the struct.
    """
    return parse(header_path().read_text())


def parse(header: str) -> TraceAbi:
    """The ABI of a header's text: ``togsim_api`` starts with two 32-bit integers, then one pointer per callback."""
    version = re.search(r"#define\s+TOGSIM_ABI_VERSION\s+(\d+)", header)
    formats = re.search(r"/\* TOGSIM_CALL_FORMATS begin \*/\n(.*?)/\* TOGSIM_CALL_FORMATS end \*/", header, re.DOTALL)
    struct = re.search(r"typedef struct togsim_api \{(.*?)\} togsim_api;", header, re.DOTALL)
    if version is None or formats is None or struct is None:
        raise InternalError(
            "togsim_runtime.h has another form", expected="TOGSIM_ABI_VERSION, the TOGSIM_CALL_FORMATS markers and struct togsim_api"
        )
    body = re.sub(r"/\*.*?\*/", "", struct[1], flags=re.DOTALL)
    integers = re.findall(r"\bint32_t\s+(\w+)\s*;", body)
    first = len(integers) * 4
    callbacks = re.findall(r"\(\*(\w+)\)\s*\(", body)
    if first % _POINTER_BYTES or not callbacks:
        raise InternalError(
            "togsim_api has another form", expected="an even number of int32_t, then function pointers", found=struct[1].strip()
        )
    offsets = {name: first + _POINTER_BYTES * i for i, name in enumerate(callbacks)}
    return TraceAbi(int(version[1]), offsets, formats[1])
