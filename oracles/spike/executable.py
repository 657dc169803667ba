"""A bare-metal ELF64 executable for riscv64: loadable segments and global symbols, as Spike's loader wants them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_EHDR, _PHDR, _SHDR, _SYM = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ", "<IBBHQQ"
_ET_EXEC, _EM_RISCV, _PT_LOAD, _RWX, _SYMTAB, _STRTAB, _GLOBAL, _ABSOLUTE = 2, 243, 1, 7, 2, 3, 0x10, 0xFFF1


def elf(entry: int, segments: Sequence[tuple[int, bytes]], symbols: Mapping[str, int]) -> bytes:
    """The file: ``segments`` are (address, contents), readable, writable and executable."""
    head = struct.calcsize(_EHDR)
    first = head + len(segments) * struct.calcsize(_PHDR)
    headers, contents, offset = b"", b"", first
    for address, data in segments:
        headers += struct.pack(_PHDR, _PT_LOAD, _RWX, offset, address, address, len(data), len(data), 1)
        contents += data
        offset += len(data)
    names, table = b"\0", struct.pack(_SYM, 0, 0, 0, 0, 0, 0)
    for name, address in symbols.items():
        table += struct.pack(_SYM, len(names), _GLOBAL, 0, _ABSOLUTE, address, 8)
        names += name.encode() + b"\0"
    section_names = b"\0.symtab\0.strtab\0.shstrtab\0"
    sections, at = struct.pack(_SHDR, *[0] * 10), offset
    for name, kind, data, link, entry_bytes in (
        (b".symtab", _SYMTAB, table, 2, struct.calcsize(_SYM)),
        (b".strtab", _STRTAB, names, 0, 0),
        (b".shstrtab", _STRTAB, section_names, 0, 0),
    ):
        sections += struct.pack(_SHDR, section_names.index(name), kind, 0, 0, at, len(data), link, 1, 1, entry_bytes)
        at += len(data)
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    counts = (head, struct.calcsize(_PHDR), len(segments), struct.calcsize(_SHDR), 4, 3)
    header = struct.pack(_EHDR, identity, _ET_EXEC, _EM_RISCV, 1, entry, head, at, 0, *counts)
    return header + headers + contents + table + names + section_names + sections
