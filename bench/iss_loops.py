"""The kernels that ``bench_iss.py`` runs: loops over vector instructions whose number of turns comes in a0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oracles.spike.program import A0, SPAD, Program, vtype

ADDRESS, SCALAR = 11, 12  # x11: scratchpad, x12: an integer operand
SPAD_BYTES = 32 << 10


@dataclass(frozen=True)
class Loop:
    """A program and how many of the instructions of a turn are vector instructions of every lane (``vsetvli`` is not)."""

    name: str
    image: bytes
    vector_instructions: int


def _vset(program: Program, lmul: int) -> None:
    program.op("vsetvli", rd=5, rs1=0, vtype=vtype(32, lmul))  # rs1 = x0: vl = VLMAX, so 8 * LMUL elements of a lane


def _alu(program: Program, lmul: int) -> int:
    """Four operations on register groups of ``lmul``: floats in v8 to v23, integers in the others, all within normal ranges."""
    d, a, b = 8, 16, 24 - lmul
    i, j = 0, 32 - lmul
    if lmul == 1:
        program.op("vfadd.vv", vd=d, vs2=a, vs1=b, vm=1).op("vxor.vv", vd=i, vs2=i, vs1=j, vm=1)
        program.op("vfmacc.vv", vd=d, vs2=a, vs1=b, vm=1).op("vadd.vi", vd=j, vs2=i, imm=3, vm=1)
    elif lmul == 2:
        program.op("vfmul.vv", vd=d, vs2=a, vs1=b, vm=1).op("vadd.vx", vd=i, vs2=j, rs1=SCALAR, vm=1)
        program.op("vfmax.vv", vd=d, vs2=d, vs1=a, vm=1).op("vsll.vi", vd=j, vs2=i, imm=1, vm=1)
    elif lmul == 4:
        program.op("vfmul.vf", vd=d, vs2=a, fs1=1, vm=1).op("vsub.vv", vd=i, vs2=i, vs1=j, vm=1)
        program.op("vfmacc.vf", vd=d, vs2=b, fs1=1, vm=1).op("vmul.vv", vd=j, vs2=i, vs1=j, vm=1)
    else:
        program.op("vfadd.vf", vd=d, vs2=a, fs1=1, vm=1).op("vmax.vv", vd=i, vs2=i, vs1=j, vm=1)
        program.op("vfmadd.vv", vd=d, vs2=a, vs1=b, vm=1).op("vand.vv", vd=i, vs2=i, vs1=j, vm=1)
    return 4


def _single(program: Program, _lmul: int) -> int:
    """Four operations on single registers of floats: the least work per instruction."""
    for name, d, a, b in (("vfadd.vv", 8, 16, 17), ("vfmul.vv", 9, 18, 19), ("vfmacc.vv", 8, 18, 16), ("vfsub.vv", 10, 8, 9)):
        program.op(name, vd=d, vs2=a, vs1=b, vm=1)
    return 4


def _memory(program: Program, lmul: int) -> int:
    """Two loads and two stores of register groups of ``lmul``; the middle two 4 bytes off the 8-byte planes of the scratchpad."""
    first, second, step = 8, 16, 32 * lmul
    program.op("vle32.v", vd=first, rs1=ADDRESS, vm=1).op("addi", rd=6, rs1=ADDRESS, imm=step + 4).op("vle32.v", vd=second, rs1=6, vm=1)
    program.op("addi", rd=7, rs1=6, imm=2 * step).op("vse32.v", vs3=first, rs1=7, vm=1)
    program.op("addi", rd=7, rs1=ADDRESS, imm=5 * step).op("vse32.v", vs3=second, rs1=7, vm=1)
    return 4


def _mixed(program: Program, lmul: int) -> int:
    """Load, compute, store as element-wise kernels do."""
    d, a, b = (8, 16, 24)
    program.op("vle32.v", vd=a, rs1=ADDRESS, vm=1).op("addi", rd=6, rs1=ADDRESS, imm=32 * lmul).op("vle32.v", vd=b, rs1=6, vm=1)
    program.op("vfadd.vv", vd=d, vs2=a, vs1=b, vm=1).op("vfmul.vf", vd=d, vs2=d, fs1=1, vm=1).op("vfmacc.vv", vd=d, vs2=a, vs1=b, vm=1)
    program.op("vfmax.vv", vd=d, vs2=d, vs1=b, vm=1).op("vadd.vx", vd=a, vs2=a, rs1=SCALAR, vm=1)
    program.op("addi", rd=6, rs1=6, imm=32 * lmul).op("vse32.v", vs3=d, rs1=6, vm=1)
    return 8


def _loop(name: str, part: Callable[[Program, int], int], lmuls: tuple[int, ...] = (1, 2, 4, 8)) -> Loop:
    program = Program().li(ADDRESS, SPAD).li(SCALAR, 12345).li(5, 0x3F80_0001).op("fmv.w.x", fd=1, rs1=5)
    _vset(program, 8)
    for register in (0, 8, 16, 24):
        program.op("vid.v", vd=register, vm=1).op("vfcvt.f.xu.v", vd=register, vs2=register, vm=1)
    start = len(program)
    count = 0
    for lmul in lmuls:
        _vset(program, lmul)
        count += part(program, lmul)
    program.op("addi", rd=A0, rs1=A0, imm=-1)
    program.op("bne", rs1=A0, rs2=0, imm=start - len(program))
    return Loop(name, program.image(), count)


LOOPS = (_loop("ALU", _alu), _loop("ALU m1", _single, (1, 1, 1, 1)), _loop("memory", _memory), _loop("mixed", _mixed))
