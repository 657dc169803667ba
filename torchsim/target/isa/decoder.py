"""Decode instruction words; results are cached by word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .encoder import insert
from .fields import FORMATS, Field
from .table import BY_NAME, ROWS, Row


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction and its operands.

    Attributes:
        word: the 16 or 32 instruction bits.
        row: its row of the table, None when the word is illegal.
        operands: operand name to register number or (sign-extended) integer.
    """

    word: int
    row: Row | None
    operands: dict[str, int]

    @property
    def name(self) -> str:
        """Mnemonic, ``illegal`` for words outside the table."""
        return self.row.name if self.row else "illegal"

    @property
    def bytes(self) -> int:
        """Length: 2 or 4, from the low two bits, for illegal words too."""
        return 4 if self.word & 3 == 3 else 2


def extract(field: Field, word: int) -> int:
    """The operand that a field of the word holds."""
    value = 0
    for low, width, value_low in field.pieces:
        value |= (word >> low & (1 << width) - 1) << value_low
    if field.kind in "cd":
        return value + 8
    if field.signed and value >> (field.width - 1):
        value -= 1 << field.width
    return value


def _bucket_key(word: int) -> int:
    # opcode and funct3, which every 32-bit row but lui, auipc, jal and the fused multiply-adds fixes
    return word & 0x707F if word & 3 == 3 else word & 0xE003


def _buckets() -> dict[int, dict[int, dict[int, Row]]]:
    # bucket -> mask -> match -> row; masks in table order, so the more specific ones come first
    buckets: dict[int, dict[int, dict[int, Row]]] = {}
    for row in ROWS:
        key_mask = 0x707F if row.bytes == 4 else 0xE003
        free = key_mask & ~row.mask  # funct3 bits that are operand bits here
        variants = {row.match & key_mask | spread << 12 & free for spread in range(8)} if row.bytes == 4 else {row.match & key_mask}
        for key in variants:
            buckets.setdefault(key, {}).setdefault(row.mask, {}).setdefault(row.match, row)
    return buckets


_BUCKETS = _buckets()
_OPERANDS = {name: tuple(one.fields.items()) for name, one in FORMATS.items()}


@lru_cache(maxsize=1 << 16)
def decode(word: int) -> Decoded:
    """Decode one word (16 bits when its low two bits are not 3). Never fails: ``row`` is None for illegal words."""
    word &= 0xFFFF_FFFF if word & 3 == 3 else 0xFFFF
    for mask, by_match in _BUCKETS.get(_bucket_key(word), {}).items():
        row = by_match.get(word & mask)
        if row is not None and (not row.nonzero or word & row.nonzero_bits):
            return Decoded(word, row, {name: extract(field, word) for name, field in _OPERANDS[row.format]})
    return Decoded(word, None, {})


@lru_cache(maxsize=1 << 16)
def expand(word: int) -> Decoded:
    """Decode a word and replace a compressed instruction by the 32-bit one that it stands for."""
    decoded = decode(word)
    if decoded.row is None or decoded.row.expands is None:
        return decoded
    base_name, sources = decoded.row.expands
    base = BY_NAME[base_name]
    wide = base.match
    for operand, source in sources.items():
        value = decoded.operands[source] if isinstance(source, str) else source
        wide |= insert(FORMATS[base.format].fields[operand], value)
    return decode(wide)


def instructions(code: bytes, base: int) -> Iterator[tuple[int, Decoded]]:
    """(pc, instruction) of a run of code from its start; a truncated last instruction is illegal."""
    offset, end = 0, len(code)
    while offset < end:
        half = int.from_bytes(code[offset : offset + 2], "little")
        size = 4 if half & 3 == 3 else 2
        if offset + size > end:
            yield base + offset, Decoded(half, None, {})
            return
        yield base + offset, decode(int.from_bytes(code[offset : offset + size], "little"))
        offset += size
