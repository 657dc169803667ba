"""Is a file a whole shared object? The dynamic loader maps files without asking: a truncated one ends the process with SIGBUS."""

from __future__ import annotations

import platform
import struct

from togsim.errors import TraceError

_HEADER = struct.Struct("<4s5B7xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SHARED_OBJECT, _NO_BITS = 3, 8
_MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243}


def check_shared_object(data: bytes, where: str) -> None:
    """Check that ``data`` is a complete 64-bit ELF shared object for this processor.

    Raises:
        TraceError: another kind of file, another processor, or bytes are missing.
    """
    if len(data) < _HEADER.size or data[:4] != b"\x7fELF":
        raise TraceError("not a trace producer", expected="an ELF shared object", found=f"{len(data)} bytes, {data[:8]!r}", where=where)
    fields = _HEADER.unpack_from(data)
    bits, order, kind, machine = fields[1], fields[2], fields[6], fields[7]
    if (bits, order, kind) != (2, 1, _SHARED_OBJECT):
        found = f"class {bits}, byte order {order}, type {kind}"
        raise TraceError("not a trace producer", expected="a 64-bit little-endian ELF shared object", found=found, where=where)
    here = _MACHINES.get(platform.machine())
    if here is not None and machine != here:
        raise TraceError(
            "trace producer of another processor",
            expected=f"ELF machine {here} ({platform.machine()})",
            found=str(machine),
            where=where,
            hint="save the trace again on this host",
        )
    _check_parts(data, where, "program header", fields[10], fields[14], fields[15], _SEGMENT)
    _check_parts(data, where, "section header", fields[11], fields[16], fields[17], _SECTION)


def _check_parts(data: bytes, where: str, name: str, start: int, size: int, count: int, form: struct.Struct) -> None:
    """A table of headers and everything that it points to lie inside the file."""
    end = start + size * count
    if count and size != form.size:
        raise TraceError("damaged trace producer", expected=f"{name}s of {form.size} bytes", found=f"{size} bytes", where=where)
    if end <= len(data):
        for index in range(count):
            entry = form.unpack_from(data, start + index * size)
            if form is _SEGMENT:
                end = max(end, entry[2] + entry[5])
            elif entry[1] != _NO_BITS:
                end = max(end, entry[4] + entry[5])
    if end > len(data):
        raise TraceError(
            "truncated trace producer", expected=f"{end} bytes", found=f"{len(data)} bytes", where=where, hint="save the trace again"
        )
