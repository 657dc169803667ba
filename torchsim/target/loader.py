"""Relocatable object to image: placement, relocation, and calls of ``__insn_c1_*`` turned into instructions."""

from __future__ import annotations

from collections.abc import Mapping

from torchsim.errors import CapacityError, InternalError, LaneSafetyError
from torchsim.target import elf
from torchsim.target.address_map import IMAGE_BASE, IMAGE_LIMIT
from torchsim.target.elf import ObjectFile, Relocation, Section, malformed
from torchsim.target.image import Image
from torchsim.target.isa.decoder import decode
from torchsim.target.isa.encoder import encode
from torchsim.target.isa.npu import CUSTOM_1
from torchsim.target.object_code import INSTRUCTION_CALL
from torchsim.target.relocation import CALLS, PCREL_LOW, Place, apply, kind_name

__all__ = ["Image", "load"]

_MAX_ALIGN = 4096
_A0, _A1 = 10, 11
_NOP = encode("addi", rd=0, rs1=0, imm=0)
_RET = encode("jalr", rd=0, rs1=1, imm=0)
_EBREAK = encode("ebreak")
_ADDRESS_MASK = (1 << 64) - 1


def load(object_bytes: bytes, symbols: Mapping[str, int] | None = None) -> Image:
    """Place and link an object file at the image base.

    Args:
        object_bytes: output of ``object_code.compile_object``.
        symbols: addresses of the external data symbols (scratchpad buffers).

    Raises:
        LaneSafetyError: the code calls a library function (memset, fmodf, ...).
        InternalError: malformed file, unknown relocation kind, overflow, undefined data symbol, writable data.
        CapacityError: code and constants exceed the image's address range.
    """
    return _Loader(elf.parse(object_bytes), dict(symbols or {})).image()


def _is_loaded(section: Section) -> bool:
    return bool(section.flags & elf.SHF_ALLOC) and section.size > 0 and not section.name.startswith((".eh_frame", ".note"))


class _Loader:
    def __init__(self, obj: ObjectFile, externals: dict[str, int]) -> None:
        self.obj = obj
        self.externals = externals
        self.used: dict[str, int] = {}
        self.address: dict[int, int] = {}
        self.contents: dict[int, bytearray] = {}
        self.end = IMAGE_BASE

    def image(self) -> Image:
        text = self._place(executable=True)
        exit_address = self._align(4)
        self.end += 4
        constants = self._place(executable=False)
        for index in self.address:
            self._relocate(index)
        data = bytearray(self.end - IMAGE_BASE)
        for index, address in self.address.items():
            data[address - IMAGE_BASE : address - IMAGE_BASE + len(self.contents[index])] = self.contents[index]
        data[exit_address - IMAGE_BASE : exit_address - IMAGE_BASE + 4] = _EBREAK.to_bytes(4, "little")
        functions = {
            symbol.name: self.address[symbol.section] + symbol.value
            for symbol in self.obj.symbols
            if symbol.is_global and symbol.is_function and symbol.section in self.address
        }
        return Image(
            IMAGE_BASE, bytes(data), functions, (*text, (exit_address, exit_address + 4)), tuple(constants), self.used, exit_address
        )

    def _align(self, align: int) -> int:
        if align & (align - 1) or align > _MAX_ALIGN:
            raise malformed(f"alignment {align}")
        self.end = -(-self.end // align) * align
        return self.end

    def _place(self, *, executable: bool) -> list[tuple[int, int]]:
        ranges: list[tuple[int, int]] = []
        for index, section in enumerate(self.obj.sections):
            if not _is_loaded(section) or bool(section.flags & elf.SHF_EXECINSTR) != executable:
                continue
            if section.flags & elf.SHF_WRITE and not section.name.startswith(".data.rel.ro"):
                raise InternalError(
                    f"the kernel defines writable data in {section.name} ({section.size} bytes)",
                    expected="external buffers only",
                    hint="declare buffers as external globals in section .spad",
                )
            if len(section.data) != section.size:
                raise malformed(f"section {section.name} has no contents")
            address = self._align(max(section.align, 1))
            self.address[index] = address
            self.contents[index] = bytearray(section.data)
            self.end += section.size
            if self.end > IMAGE_BASE + IMAGE_LIMIT:
                raise CapacityError(
                    "the image is too large", expected=f"at most {IMAGE_LIMIT} bytes", found=f"{self.end - IMAGE_BASE} bytes"
                )
            ranges.append((address, self.end))
        return ranges

    def _relocate(self, index: int) -> None:
        section = self.obj.sections[index]
        entries = self.obj.relocations.get(index, ())
        kinds = [kind_name(entry.kind, f"{section.name}+{entry.offset:#x}") for entry in entries]
        # PCREL_LO12 names the auipc whose offset it completes
        high: dict[int, int] = {}
        for entry, kind in zip(entries, kinds, strict=True):
            if kind == "PCREL_HI20":
                address = self.address[index] + entry.offset
                high[address] = self._value(entry, section) - address
        for entry, kind in zip(entries, kinds, strict=True):
            place = Place(self.contents[index], entry.offset, self.address[index] + entry.offset, f"{section.name}+{entry.offset:#x}")
            name = self.obj.symbols[entry.symbol].name
            if kind in CALLS and self.obj.symbols[entry.symbol].section == elf.SHN_UNDEF:
                self._instruction_call(place, name)
            elif kind in PCREL_LOW:
                label = self._value(entry, section)
                if label not in high:
                    raise malformed(f"R_RISCV_{kind} at {place.name} without its R_RISCV_PCREL_HI20")
                apply(kind, place, high[label])
            else:
                apply(kind, place, self._value(entry, section))

    def _value(self, entry: Relocation, section: Section) -> int:
        symbol = self.obj.symbols[entry.symbol]
        where = f"{section.name}+{entry.offset:#x}"
        if symbol.section == elf.SHN_ABS:
            value = symbol.value
        elif symbol.section == elf.SHN_UNDEF:
            if symbol.name not in self.externals:
                raise InternalError(
                    f"undefined symbol {symbol.name!r}",
                    expected="one of: " + (", ".join(sorted(self.externals)) or "no external symbols"),
                    where=where,
                )
            value = self.used[symbol.name] = self.externals[symbol.name]
        elif symbol.section in self.address:
            value = self.address[symbol.section] + symbol.value
        else:
            raise malformed(f"{where} refers to {symbol.name!r} in section {self.obj.sections[symbol.section].name}, which is not loaded")
        return value + entry.addend & _ADDRESS_MASK

    def _instruction_call(self, place: Place, name: str) -> None:
        """Replace ``auipc; jalr`` by the custom-1 instruction and a nop, or a return when the call was a tail call."""
        match = INSTRUCTION_CALL.match(name)
        if match is None:
            raise LaneSafetyError(
                f"the kernel calls the library function {name}",
                expected="no library calls: they work on one lane",
                where=place.name,
                hint="loops that LLVM turns into memset or memcpy need no-builtins on the function; other operations need a vector recipe "
                "(docs/lane-safety.md)",
            )
        word = CUSTOM_1 | int(match[1]) << 12 | _A0 << 15 | _A1 << 20 | int(match[2]) << 25
        if word >> 32 or int(match[1]) > 7 or decode(word).row is None:
            raise InternalError(f"{name} names no instruction", expected="a custom-1 row of the instruction table", where=place.name)
        is_tail_call = place.at(4).read(4) >> 7 & 31 == 0  # rd of the jalr
        place.write(4, word)
        place.at(4).write(4, _RET if is_tail_call else _NOP)
