"""Operand fields and instruction formats: where each operand lies in the word, and how it is written in assembly."""

from __future__ import annotations

from dataclasses import dataclass

# Kinds: x, f, v registers; c, d = the eight x or f registers 8..15 of compressed formats; i = integer;
# p = integer relative to pc; m = vector mask bit (1 = unmasked).
Pieces = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """An operand's place.

    Attributes:
        name: unique name, ``field_<name>`` in the generated C++ header.
        kind: x f v c d i p m (see above).
        pieces: (lowest instruction bit, width, lowest operand bit) of each run of bits.
        signed: the operand is sign-extended from its highest bit.
        default: value used when an encoder call leaves the operand out; None = required.
    """

    name: str
    kind: str
    pieces: Pieces
    signed: bool = False
    default: int | None = None

    @property
    def bits(self) -> int:
        """Instruction bits that the operand occupies."""
        return sum(((1 << width) - 1) << low for low, width, _ in self.pieces)

    @property
    def width(self) -> int:
        """Number of the highest operand bit plus one."""
        return max(value + width for _, width, value in self.pieces)

    @property
    def lowest(self) -> int:
        """Lowest operand bit that is encoded: operands are multiples of ``1 << lowest``."""
        return min(value for _, _, value in self.pieces)


def _one(name: str, kind: str, low: int, width: int, **options: bool | int) -> Field:
    return Field(name, kind, ((low, width, 0),), bool(options.get("signed", False)), options.get("default"))


_FIELDS = [
    *(_one(name, "x", low, 5) for name, low in (("rd", 7), ("rs1", 15), ("rs2", 20))),
    *(_one(name, "f", low, 5) for name, low in (("fd", 7), ("fs1", 15), ("fs2", 20), ("fs3", 27))),
    *(_one(name, "v", low, 5) for name, low in (("vd", 7), ("vs1", 15), ("vs2", 20), ("vs3", 7))),
    _one("vm", "m", 25, 1, default=1),
    _one("rm", "i", 12, 3, default=7),  # dynamic
    _one("rm_exact", "i", 12, 3, default=0),  # conversions that never round
    _one("aq", "i", 26, 1, default=0),
    _one("rl", "i", 25, 1, default=0),
    _one("imm_i", "i", 20, 12, signed=True),
    Field("imm_s", "i", ((7, 5, 0), (25, 7, 5)), signed=True),
    Field("imm_b", "p", ((8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)), signed=True),
    _one("imm_u", "i", 12, 20),  # the upper 20 bits, as written in assembly
    Field("imm_j", "p", ((21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)), signed=True),
    _one("shamt6", "i", 20, 6),
    _one("shamt5", "i", 20, 5),
    _one("csr", "i", 20, 12),
    _one("zimm", "i", 15, 5),
    _one("simm5", "i", 15, 5, signed=True),
    _one("fm", "i", 28, 4, default=0),
    _one("pred", "i", 24, 4, default=15),
    _one("succ", "i", 20, 4, default=15),
    _one("ignored_rd", "i", 7, 5, default=0),
    _one("ignored_rs1", "i", 15, 5, default=0),
    _one("ignored_imm", "i", 20, 12, default=0),
    _one("vtypei11", "i", 20, 11),
    _one("vtypei10", "i", 20, 10),
    # compressed
    _one("c_rd", "x", 7, 5),
    _one("c_rs2", "x", 2, 5),
    _one("c_fd", "f", 7, 5),
    _one("c_fs2", "f", 2, 5),
    _one("c_rd_low", "c", 2, 3),
    _one("c_rs1_low", "c", 7, 3),
    _one("c_fd_low", "d", 2, 3),
    Field("c_imm6", "i", ((2, 5, 0), (12, 1, 5)), signed=True),
    Field("c_shamt6", "i", ((2, 5, 0), (12, 1, 5))),
    Field("c_imm_addi4spn", "i", ((6, 1, 2), (5, 1, 3), (11, 2, 4), (7, 4, 6))),
    Field("c_imm_addi16sp", "i", ((6, 1, 4), (2, 1, 5), (5, 1, 6), (3, 2, 7), (12, 1, 9)), signed=True),
    Field("c_imm_w", "i", ((6, 1, 2), (10, 3, 3), (5, 1, 6))),
    Field("c_imm_d", "i", ((10, 3, 3), (5, 2, 6))),
    Field("c_imm_lwsp", "i", ((4, 3, 2), (12, 1, 5), (2, 2, 6))),
    Field("c_imm_ldsp", "i", ((5, 2, 3), (12, 1, 5), (2, 3, 6))),
    Field("c_imm_swsp", "i", ((9, 4, 2), (7, 2, 6))),
    Field("c_imm_sdsp", "i", ((10, 3, 3), (7, 3, 6))),
    Field("c_imm_j", "p", ((3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7), (9, 2, 8), (8, 1, 10), (12, 1, 11)), signed=True),
    Field("c_imm_b", "p", ((3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8)), signed=True),
]
FIELDS: dict[str, Field] = {one.name: one for one in _FIELDS}


@dataclass(frozen=True, slots=True)
class Format:
    """An instruction format: its operands by name, and the assembly text after the mnemonic."""

    name: str
    fields: dict[str, Field]
    syntax: str
    operand_bits: int


def _format(name: str, operands: str, syntax: str) -> Format:
    # "imm=imm_i" names a field that differs from the operand
    pairs = [(word.partition("=")[0], word.partition("=")[2] or word) for word in operands.split()]
    fields = {operand: FIELDS[place] for operand, place in pairs}
    bits = 0
    for one in fields.values():
        assert not bits & one.bits, f"format {name}: operands overlap"
        bits |= one.bits
    return Format(name, fields, syntax, bits)


# {vm} is ", v0.t" or nothing, {rm} a rounding mode or nothing; both bring their comma.
_FORMATS = [
    _format("NONE", "", ""),
    _format("R", "rd rs1 rs2", "{rd}, {rs1}, {rs2}"),
    _format("I", "rd rs1 imm=imm_i", "{rd}, {rs1}, {imm}"),
    _format("SHIFT64", "rd rs1 imm=shamt6", "{rd}, {rs1}, {imm}"),
    _format("SHIFT32", "rd rs1 imm=shamt5", "{rd}, {rs1}, {imm}"),
    _format("LOAD", "rd rs1 imm=imm_i", "{rd}, {imm}({rs1})"),
    _format("STORE", "rs2 rs1 imm=imm_s", "{rs2}, {imm}({rs1})"),
    _format("FLOAD", "fd rs1 imm=imm_i", "{fd}, {imm}({rs1})"),
    _format("FSTORE", "fs2 rs1 imm=imm_s", "{fs2}, {imm}({rs1})"),
    _format("BRANCH", "rs1 rs2 imm=imm_b", "{rs1}, {rs2}, {imm}"),
    _format("U", "rd imm=imm_u", "{rd}, {imm}"),
    _format("JAL", "rd imm=imm_j", "{rd}, {imm}"),
    _format("JALR", "rd rs1 imm=imm_i", "{rd}, {imm}({rs1})"),
    _format("FENCE", "fm pred succ ignored_rs1 ignored_rd", "{pred}, {succ}"),
    _format("FENCE_I", "ignored_imm ignored_rs1 ignored_rd", ""),
    _format("CSR", "rd csr rs1", "{rd}, {csr}, {rs1}"),
    _format("CSRI", "rd csr imm=zimm", "{rd}, {csr}, {imm}"),
    _format("LR", "rd rs1 aq rl", "{rd}, ({rs1})"),
    _format("AMO", "rd rs2 rs1 aq rl", "{rd}, {rs2}, ({rs1})"),
    _format("F2", "fd fs1 fs2", "{fd}, {fs1}, {fs2}"),
    _format("F2_RM", "fd fs1 fs2 rm", "{fd}, {fs1}, {fs2}{rm}"),
    _format("F3_RM", "fd fs1 fs2 fs3 rm", "{fd}, {fs1}, {fs2}, {fs3}{rm}"),
    _format("F1_RM", "fd fs1 rm", "{fd}, {fs1}{rm}"),
    _format("F1_EXACT", "fd fs1 rm=rm_exact", "{fd}, {fs1}{rm}"),
    _format("FCMP", "rd fs1 fs2", "{rd}, {fs1}, {fs2}"),
    _format("F_TO_X", "rd fs1", "{rd}, {fs1}"),
    _format("F_TO_X_RM", "rd fs1 rm", "{rd}, {fs1}{rm}"),
    _format("X_TO_F", "fd rs1", "{fd}, {rs1}"),
    _format("X_TO_F_RM", "fd rs1 rm", "{fd}, {rs1}{rm}"),
    _format("X_TO_F_EXACT", "fd rs1 rm=rm_exact", "{fd}, {rs1}{rm}"),
    # vector configuration and arithmetic; N = no mask bit, M = v0 is an operand
    _format("VSETVLI", "rd rs1 vtype=vtypei11", "{rd}, {rs1}, {vtype}"),
    _format("VSETIVLI", "rd imm=zimm vtype=vtypei10", "{rd}, {imm}, {vtype}"),
    _format("VV", "vd vs2 vs1 vm", "{vd}, {vs2}, {vs1}{vm}"),
    _format("VX", "vd vs2 rs1 vm", "{vd}, {vs2}, {rs1}{vm}"),
    _format("VF", "vd vs2 fs1 vm", "{vd}, {vs2}, {fs1}{vm}"),
    _format("VI", "vd vs2 imm=simm5 vm", "{vd}, {vs2}, {imm}{vm}"),
    _format("VU", "vd vs2 imm=zimm vm", "{vd}, {vs2}, {imm}{vm}"),
    _format("VV_ACC", "vd vs1 vs2 vm", "{vd}, {vs1}, {vs2}{vm}"),
    _format("VX_ACC", "vd rs1 vs2 vm", "{vd}, {rs1}, {vs2}{vm}"),
    _format("VF_ACC", "vd fs1 vs2 vm", "{vd}, {fs1}, {vs2}{vm}"),
    _format("VVM", "vd vs2 vs1", "{vd}, {vs2}, {vs1}, v0"),
    _format("VXM", "vd vs2 rs1", "{vd}, {vs2}, {rs1}, v0"),
    _format("VFM", "vd vs2 fs1", "{vd}, {vs2}, {fs1}, v0"),
    _format("VIM", "vd vs2 imm=simm5", "{vd}, {vs2}, {imm}, v0"),
    _format("VVN", "vd vs2 vs1", "{vd}, {vs2}, {vs1}"),
    _format("VXN", "vd vs2 rs1", "{vd}, {vs2}, {rs1}"),
    _format("VIN", "vd vs2 imm=simm5", "{vd}, {vs2}, {imm}"),
    _format("V1", "vd vs2 vm", "{vd}, {vs2}{vm}"),
    _format("V1N", "vd vs2", "{vd}, {vs2}"),
    _format("VID", "vd vm", "{vd}{vm}"),
    _format("V_TO_X", "rd vs2", "{rd}, {vs2}"),
    _format("V_TO_X_MASKED", "rd vs2 vm", "{rd}, {vs2}{vm}"),
    _format("V_TO_F", "fd vs2", "{fd}, {vs2}"),
    _format("MV_V", "vd vs1", "{vd}, {vs1}"),
    _format("MV_X", "vd rs1", "{vd}, {rs1}"),
    _format("MV_F", "vd fs1", "{vd}, {fs1}"),
    _format("MV_I", "vd imm=simm5", "{vd}, {imm}"),
    # vector memory: bits 31:29 hold the number of fields less one, 14:12 the width
    _format("VL_UNIT", "vd rs1 vm", "{vd}, ({rs1}){vm}"),
    _format("VL_FAULT_FIRST", "vd rs1 vm", "{vd}, ({rs1}){vm}"),
    _format("VL_STRIDED", "vd rs1 rs2 vm", "{vd}, ({rs1}), {rs2}{vm}"),
    _format("VL_INDEXED", "vd rs1 vs2 vm", "{vd}, ({rs1}), {vs2}{vm}"),
    _format("VL_MASK", "vd rs1", "{vd}, ({rs1})"),
    _format("VL_WHOLE", "vd rs1", "{vd}, ({rs1})"),
    _format("VS_UNIT", "vs3 rs1 vm", "{vs3}, ({rs1}){vm}"),
    _format("VS_STRIDED", "vs3 rs1 rs2 vm", "{vs3}, ({rs1}), {rs2}{vm}"),
    _format("VS_INDEXED", "vs3 rs1 vs2 vm", "{vs3}, ({rs1}), {vs2}{vm}"),
    _format("VS_MASK", "vs3 rs1", "{vs3}, ({rs1})"),
    _format("VS_WHOLE", "vs3 rs1", "{vs3}, ({rs1})"),
    # NPU
    _format("NPU_DMA", "rs1 rs2", "{rs1}, {rs2}"),
    _format("NPU_PLAIN", "", ""),
    _format("NPU_VS2", "vs2", "{vs2}"),
    _format("NPU_VD", "vd", "{vd}"),
    _format("NPU_VD_VS2", "vd vs2", "{vd}, {vs2}"),
    # compressed
    _format("C_NONE", "", ""),
    _format("C_NOP", "imm=c_imm6", "{imm}"),
    _format("C_ADDI4SPN", "rd=c_rd_low imm=c_imm_addi4spn", "{rd}, sp, {imm}"),
    _format("C_ADDI16SP", "imm=c_imm_addi16sp", "sp, {imm}"),
    _format("C_LW", "rd=c_rd_low rs1=c_rs1_low imm=c_imm_w", "{rd}, {imm}({rs1})"),
    _format("C_LD", "rd=c_rd_low rs1=c_rs1_low imm=c_imm_d", "{rd}, {imm}({rs1})"),
    _format("C_FLD", "fd=c_fd_low rs1=c_rs1_low imm=c_imm_d", "{fd}, {imm}({rs1})"),
    _format("C_SW", "rs2=c_rd_low rs1=c_rs1_low imm=c_imm_w", "{rs2}, {imm}({rs1})"),
    _format("C_SD", "rs2=c_rd_low rs1=c_rs1_low imm=c_imm_d", "{rs2}, {imm}({rs1})"),
    _format("C_FSD", "fs2=c_fd_low rs1=c_rs1_low imm=c_imm_d", "{fs2}, {imm}({rs1})"),
    _format("C_IMM", "rd=c_rd imm=c_imm6", "{rd}, {imm}"),
    _format("C_SHIFT", "rd=c_rd imm=c_shamt6", "{rd}, {imm}"),
    _format("C_SHIFT_LOW", "rd=c_rs1_low imm=c_shamt6", "{rd}, {imm}"),
    _format("C_ANDI", "rd=c_rs1_low imm=c_imm6", "{rd}, {imm}"),
    _format("C_ARITH", "rd=c_rs1_low rs2=c_rd_low", "{rd}, {rs2}"),
    _format("C_J", "imm=c_imm_j", "{imm}"),
    _format("C_B", "rs1=c_rs1_low imm=c_imm_b", "{rs1}, {imm}"),
    _format("C_LWSP", "rd=c_rd imm=c_imm_lwsp", "{rd}, {imm}(sp)"),
    _format("C_LDSP", "rd=c_rd imm=c_imm_ldsp", "{rd}, {imm}(sp)"),
    _format("C_FLDSP", "fd=c_fd imm=c_imm_ldsp", "{fd}, {imm}(sp)"),
    _format("C_SWSP", "rs2=c_rs2 imm=c_imm_swsp", "{rs2}, {imm}(sp)"),
    _format("C_SDSP", "rs2=c_rs2 imm=c_imm_sdsp", "{rs2}, {imm}(sp)"),
    _format("C_FSDSP", "fs2=c_fs2 imm=c_imm_sdsp", "{fs2}, {imm}(sp)"),
    _format("C_JR", "rs1=c_rd", "{rs1}"),
    _format("C_RR", "rd=c_rd rs2=c_rs2", "{rd}, {rs2}"),
]
FORMATS: dict[str, Format] = {one.name: one for one in _FORMATS}
