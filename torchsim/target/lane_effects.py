"""What an instruction does as far as lane safety is concerned: integer registers, memory accesses, control flow."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from torchsim.target.isa.decoder import Decoded, expand
from torchsim.target.isa.fields import FORMATS
from torchsim.target.isa.table import Cost
from torchsim.target.lane_rules import Rule

_CSR_VLENB = 0xC22


class Kind(IntEnum):
    """How the checker treats an instruction. NONE: it neither writes an integer register nor needs a check."""

    NONE = 0
    ADDI = 1
    ADDIW = 2
    ADD = 3
    SUB = 4
    CONSTANT = 5
    PC_RELATIVE = 6
    SHIFT_LEFT = 7
    MULTIPLY = 8
    BITWISE = 9
    CLOBBER = 10
    LOAD = 11
    STORE = 12
    FLOAT_LOAD = 13
    FLOAT_STORE = 14
    VECTOR_STORE = 15
    VECTOR_SPILL = 16
    BRANCH = 17
    JUMP = 18
    JUMP_REGISTER = 19
    STOP = 20
    HAZARD = 21


class Effect(NamedTuple):
    """``imm``: immediate, offset or constant. ``size``: bytes accessed. ``rule``: broken whatever the operands are."""

    kind: Kind
    length: int
    rd: int = 0
    rs1: int = 0
    rs2: int = 0
    imm: int = 0
    size: int = 0
    rule: Rule | None = None


_SIZES = {"b": 1, "h": 2, "w": 4, "d": 8}
_ARITHMETIC = {
    "addi": Kind.ADDI,
    "addiw": Kind.ADDIW,
    "add": Kind.ADD,
    "sub": Kind.SUB,
    "slli": Kind.SHIFT_LEFT,
    "mul": Kind.MULTIPLY,
    "and": Kind.BITWISE,
    "or": Kind.BITWISE,
}
_BITWISE_IMMEDIATE = ("andi", "ori")
_STATIC_RULES = {Cost.VECTOR_TO_SCALAR: Rule.VECTOR_TO_SCALAR, Cost.ATOMIC: Rule.ATOMIC}


@lru_cache(maxsize=1 << 16)
def effect_of(word: int) -> Effect:
    """The effect of an instruction word; compressed ones count as what they expand to."""
    length = 4 if word & 3 == 3 else 2
    decoded = expand(word)
    row = decoded.row
    if row is None:
        return Effect(Kind.STOP, length, rule=Rule.ILLEGAL)
    rule = _STATIC_RULES.get(row.cost)
    if row.format == "VL_FAULT_FIRST":
        rule = Rule.PER_LANE_LENGTH
    if rule is not None:
        return Effect(Kind.HAZARD, length, rd=_integer_destination(decoded), rule=rule)
    return _memory_or_flow(decoded, length) or _arithmetic(decoded, length)


def _integer_destination(decoded: Decoded) -> int:
    assert decoded.row is not None
    field = FORMATS[decoded.row.format].fields.get("rd")
    return decoded.operands["rd"] if field is not None and field.kind == "x" else 0


def _memory_or_flow(decoded: Decoded, length: int) -> Effect | None:
    row, get = decoded.row, decoded.operands.get
    assert row is not None
    rd, rs1, rs2, imm = get("rd", 0), get("rs1", 0), get("rs2", 0), get("imm", 0)
    match row.format:
        case "LOAD":
            return Effect(Kind.LOAD, length, rd, rs1, 0, imm, _SIZES[row.name[1]])
        case "STORE":
            return Effect(Kind.STORE, length, 0, rs1, rs2, imm, _SIZES[row.name[1]])
        case "FLOAD":
            return Effect(Kind.FLOAT_LOAD, length, 0, rs1, 0, imm, _SIZES[row.name[2]])
        case "FSTORE":
            return Effect(Kind.FLOAT_STORE, length, 0, rs1, 0, imm, _SIZES[row.name[2]])
        case "VS_WHOLE":
            return Effect(Kind.VECTOR_SPILL, length, 0, rs1, 0, 0, 32 * int(row.name[2]))  # VLEN 256
        case "VS_UNIT" | "VS_STRIDED" | "VS_INDEXED" | "VS_MASK":
            return Effect(Kind.VECTOR_STORE, length, 0, rs1)
        case "BRANCH":
            return Effect(Kind.BRANCH, length, 0, rs1, rs2, imm)
        case "JAL":
            return Effect(Kind.JUMP, length, rd, 0, 0, imm)
        case "JALR":
            return Effect(Kind.JUMP_REGISTER, length, rd, rs1, 0, imm)
        case "NONE":
            return Effect(Kind.STOP, length)  # ecall and ebreak trap or end the kernel
        case _:
            return None


def _arithmetic(decoded: Decoded, length: int) -> Effect:
    row, get = decoded.row, decoded.operands.get
    assert row is not None
    rd = _integer_destination(decoded)
    if rd == 0:
        return Effect(Kind.NONE, length)
    rs1, imm = get("rs1", 0), get("imm", 0)
    if row.name in _ARITHMETIC:
        return Effect(_ARITHMETIC[row.name], length, rd, rs1, get("rs2", 0), imm)
    if row.name in _BITWISE_IMMEDIATE:
        return Effect(Kind.BITWISE, length, rd, rs1)
    if row.name in ("lui", "auipc"):
        upper = imm << 12
        upper -= (upper & 0x8000_0000) << 1
        return Effect(Kind.CONSTANT if row.name == "lui" else Kind.PC_RELATIVE, length, rd, imm=upper)
    if row.name == "csrrs" and get("csr") == _CSR_VLENB and rs1 == 0:
        return Effect(Kind.CONSTANT, length, rd, imm=32)  # VLEN 256
    return Effect(Kind.CLOBBER, length, rd)
