"""Disassembly against two independent tools: capstone (scalar, compressed) and LLVM's own assembly output (vector)."""

from __future__ import annotations

import random
import re

import pytest

from torchsim.target.isa.decoder import decode, instructions
from torchsim.target.isa.disassembler import disassemble, disassemble_image, text_of, vtype_text
from torchsim.target.isa.encoder import encode, field_range
from torchsim.target.isa.fields import FORMATS
from torchsim.target.isa.table import ROWS, Row


def _plain(text: str) -> str:
    """One spelling: decimal numbers, no spaces, jalr as rd, rs1, imm."""
    text = re.sub(r"-?0x[0-9a-f]+", lambda match: str(int(match[0], 16)), text).replace("+", "")
    text = re.sub(r"^(jalr \w+), (-?\d+)\((\w+)\)", r"\1, \3, \2", text)
    return re.sub(r"\s+", "", text)


def _random_operands(row: Row, rng: random.Random) -> dict[str, int]:
    values: dict[str, int] = {}
    for name, field in FORMATS[row.format].fields.items():
        legal = [value for value in field_range(field) if value or name != row.nonzero]
        values[name] = rng.choice(legal)
        if field.kind in "xfv" and name != "vd":
            values[name] = values[name] or 1  # capstone prints aliases for x0
        if name.startswith("ignored"):
            values[name] = 0
        if name == "rm":
            values[name] = rng.choice((1, 2, 3, 4, 7)) if field.default == 7 else 0
    return values


@pytest.mark.req("S-3")
def test_scalar_and_compressed_disassembly_equals_capstone() -> None:
    capstone = pytest.importorskip("capstone")
    reference = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC)
    rng = random.Random(7)
    aliased = {
        "csrrw",
        "csrrs",
        "csrrc",
        "csrrwi",
        "csrrsi",
        "csrrci",
        "fence",
        "fence.i",
        "c.nop",
    }  # capstone has other spellings, or none
    compared: set[str] = set()
    for row in ROWS:
        if row.extension not in ("I", "M", "A", "F", "D", "C") or row.name in aliased:
            continue
        for _ in range(8):
            values = _random_operands(row, rng)
            if values.get("imm") == 0 or ("fs1" in values and values["fs1"] == values.get("fs2")):
                continue  # capstone prints aliases (mv, fmv, fneg)
            word = encode(row.name, **values)
            if decode(word).row is not row:
                continue  # c.lui of sp
            theirs = [f"{one.mnemonic} {one.op_str}" for one in reference.disasm(word.to_bytes(row.bytes, "little"), 0)]
            ours = disassemble(word)
            if row.name == "c.lui":
                ours = f"c.lui {ours.split()[1]} {values['imm'] & 0xFFFFF}"
            assert [_plain(one) for one in theirs] == [_plain(ours)], row.name
            compared.add(row.name)
    assert len(compared) > 180


_VECTOR_IR = """
@spad = external global [4096 x float], section ".spad", align 64
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.riscv.sf.vc.v.iv.v16f32.i64.i64.i64(i64, <16 x float>, i64, i64)
declare <vscale x 4 x i32> @llvm.riscv.vrgather.vx.nxv4i32.i64(<vscale x 4 x i32>, <vscale x 4 x i32>, i64, i64)
define void @kernel(ptr %args, i64 %n, float %f, i32 %k) nounwind "no-builtins" {
  %a = load <16 x float>, ptr @spad, align 4
  %b = load <16 x float>, ptr getelementptr (float, ptr @spad, i64 16), align 4
  %sf = insertelement <16 x float> poison, float %f, i64 0
  %splat = shufflevector <16 x float> %sf, <16 x float> poison, <16 x i32> zeroinitializer
  %m = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %b, <16 x float> %splat)
  %lt = fcmp olt <16 x float> %m, %splat
  %sel = select <16 x i1> %lt, <16 x float> %a, <16 x float> %m
  %d = fdiv <16 x float> %sel, %b
  %e = call <16 x float> @llvm.riscv.sf.vc.v.iv.v16f32.i64.i64.i64(i64 3, <16 x float> %d, i64 0, i64 16)
  store <16 x float> %e, ptr getelementptr (float, ptr @spad, i64 32), align 4
  %i = fptosi <16 x float> %d to <16 x i32>
  %h = fptrunc <16 x float> %d to <16 x half>
  %sh = shl <16 x i32> %i, splat (i32 7)
  %ik = insertelement <16 x i32> poison, i32 %k, i64 0
  %ks = shufflevector <16 x i32> %ik, <16 x i32> poison, <16 x i32> zeroinitializer
  %mul = mul <16 x i32> %sh, %ks
  %w = sext <16 x i32> %mul to <16 x i64>
  %q = sdiv <16 x i32> %i, %ks
  store <16 x half> %h, ptr getelementptr (float, ptr @spad, i64 64), align 2
  store <16 x i64> %w, ptr getelementptr (float, ptr @spad, i64 96), align 8
  store <16 x i32> %q, ptr getelementptr (float, ptr @spad, i64 128), align 4
  %p = shufflevector <16 x i32> %i, <16 x i32> %q, <16 x i32> <
    i32 3, i32 18, i32 5, i32 20, i32 7, i32 22, i32 9, i32 24, i32 1, i32 2, i32 3, i32 4, i32 31, i32 30, i32 29, i32 28>
  store <16 x i32> %p, ptr getelementptr (float, ptr @spad, i64 160), align 4
  ret void
}
"""
_ALIASES = {
    "vneg.v": "vrsub.vx",
    "vnot.v": "vxor.vi",
    "vfneg.v": "vfsgnjn.vv",
    "vfabs.v": "vfsgnjx.vv",
    "vmnot.m": "vmnand.mm",
    "vmmv.m": "vmand.mm",
}


def test_vector_disassembly_equals_the_assembly_that_llvm_prints() -> None:
    from torchsim.target.loader import load
    from torchsim.target.object_code import compile_assembly, compile_object

    image = load(compile_object(_VECTOR_IR), {"spad": 0xD000_0000})
    ours = [
        text_of(decoded).partition("  #")[0] for _, code in image.code() for _, decoded in instructions(code, 0) if decoded.name[0] in "vn"
    ]
    theirs = [" ".join(line.split()) for line in compile_assembly(_VECTOR_IR).splitlines() if re.match(r"\s+(v|sf\.)", line)]
    assert len(ours) == len(theirs) > 25
    for mine, llvm in zip(ours, theirs, strict=True):
        if llvm.split()[0] in _ALIASES:
            assert mine.split()[0] == _ALIASES[llvm.split()[0]]
        else:
            assert mine == llvm
    assert {"vsetivli", "vfmacc.vv", "sf.vc.v.iv", "vdiv.vx"} <= {line.split()[0] for line in ours}


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0x0D0F7057, "vsetvli zero, t5, e32, m1, ta, ma"),
        (encode("vle32.v", vd=8, rs1=10, vm=0), "vle32.v v8, (a0), v0.t"),
        (encode("vluxei64.v", vd=8, rs1=10, vs2=16), "vluxei64.v v8, (a0), v16"),
        (encode("vsoxseg2ei32.v", vs3=8, rs1=10, vs2=16), "vsoxseg2ei32.v v8, (a0), v16"),
        (encode("vslideup.vi", vd=8, vs2=9, imm=31), "vslideup.vi v8, v9, 31"),
        (encode("vadd.vi", vd=8, vs2=9, imm=-16), "vadd.vi v8, v9, -16"),
        (encode("vfmacc.vf", vd=8, fs1=10, vs2=9), "vfmacc.vf v8, fa0, v9"),
        (encode("vmerge.vim", vd=8, vs2=9, imm=1), "vmerge.vim v8, v9, 1, v0"),
        (encode("npu.weight_push", vs2=8), "sf.vc.iv 1, 0, v8, 0  # npu.weight_push"),
        (encode("npu.log", vd=8, vs2=9), "sf.vc.v.iv 2, v8, v9, 2  # npu.log"),
        (encode("npu.mvin", rs1=10, rs2=11), "npu.mvin a0, a1"),
        (encode("fadd.s", fd=10, fs1=11, fs2=12, rm=1), "fadd.s fa0, fa1, fa2, rtz"),
        (encode("fcvt.d.s", fd=10, fs1=11), "fcvt.d.s fa0, fa1"),
        (encode("amoadd.d", rd=10, rs2=11, rs1=12, aq=1, rl=1), "amoadd.d.aqrl a0, a1, (a2)"),
        (encode("csrrs", rd=11, csr=0xC22, rs1=0), "csrrs a1, vlenb, zero"),
        (encode("fence"), "fence iorw, iorw"),
        (0x0000, "illegal 0x0000"),
        (0xFFFF_FFFF, "illegal 0xffffffff"),
    ],
)
def test_text(word: int, text: str) -> None:
    assert disassemble(word) == text


def test_branch_targets_are_absolute_when_the_pc_is_known() -> None:
    word = encode("bne", rs1=10, rs2=0, imm=-16)
    assert disassemble(word, 0x8000_0010) == "bne a0, zero, 0x80000000"
    assert disassemble(word) == "bne a0, zero, -16"


def test_reserved_vtypes_are_shown_as_numbers() -> None:
    assert vtype_text(0b11_011_001) == "e64, m2, ta, ma"
    assert vtype_text(0b0_000_111) == "e8, mf2, tu, mu"
    assert vtype_text(0b100) == "4"
    assert vtype_text(0x100) == "256"


def test_a_listing_shows_labels_addresses_and_bits() -> None:
    listing = disassemble_image(bytes([0x41, 0x11]) + (0x04B5302B).to_bytes(4, "little"), 0x8000_0000, {"kernel": 0x8000_0000})
    assert listing.splitlines() == ["kernel:", "  0x80000000  1141      c.addi sp, -16", "  0x80000002  04b5302b  npu.mvin a0, a1"]
    assert disassemble_image(b"", 0) == ""
