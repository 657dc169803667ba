"""Compressed instructions (RV64C with the double-precision loads and stores), each with its expansion."""

from __future__ import annotations

from .row import Cost, Row

_ALU, _LOAD, _STORE = Cost.SCALAR_ALU, Cost.SCALAR_LOAD, Cost.SCALAR_STORE
_SP, _RA, _ZERO = 2, 1, 0


def _row(name: str, match: int, format_name: str, cost: Cost, base: str, nonzero: str = "", **operands: str | int) -> Row:
    return Row(name, match, format_name, "C", cost, f"RISC-V unprivileged ISA, C: expands to {base}", nonzero, (base, operands))


# An operand of the base instruction is an operand of the compressed one (by name) or a constant.
# Where two rows overlap the more specific one comes first.
ROWS: list[Row] = [
    # quadrant 0
    _row("c.addi4spn", 0x0000, "C_ADDI4SPN", _ALU, "addi", "imm", rd="rd", rs1=_SP, imm="imm"),
    _row("c.fld", 0x2000, "C_FLD", _LOAD, "fld", fd="fd", rs1="rs1", imm="imm"),
    _row("c.lw", 0x4000, "C_LW", _LOAD, "lw", rd="rd", rs1="rs1", imm="imm"),
    _row("c.ld", 0x6000, "C_LD", _LOAD, "ld", rd="rd", rs1="rs1", imm="imm"),
    _row("c.fsd", 0xA000, "C_FSD", _STORE, "fsd", fs2="fs2", rs1="rs1", imm="imm"),
    _row("c.sw", 0xC000, "C_SW", _STORE, "sw", rs2="rs2", rs1="rs1", imm="imm"),
    _row("c.sd", 0xE000, "C_SD", _STORE, "sd", rs2="rs2", rs1="rs1", imm="imm"),
    # quadrant 1
    _row("c.nop", 0x0001, "C_NOP", _ALU, "addi", rd=_ZERO, rs1=_ZERO, imm="imm"),
    _row("c.addi", 0x0001, "C_IMM", _ALU, "addi", rd="rd", rs1="rd", imm="imm"),
    _row("c.addiw", 0x2001, "C_IMM", _ALU, "addiw", "rd", rd="rd", rs1="rd", imm="imm"),
    _row("c.li", 0x4001, "C_IMM", _ALU, "addi", rd="rd", rs1=_ZERO, imm="imm"),
    _row("c.addi16sp", 0x6101, "C_ADDI16SP", _ALU, "addi", "imm", rd=_SP, rs1=_SP, imm="imm"),
    _row("c.lui", 0x6001, "C_IMM", _ALU, "lui", "imm", rd="rd", imm="imm"),
    _row("c.srli", 0x8001, "C_SHIFT_LOW", _ALU, "srli", rd="rd", rs1="rd", imm="imm"),
    _row("c.srai", 0x8401, "C_SHIFT_LOW", _ALU, "srai", rd="rd", rs1="rd", imm="imm"),
    _row("c.andi", 0x8801, "C_ANDI", _ALU, "andi", rd="rd", rs1="rd", imm="imm"),
    _row("c.sub", 0x8C01, "C_ARITH", _ALU, "sub", rd="rd", rs1="rd", rs2="rs2"),
    _row("c.xor", 0x8C21, "C_ARITH", _ALU, "xor", rd="rd", rs1="rd", rs2="rs2"),
    _row("c.or", 0x8C41, "C_ARITH", _ALU, "or", rd="rd", rs1="rd", rs2="rs2"),
    _row("c.and", 0x8C61, "C_ARITH", _ALU, "and", rd="rd", rs1="rd", rs2="rs2"),
    _row("c.subw", 0x9C01, "C_ARITH", _ALU, "subw", rd="rd", rs1="rd", rs2="rs2"),
    _row("c.addw", 0x9C21, "C_ARITH", _ALU, "addw", rd="rd", rs1="rd", rs2="rs2"),
    _row("c.j", 0xA001, "C_J", Cost.JUMP, "jal", rd=_ZERO, imm="imm"),
    _row("c.beqz", 0xC001, "C_B", Cost.BRANCH, "beq", rs1="rs1", rs2=_ZERO, imm="imm"),
    _row("c.bnez", 0xE001, "C_B", Cost.BRANCH, "bne", rs1="rs1", rs2=_ZERO, imm="imm"),
    # quadrant 2
    _row("c.slli", 0x0002, "C_SHIFT", _ALU, "slli", rd="rd", rs1="rd", imm="imm"),
    _row("c.fldsp", 0x2002, "C_FLDSP", _LOAD, "fld", fd="fd", rs1=_SP, imm="imm"),
    _row("c.lwsp", 0x4002, "C_LWSP", _LOAD, "lw", "rd", rd="rd", rs1=_SP, imm="imm"),
    _row("c.ldsp", 0x6002, "C_LDSP", _LOAD, "ld", "rd", rd="rd", rs1=_SP, imm="imm"),
    _row("c.ebreak", 0x9002, "C_NONE", Cost.SYSTEM, "ebreak"),
    _row("c.jr", 0x8002, "C_JR", Cost.JUMP, "jalr", "rs1", rd=_ZERO, rs1="rs1", imm=0),
    _row("c.jalr", 0x9002, "C_JR", Cost.JUMP, "jalr", "rs1", rd=_RA, rs1="rs1", imm=0),
    _row("c.mv", 0x8002, "C_RR", _ALU, "add", "rs2", rd="rd", rs1=_ZERO, rs2="rs2"),
    _row("c.add", 0x9002, "C_RR", _ALU, "add", "rs2", rd="rd", rs1="rd", rs2="rs2"),
    _row("c.fsdsp", 0xA002, "C_FSDSP", _STORE, "fsd", fs2="fs2", rs1=_SP, imm="imm"),
    _row("c.swsp", 0xC002, "C_SWSP", _STORE, "sw", rs2="rs2", rs1=_SP, imm="imm"),
    _row("c.sdsp", 0xE002, "C_SDSP", _STORE, "sd", rs2="rs2", rs1=_SP, imm="imm"),
]
