"""Valid programs, objects and images for ``fuzz.images`` to damage."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

from torchsim.target.address_map import SPAD_BASE
from torchsim.target.isa.encoder import encode
from torchsim.target.loader import load
from torchsim.target.object_code import compile_object

TENSORS, SPAD, STACK = 0x10_0000_0000, SPAD_BASE, 0xE000_0000
SYMBOLS = {"spad": SPAD, "other": SPAD + 0x800}
_T0, _T1, _T2, _RA = 5, 6, 7, 1
_IR = """
@spad = external global [512 x float], section ".spad", align 64
@other = external global [512 x float], section ".spad", align 64
@table = internal constant [5 x i64] [i64 3, i64 5, i64 7, i64 11, i64 13], align 8
declare void @__insn_c1_3_2(i64, i64) nounwind
declare void @__insn_c1_3_3(i64, i64) nounwind
define void @kernel(ptr %args) nounwind "no-builtins" {
  call void @__insn_c1_3_2(i64 68719476736, i64 ptrtoint (ptr @spad to i64))
  %i = load i64, ptr @table, align 8
  br label %loop
loop:
  %n = phi i64 [ %i, %0 ], [ %m, %loop ]
  %a = getelementptr float, ptr @spad, i64 %n
  %x = load <8 x float>, ptr %a, align 4
  %y = fmul <8 x float> %x, <float 1.0, float 2.0, float 3.5, float 4.25, float 1.0, float 2.0, float 3.0, float 4.0>
  store <8 x float> %y, ptr @other, align 4
  %m = add i64 %n, -1
  %c = icmp ne i64 %m, 0
  br i1 %c, label %loop, label %end
end:
  call void @helper(i64 %i)
  tail call void @__insn_c1_3_3(i64 68719476736, i64 ptrtoint (ptr @other to i64))
  ret void
}
define void @helper(i64 %d) noinline nounwind "no-builtins" {
  call void @__insn_c1_3_2(i64 %d, i64 7)
  ret void
}
"""


@cache
def objects() -> tuple[bytes, ...]:
    """Object files of the compiler."""
    return compile_object(_IR), compile_object(_IR, unroll=False)


@cache
def stored_image() -> bytes:
    """A kernel as the cache keeps it."""
    return load(objects()[0], SYMBOLS).to_bytes()


def _constant(register: int, value: int) -> list[int]:
    words = [encode("addi", rd=register, rs1=0, imm=value >> 55)]
    for shift in range(44, -1, -11):
        words.append(encode("slli", rd=register, rs1=register, imm=11))
        words.append(encode("ori", rd=register, rs1=register, imm=value >> shift & 0x7FF))
    return words


def _two(name: str, rs1: int, rs2: int) -> list[int]:
    return [*_constant(_T0, rs1), *_constant(_T1, rs2), encode(name, rs1=_T0, rs2=_T1)]


def _bytes(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(4 if word & 3 == 3 else 2, "little") for word in words)


def vector_prologue(rng: random.Random) -> bytes:
    """Any legal vtype and a short vector length."""
    sew, lmul = rng.choice(((0, 0), (1, 1), (2, 0), (2, 2), (2, 3), (3, 0), (3, 3), (0, 7), (1, 6), (0, 5)))
    return _bytes([encode("vsetivli", rd=0, imm=rng.randrange(32), vtype=sew << 3 | lmul | rng.choice((0, 0x40, 0x80, 0xC0)))])


_RETURN = encode("jalr", rd=0, rs1=_RA, imm=0)


def _transfers() -> list[int]:
    words: list[int] = []
    for slot in (0, 3):
        words += _two("npu.config", 1 << 48 | 1 << 32 | 3 << 16 | 5, 1 << 32 | slot << 17 | 3 << 14 | 4)
        words += _two("npu.config2", 0, 5 << 32 | 1) + _two("npu.config3", 0, 1 << 32 | 1)
        words += _two("npu.config_mask", 0, 1 << 48 | 1 << 32 | 2 << 16 | 5) + _two("npu.config_fill", 7, 6)
    words += _two("npu.tag", 1, 0) + _two("npu.mvin", TENSORS, SPAD) + _two("npu.wait", 1, 0)
    return [*words, *_two("npu.mvout", TENSORS, SPAD), _RETURN]


def _vectors() -> list[int]:
    loads = [encode("vle32.v", vd=8, rs1=_T2), encode("vlseg2e32.v", vd=10, rs1=_T2), encode("vlse32.v", vd=12, rs1=_T2, rs2=0)]
    work = [
        encode("vfadd.vv", vd=9, vs2=8, vs1=8),
        encode("npu.exp", vd=9, vs2=9),
        encode("vfredusum.vs", vd=9, vs2=9, vs1=8),
        encode("vrgather.vi", vd=11, vs2=8, imm=2),
        encode("vwadd.vv", vd=16, vs2=8, vs1=9),
        encode("vmseq.vv", vd=0, vs2=8, vs1=9),
        encode("vse32.v", vs3=9, rs1=_T2),
        encode("vs2r.v", vs3=8, rs1=2),
    ]
    loop = [encode("addi", rd=28, rs1=28, imm=-1), encode("bne", rs1=28, rs2=0, imm=-4 * (len(work) + 1))]
    setup = [encode("addi", rd=2, rs1=2, imm=-64), encode("addi", rd=28, rs1=0, imm=3), encode("vsetivli", rd=0, imm=4, vtype=0x10)]
    return [*_constant(_T2, SPAD), *setup, *loads, *work, *loop, encode("c.nop", imm=0), _RETURN]


def _array() -> list[int]:
    pushes = [encode("npu.weight_push", vs2=8), encode("npu.input_push", vs2=9), encode("npu.compute"), encode("npu.pop", vd=10)]
    block = [*_constant(30, 5), encode("addi", rd=31, rs1=0, imm=1), encode("npu.block", rs1=30, rs2=0)]
    return [encode("vsetivli", rd=0, imm=8, vtype=0x10), *block, *pushes, encode("npu.block", rs1=30, rs2=31), _RETURN]


@cache
def programs() -> tuple[bytes, ...]:
    """Transfers, vector work with a loop, the systolic array inside a block, and a compiled kernel."""
    return _bytes(_transfers()), _bytes(_vectors()), _bytes(_array()), load(objects()[0], SYMBOLS).data


@cache
def trap_causes() -> tuple[str, ...]:
    """The causes that docs/isa.md section 6 lists."""
    page = Path(__file__).resolve().parent.parent / "docs" / "isa.md"
    section = page.read_text(encoding="utf-8").split("## 6. Traps")[1].split("<!--")[0]
    return tuple(re.findall(r"`([a-z_]+)`", section))
