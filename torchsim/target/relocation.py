"""RISC-V relocations (psABI, chapter 8.4), applied to section bytes in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchsim.errors import InternalError
from torchsim.target.isa.encoder import field_range, insert
from torchsim.target.isa.fields import FIELDS

KINDS = {
    1: "32", 2: "64", 16: "BRANCH", 17: "JAL", 18: "CALL", 19: "CALL_PLT", 23: "PCREL_HI20", 24: "PCREL_LO12_I", 25: "PCREL_LO12_S",
    26: "HI20", 27: "LO12_I", 28: "LO12_S", 33: "ADD8", 34: "ADD16", 35: "ADD32", 36: "ADD64", 37: "SUB8", 38: "SUB16", 39: "SUB32",
    40: "SUB64", 44: "RVC_BRANCH", 45: "RVC_JUMP", 51: "RELAX", 54: "SET8", 55: "SET16", 56: "SET32", 57: "32_PCREL",
}  # fmt: skip
"""R_RISCV numbers that are applied. ALIGN (43) is absent on purpose: it asks for relaxation, which is off."""

CALLS = ("CALL", "CALL_PLT")
PCREL_LOW = ("PCREL_LO12_I", "PCREL_LO12_S")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a relocation applies: section bytes, offset in them, address of that offset, name for messages."""

    data: bytearray
    offset: int
    address: int
    name: str

    def read(self, size: int) -> int:
        """Unsigned little-endian value of ``size`` bytes at the place."""
        self._check(size)
        return int.from_bytes(self.data[self.offset : self.offset + size], "little")

    def write(self, size: int, value: int) -> None:
        """Store ``value`` modulo 2^(8 size)."""
        self._check(size)
        self.data[self.offset : self.offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def _check(self, size: int) -> None:
        if self.offset + size > len(self.data):
            raise InternalError("a relocation lies outside its section", where=self.name)

    def at(self, delta: int) -> Place:
        """The place ``delta`` bytes further on."""
        return Place(self.data, self.offset + delta, self.address + delta, self.name)


def kind_name(kind: int, where: str) -> str:
    """Name of an R_RISCV number.

    Raises:
        InternalError: a kind that the loader does not apply.
    """
    name = KINDS.get(kind)
    if name is None:
        raise InternalError(f"unknown relocation kind R_RISCV_{kind}", expected=", ".join(KINDS.values()), where=where)
    return name


def _overflow(name: str, place: Place, value: int) -> InternalError:
    return InternalError(
        f"relocation R_RISCV_{name} overflows", found=f"{value:#x}", where=place.name, hint="image and buffers must lie within 2 GiB"
    )


def _set_field(name: str, place: Place, field_name: str, size: int, value: int) -> None:
    field = FIELDS[field_name]
    if value not in field_range(field):
        raise _overflow(name, place, value)
    place.write(size, place.read(size) & ~field.bits | insert(field, value))


def _low12(value: int) -> int:
    return (value & 0xFFF) - (value << 1 & 0x1000)


def _high20(name: str, place: Place, value: int) -> int:
    # lui and auipc sign-extend their 32-bit result
    if not -(1 << 31) <= value + 0x800 < 1 << 31:
        raise _overflow(name, place, value)
    return value + 0x800 >> 12 & 0xFFFFF


def _absolute_high20(name: str, place: Place, value: int) -> int:
    # HI20 reaches addresses below 2 GiB and the top 2 GiB only
    signed = value - (1 << 64) if value >= 1 << 63 else value
    return _high20(name, place, signed)


def _data(name: str, place: Place, value: int) -> None:
    size = int(name[3:]) // 8
    if name.startswith("SET"):
        place.write(size, value)
    else:
        place.write(size, place.read(size) + (value if name.startswith("ADD") else -value))


def _call(name: str, place: Place, value: int) -> None:
    offset = value - place.address
    _set_field(name, place, "imm_u", 4, _high20(name, place, offset))
    _set_field(name, place.at(4), "imm_i", 4, _low12(offset))


def _word32(name: str, place: Place, value: int) -> None:
    if value >> 32:
        raise _overflow(name, place, value)
    place.write(4, value)


_APPLY: dict[str, Callable[[str, Place, int], None]] = {
    "32": _word32,
    "64": lambda _, place, value: place.write(8, value),
    "32_PCREL": lambda _, place, value: place.write(4, value - place.address),
    "BRANCH": lambda name, place, value: _set_field(name, place, "imm_b", 4, value - place.address),
    "JAL": lambda name, place, value: _set_field(name, place, "imm_j", 4, value - place.address),
    "RVC_BRANCH": lambda name, place, value: _set_field(name, place, "c_imm_b", 2, value - place.address),
    "RVC_JUMP": lambda name, place, value: _set_field(name, place, "c_imm_j", 2, value - place.address),
    "CALL": _call,
    "CALL_PLT": _call,
    "PCREL_HI20": lambda name, place, value: _set_field(name, place, "imm_u", 4, _high20(name, place, value - place.address)),
    "HI20": lambda name, place, value: _set_field(name, place, "imm_u", 4, _absolute_high20(name, place, value)),
    "LO12_I": lambda name, place, value: _set_field(name, place, "imm_i", 4, _low12(value)),
    "LO12_S": lambda name, place, value: _set_field(name, place, "imm_s", 4, _low12(value)),
    "PCREL_LO12_I": lambda name, place, value: _set_field(name, place, "imm_i", 4, _low12(value)),
    "PCREL_LO12_S": lambda name, place, value: _set_field(name, place, "imm_s", 4, _low12(value)),
    "RELAX": lambda _name, _place, _value: None,
    **{name: _data for name in KINDS.values() if name[:3] in ("ADD", "SUB", "SET")},
}


def apply(name: str, place: Place, value: int) -> None:
    """Apply one relocation.

    Args:
        name: a value of KINDS.
        place: where.
        value: symbol plus addend as an unsigned 64-bit address; for PCREL_LO12_* the pc-relative offset of the
            matching PCREL_HI20 instead.

    Raises:
        InternalError: the value does not fit, or the place lies outside its section.
    """
    _APPLY[name](name, place, value)
