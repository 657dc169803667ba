"""Read an ELF64 relocatable file for riscv64: sections, symbols, relocations. Every read is bounds-checked."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from torchsim.errors import InternalError

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHT_SYMTAB, SHT_RELA, SHT_NOBITS = 2, 4, 8
SHN_UNDEF, SHN_ABS = 0, 0xFFF1
STB_LOCAL, STT_FUNC = 0, 2
_ET_REL, _EM_RISCV = 1, 243


@dataclass(frozen=True, slots=True)
class Section:
    """A section header and its contents (empty for sections without bits in the file)."""

    name: str
    kind: int
    flags: int
    size: int
    link: int
    info: int
    align: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol: ``section`` is an index, SHN_UNDEF or SHN_ABS; ``value`` an offset into the section."""

    name: str
    is_global: bool
    is_function: bool
    section: int
    value: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """One entry of a .rela section: place, R_RISCV number, symbol index, signed addend."""

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """A parsed object; ``relocations`` maps the index of a section to its relocations."""

    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: dict[int, tuple[Relocation, ...]]


def malformed(found: str) -> InternalError:
    """The error for an object file that no assembler would write."""
    return InternalError("the object file is malformed", expected="an ELF64 relocatable file for riscv64", found=found)


def _unpack(layout: str, data: bytes, offset: int, what: str) -> tuple[int, ...]:
    if offset < 0 or offset + struct.calcsize(layout) > len(data):
        raise malformed(f"{what} at {offset:#x} lies outside the {len(data)} bytes")
    return struct.unpack_from(layout, data, offset)


def _slice(data: bytes, offset: int, size: int, what: str) -> bytes:
    if offset + size > len(data):
        raise malformed(f"{what}: bytes {offset:#x} + {size:#x} lie outside the {len(data)} bytes")
    return data[offset : offset + size]


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if end < 0 or offset > len(table):
        raise malformed(f"name at {offset:#x} is not in its string table")
    return table[offset:end].decode("ascii", errors="backslashreplace")


def parse(data: bytes) -> ObjectFile:
    """Parse an object file.

    Raises:
        InternalError: not such a file, or truncated or inconsistent.
    """
    if data[:7] != b"\x7fELF\x02\x01\x01":
        raise malformed(f"it starts with {data[:7].hex() or 'nothing'}")
    kind, machine = _unpack("<HH", data, 16, "ELF header")
    if (kind, machine) != (_ET_REL, _EM_RISCV):
        raise malformed(f"ELF type {kind}, machine {machine}")
    (table,) = _unpack("<Q", data, 40, "ELF header")
    entry_size, count, names_index = _unpack("<HHH", data, 58, "ELF header")
    if entry_size != 64 or names_index >= count:
        raise malformed(f"section header size {entry_size}, name table {names_index} of {count}")
    headers = [_unpack("<IIQQQQIIQQ", data, table + 64 * index, "section header") for index in range(count)]
    contents = [b"" if kind in (0, SHT_NOBITS) else _slice(data, offset, size, "section") for _, kind, _, _, offset, size, *_ in headers]
    sections = tuple(
        Section(_string(contents[names_index], name), kind, flags, size, link, info, align, contents[index])
        for index, (name, kind, flags, _, _, size, link, info, align, _) in enumerate(headers)
    )
    symbols = _symbols(sections)
    return ObjectFile(sections, symbols, _relocations(sections, len(symbols)))


def _symbols(sections: tuple[Section, ...]) -> tuple[Symbol, ...]:
    tables = [section for section in sections if section.kind == SHT_SYMTAB]
    if len(tables) != 1:
        raise malformed(f"{len(tables)} symbol tables")
    table = tables[0]
    if table.link >= len(sections) or table.size % 24:
        raise malformed(f"symbol table of {table.size} bytes, names in section {table.link}")
    symbols: list[Symbol] = []
    for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", table.data):
        if section >= len(sections) and section != SHN_ABS:
            raise malformed(f"symbol in section {section} of {len(sections)}")
        text = _string(sections[table.link].data, name) if name else ""
        symbols.append(Symbol(text, info >> 4 != STB_LOCAL, info & 15 == STT_FUNC, section, value))
    return tuple(symbols)


def _relocations(sections: tuple[Section, ...], symbol_count: int) -> dict[int, tuple[Relocation, ...]]:
    found: dict[int, list[Relocation]] = {}
    for section in sections:
        if section.kind != SHT_RELA:
            continue
        if section.info >= len(sections) or section.size % 24:
            raise malformed(f"relocations of {section.size} bytes for section {section.info}")
        for offset, info, addend in struct.iter_unpack("<QQq", section.data):
            if info >> 32 >= symbol_count:
                raise malformed(f"relocation against symbol {info >> 32} of {symbol_count}")
            found.setdefault(section.info, []).append(Relocation(offset, info & 0xFFFF_FFFF, info >> 32, addend))
    return {index: tuple(entries) for index, entries in found.items()}
