"""Random kernels of one or a few instructions: every row of the table that a kernel may use, on random registers.

The scratchpad holds the initial registers (vector registers from each lane's bank, scalar ones from lane 0's), and after
the kernel the final registers; so equal scratchpads mean equal architectural state.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from torchsim.target.isa.encoder import encode, field_range
from torchsim.target.isa.fields import FORMATS
from torchsim.target.isa.table import BY_NAME, ROWS, Cost, Row

from .program import SPAD, Program, vtype
from .values import mixed

SPAD_BYTES = 16384
# scratchpad layout of a case, in bytes
VECTORS, SCALARS, FLOATS = 0, 1024, 1280
RESULT = 2048  # vector registers, then x, f, control registers
DATA, DATA_BYTES = 4096, 12288
# registers with a role: what an instruction under test may not write
RETURN, DATA_POINTER, STRIDE, RESULT_POINTER, START_POINTER = 1, 28, 29, 30, 31
_RESERVED = {RETURN, DATA_POINTER, STRIDE, RESULT_POINTER, START_POINTER}
FFLAGS, FRM, FCSR, VXSAT, VXRM, VCSR, VL, VTYPE, VLENB = 0x001, 0x002, 0x003, 0x009, 0x00A, 0x00F, 0xC20, 0xC21, 0xC22
_CSRS = (FFLAGS, FRM, FCSR, VXSAT, VXRM, VCSR, VL, VTYPE, VLENB)
# control registers in the order in which they are stored, eight bytes each
STORED = {"fflags": FFLAGS, "vxsat": VXSAT, "frm": FRM, "vxrm": VXRM, "vl": VL, "vtype": VTYPE, "fcsr": FCSR, "vcsr": VCSR}
SEWS, LMULS = (8, 16, 32, 64), (-8, -4, -2, 1, 2, 4, 8)
_DOUBLE_WIDTH = ("vw", "vfw", "vnsr", "vnclip", "vfncvt")  # one side has twice the width of SEW
_VECTOR_MEMORY = ("VL_", "VS_")
_SCALAR_MEMORY = {"LOAD": 1, "FLOAD": 1, "STORE": 1, "FSTORE": 1, "LR": 0, "AMO": 0}
_ACCESS_BYTES = {"b": 1, "h": 2, "w": 4, "d": 8}
_NOT_ALONE = {"jal", "jalr", "fence", "fence.i", "ecall", "ebreak"}


def testable(row: Row) -> bool:
    """Whether a row makes a case of its own: it needs no more than registers and the data region."""
    if row.extension == "C":
        return row.cost is Cost.SCALAR_ALU
    return row.extension not in ("custom-1", "XSfvcp") and row.format != "BRANCH" and row.name not in _NOT_ALONE


TESTABLE = tuple(row.name for row in ROWS if testable(row))
Instruction = tuple[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Case:
    """Instructions, the vector state before them and the seed of the register contents.

    Attributes:
        instructions: names and operands.
        sew, lmul: vtype (see ``program.vtype``).
        vl: application vector length asked for.
        frm, vxrm: rounding modes of floats and of fixed-point numbers.
        seed: of the register and memory contents.
    """

    instructions: tuple[Instruction, ...]
    sew: int
    lmul: int
    vl: int
    frm: int
    vxrm: int
    seed: int

    def program(self) -> Program:
        """Load all registers, run the instruction, store all registers."""
        program = Program().code(_load_vectors())
        program.li(5, self.frm << 5).op("csrrw", rd=0, csr=FCSR, rs1=5).li(5, self.vxrm << 1).op("csrrw", rd=0, csr=VCSR, rs1=5)
        program.li(5, self.vl).op("vsetvli", rd=0, rs1=5, vtype=vtype(self.sew, self.lmul)).code(_load_scalars())
        for name, operands in self.instructions:
            program.op(name, **operands)
        return program.code(_store_all())

    def spad(self, lanes: int) -> npt.NDArray[np.uint8]:
        """Initial scratchpad, uint8 [lanes, SPAD_BYTES]."""
        rng = np.random.default_rng(self.seed)
        spad = np.zeros((lanes, SPAD_BYTES), np.uint8)
        registers = spad[:, :1024].reshape(lanes, 32, 32)
        widths = rng.choice([8, 16, 32, 64, self.sew, self.sew, min(2 * self.sew, 64)], 32)
        for bits in (8, 16, 32, 64):
            chosen = np.flatnonzero(widths == bits)
            registers[:, chosen] = mixed(rng, lanes * chosen.size * 256 // bits, bits).reshape(lanes, chosen.size, 32)
        x = mixed(rng, 32, 64).view(np.uint64).copy()
        kind = rng.random(32)
        small, medium = kind < 0.4, kind > 0.75
        x[small] = rng.integers(0, 70, int(small.sum()), dtype=np.uint64)
        x[medium] >>= rng.integers(0, 64, int(medium.sum()), dtype=np.uint64)  # any number of significant bits
        x[STRIDE] = int(rng.integers(-9, 10)) * self.sew // 8 & (1 << 64) - 1
        spad[:, SCALARS : SCALARS + 256] = x.view(np.uint8)
        spad[:, FLOATS : FLOATS + 256] = _float_registers(rng, self._float_bits())
        spad[:, DATA:] = rng.integers(0, 256, (lanes, DATA_BYTES), dtype=np.uint8)
        self._put_indices(rng, spad)
        return spad

    def _float_bits(self) -> int:
        """Width of the values that most f registers hold: that of the first scalar float instruction's operands, else SEW."""
        for name, _ in self.instructions:
            if name[0] == "f" and name.endswith((".h", ".s", ".d")):
                return {"h": 16, "s": 32, "d": 64}[name[-1]]
        return max(self.sew, 16)

    def _put_indices(self, rng: np.random.Generator, spad: npt.NDArray[np.uint8]) -> None:
        """Indexed accesses get aligned offsets that stay in the data region."""
        for name, operands in self.instructions:
            if "_INDEXED" in BY_NAME[name].format:
                size, step = int(name.split("ei")[1].removesuffix(".v")) // 8, self.sew // 8
                start = 32 * operands["vs2"]
                count = (1024 - start) // size
                offsets = rng.integers(0, min(4096, 1 << 8 * size) // step, (spad.shape[0], count)) * step
                spad[:, start : start + count * size] = offsets.astype(f"<u{size}").view(np.uint8).reshape(spad.shape[0], -1)

    def __str__(self) -> str:
        lines = [f"SEW {self.sew}, LMUL {self.lmul}, AVL {self.vl}, frm {self.frm}, vxrm {self.vxrm}, seed {self.seed}"]
        for name, operands in self.instructions:
            lines.append(f"  {encode(name, **operands):08x}  {name} " + ", ".join(f"{key}={value}" for key, value in operands.items()))
        return "\n".join(lines)


@functools.cache
def _load_vectors() -> bytes:
    program = Program().li(START_POINTER, SPAD).li(RESULT_POINTER, SPAD + RESULT)
    for group in range(4):
        program.op("addi", rd=5, rs1=START_POINTER, imm=VECTORS + 256 * group).op("vl8re8.v", vd=8 * group, rs1=5)
    return program.machine_code()


@functools.cache
def _load_scalars() -> bytes:
    program = Program()
    for register in range(32):
        program.op("fld", fd=register, rs1=START_POINTER, imm=FLOATS + 8 * register)
        if register not in (0, *_RESERVED):
            program.op("ld", rd=register, rs1=START_POINTER, imm=SCALARS + 8 * register)
    return program.li(DATA_POINTER, SPAD + DATA + DATA_BYTES // 2).machine_code()


@functools.cache
def _store_all() -> bytes:
    program = Program()
    for register in range(32):
        program.op("sd", rs2=register if register not in _RESERVED else 0, rs1=RESULT_POINTER, imm=1024 + 8 * register)
        program.op("fsd", fs2=register, rs1=RESULT_POINTER, imm=1280 + 8 * register)
    for place, csr in enumerate(STORED.values()):
        program.op("csrrs", rd=5, csr=csr, rs1=0).op("sd", rs2=5, rs1=RESULT_POINTER, imm=1536 + 8 * place)
    for group in range(4):
        program.op("addi", rd=5, rs1=RESULT_POINTER, imm=256 * group).op("vs8r.v", vs3=8 * group, rs1=5)
    return program.machine_code()


def _float_registers(rng: np.random.Generator, bits_of_most: int) -> npt.NDArray[np.uint8]:
    """32 f registers: properly boxed values of all three widths, and some badly boxed ones."""
    registers = np.full((32, 8), 0xFF, np.uint8)
    widths = rng.choice([16, 32, 64] + [bits_of_most] * 12, 32)
    for bits in (16, 32, 64):
        chosen = np.flatnonzero(widths == bits)
        registers[chosen, : bits // 8] = mixed(rng, chosen.size, bits).reshape(chosen.size, bits // 8)
    bad = rng.random(32) < 0.1
    registers[bad, 7] ^= 0x40
    return registers.reshape(-1)


def draw_case(rng: random.Random, name: str) -> Case:
    """A case of the named row. Most are legal; one in eight has vtype, register numbers and rounding modes drawn blindly."""
    blind = rng.random() < 0.125
    sew = rng.choice(list(SEWS) if blind else _sews(name))
    lmul = rng.choice(list(LMULS) if blind else _lmuls(BY_NAME[name], sew))
    return draw_case_at(rng, name, sew, lmul, blind)


def draw_case_at(rng: random.Random, name: str, sew: int, lmul: int, blind: bool = False) -> Case:
    """A case of the named row with this SEW and LMUL; ``blind`` draws register numbers and rounding modes that may be illegal."""
    row = BY_NAME[name]
    instructions: tuple[Instruction, ...] = ((name, _operands(rng, row, lmul, blind)),)
    if name.startswith("sc.") and rng.random() < 0.6:  # one that succeeds: mostly of the same width as the reservation
        reserve = rng.choice([name.replace("sc", "lr"), "lr.w", "lr.d"])
        instructions = ((reserve, _operands(rng, BY_NAME[reserve], lmul, blind)), *instructions)
    if row.format.startswith(_VECTOR_MEMORY) and rng.random() < 0.2:  # a base of any alignment
        shift = {"rd": DATA_POINTER, "rs1": DATA_POINTER, "imm": rng.choice([1, 2, 4, 8])}
        instructions = (("addi", shift), *instructions)
    return _case(rng, instructions, sew, lmul, blind)


def draw_branch(rng: random.Random, name: str) -> Case:
    """A jump or branch over one instruction."""
    operands = {**_operands(rng, BY_NAME[name], 1, False), "imm": 8}
    over = ("addi", {"rd": 5, "rs1": 5, "imm": 1})
    return _case(rng, ((name, operands), over, over), 32, 1, False)


def draw_program(rng: random.Random, names: Sequence[str], length: int) -> Case:
    """A case of several instructions among ``names``, with jumps over single instructions."""
    sew = rng.choice([8, 16, 32, 64])
    lmul = rng.choice([1, 2, 4, -2])
    instructions: list[Instruction] = []
    for _ in range(length):
        if rng.random() < 0.1:
            row = BY_NAME[rng.choice(["beq", "bne", "blt", "bgeu", "jal"])]
            instructions.append((row.name, {**_operands(rng, row, lmul, False), "imm": 8}))
            instructions.append(("addi", {"rd": 5, "rs1": 5, "imm": 1}))  # four bytes to jump over
        else:
            row = BY_NAME[rng.choice(names)]
            instructions.append((row.name, _operands(rng, row, lmul, False)))
    return _case(rng, tuple(instructions), sew, lmul, False)


def _case(rng: random.Random, instructions: tuple[Instruction, ...], sew: int, lmul: int, blind: bool) -> Case:
    limit = max(1, 256 // sew * lmul if lmul > 0 else 256 // sew // -lmul)
    vl = rng.choice([0, 1, limit, limit, rng.randint(0, limit), rng.randint(0, limit)])
    frm = rng.randrange(8) if blind else rng.choice([0, 0, 1, 2, 3, 4])
    return Case(instructions, sew, lmul, vl, frm, rng.randrange(4), rng.getrandbits(32))


def _operands(rng: random.Random, row: Row, lmul: int, blind: bool) -> dict[str, int]:
    vector_memory = row.format.startswith(_VECTOR_MEMORY)
    align = 8 if lmul >= 4 or vector_memory or row.name in ("vmv4r.v", "vmv8r.v") else 2 * max(lmul, 1)
    masked = rng.random() < 0.4
    operands: dict[str, int] = {}
    for operand, field in FORMATS[row.format].fields.items():
        values = field_range(field)
        if field.kind == "v" and not blind:
            lowest = align if operand == "vd" and (masked or row.name.endswith(("vm", "im", "xm"))) else 0
            operands[operand] = rng.randrange(lowest, 32, align)
        elif operand == "vm":
            operands[operand] = int(not masked)
        elif operand == "rs1" and (vector_memory or row.format in _SCALAR_MEMORY):
            operands[operand] = DATA_POINTER
        elif operand == "rs2" and vector_memory:
            operands[operand] = STRIDE
        elif operand == "imm" and row.format in _SCALAR_MEMORY and not blind:
            size = _ACCESS_BYTES[row.name.removeprefix("f").lstrip("ls")[0]]
            operands[operand] = rng.randrange(-2048 // size, 2048 // size) * size
        elif operand == "rd":
            operands[operand] = rng.choice([register for register in values if register not in _RESERVED])
        elif operand == "rm":
            operands[operand] = rng.randrange(8) if blind else rng.choice([0, 1, 2, 3, 4, 7])
        elif operand == "csr":
            operands[operand] = rng.choice(_CSRS)
        else:
            operands[operand] = rng.choice(values)
        if field.kind == "x" and operands[operand] == RETURN:  # holds an address that no document fixes
            operands[operand] = 0
        if operand == row.nonzero and operands[operand] == 0:
            operands[operand] = values[-1]
    return operands


def legal(name: str, sew: int, lmul: int) -> bool:
    """Whether a row can be legal under this vtype with the right register numbers."""
    return sew in _sews(name) and lmul in _lmuls(BY_NAME[name], sew)


def _sews(name: str) -> list[int]:
    """SEWs with which a row can be legal; 8 with floats only where a conversion has 8-bit integers on one side."""
    if name.endswith((".vf2", ".vf4", ".vf8")):
        return [sew for sew in (16, 32, 64) if sew // int(name[-1]) >= 8]
    choices = [16, 32, 64] if name.startswith(("vf", "vmf")) and not name.startswith("vfirst") else [8, 16, 32, 64]
    if name.startswith(("vfncvt.x", "vfncvt.rtz", "vfwcvt.f.x")):
        choices.insert(0, 8)
    if name.startswith(_DOUBLE_WIDTH):
        choices.remove(64)
    return choices


def _lmuls(row: Row, sew: int) -> list[int]:
    """LMULs with which the row can be legal at this SEW: register groups of fields, wide operands and other element sizes fit."""
    choices = [lmul for lmul in (1, 2, 4, 8, -2, -4, -8) if lmul > 0 or sew <= 64 // -lmul]
    if row.format.startswith(_VECTOR_MEMORY) and "WHOLE" not in row.format:
        fields = int(row.name.split("seg")[1][0]) if "seg" in row.name else 1
        size = re.search(r"ei?(8|16|32|64)", row.name)
        ratio = int(size[1]) / sew if size else 1.0
        groups = {lmul: ratio * _factor(lmul) for lmul in choices}
        if "INDEXED" in row.format:  # the width in the name is that of the indices
            return [lmul for lmul in choices if 1 / 8 <= groups[lmul] <= 8 and _factor(lmul) * fields <= 8]
        return [lmul for lmul in choices if groups[lmul] >= 1 / 8 and groups[lmul] * fields <= 8]
    if row.name == "vrgatherei16.vv":
        return [lmul for lmul in choices if 1 / 8 <= 16 / sew * _factor(lmul) <= 8]
    if row.name.startswith(_DOUBLE_WIDTH) and "red" not in row.name:
        return [lmul for lmul in choices if lmul < 8]
    return choices


def _factor(lmul: int) -> float:
    return lmul if lmul > 0 else -1 / lmul
