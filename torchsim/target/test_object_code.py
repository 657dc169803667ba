"""LLVM IR to object code: what it makes, and what it refuses before LLVM would abort the process."""

from __future__ import annotations

import pytest

from torchsim.errors import InternalError, TorchsimError, UnsupportedError
from torchsim.target.loader import load
from torchsim.target.object_code import compile_assembly, compile_object

_SPAD = '@spad = external global [4096 x float], section ".spad", align 64\n'
_ADD = (
    _SPAD
    + """
define void @kernel(ptr %args) nounwind "no-builtins" {
  %x = load <8 x float>, ptr @spad, align 4
  %y = fadd <8 x float> %x, %x
  store <8 x float> %y, ptr getelementptr (float, ptr @spad, i64 8), align 4
  ret void
}
"""
)
_LOOP = (
    _SPAD
    + """
define void @kernel(ptr %args) nounwind "no-builtins" {
  br label %loop
loop:
  %i = phi i64 [0, %0], [%next, %loop]
  %p = getelementptr float, ptr @spad, i64 %i
  %x = load <8 x float>, ptr %p, align 4
  %y = fadd <8 x float> %x, %x
  store <8 x float> %y, ptr %p, align 4
  %next = add i64 %i, 8
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
)


@pytest.mark.req("L-6")
def test_fixed_vectors_become_vector_instructions_in_process() -> None:
    listing = load(compile_object(_ADD), {"spad": 0xD000_0000}).listing()
    assert "vsetivli zero, 8, e32, m1, ta, ma" in listing and "vfadd.vv" in listing and "vse32.v" in listing


def test_the_same_text_gives_the_same_bytes() -> None:
    assert compile_object(_LOOP) == compile_object(_LOOP)


def test_unrolling_can_be_switched_off() -> None:
    assert compile_assembly(_LOOP, unroll=True).count("vfadd.vv") == 8
    assert compile_assembly(_LOOP, unroll=False).count("vfadd.vv") == 1


def test_contraction_is_off_so_each_operation_rounds() -> None:
    text = compile_assembly(
        _ADD.replace("fadd <8 x float> %x, %x", "fmul <8 x float> %x, %x\n  %z = fadd <8 x float> %y, %x").replace(
            "<8 x float> %y, ptr", "<8 x float> %z, ptr"
        )
    )
    assert "vfmul.vv" in text and "vfadd.vv" in text and "vfmacc" not in text and "vfmadd" not in text


def test_instruction_calls_keep_vector_registers() -> None:
    """A vector that is live over the call needs no spill, because the call uses the vector calling convention."""
    ir = (
        _SPAD
        + """
declare void @__insn_c1_3_10(i64, i64) nounwind
define void @kernel(ptr %args) nounwind "no-builtins" {
  %x = load <8 x float>, ptr @spad, align 4
  %y = fadd <8 x float> %x, %x
  call void @__insn_c1_3_10(i64 1, i64 0)
  %z = fmul <8 x float> %y, %x
  store <8 x float> %z, ptr @spad, align 4
  ret void
}
"""
    )
    assert "vs1r.v" not in compile_assembly(ir)


_EMPTY = "define void @kernel() {\n  ret void\n}\n"
_INSERT = "declare <vscale x 8 x float> @llvm.vector.insert.nxv8f32.v29f32(<vscale x 8 x float>, <29 x float>, i64)\n"
_VCIX_5 = "declare <5 x float> @llvm.riscv.sf.vc.v.iv.v5f32.i64.i64.i64(i64, <5 x float>, i64, i64)\n"
_VCIX_128 = "declare <128 x float> @llvm.riscv.sf.vc.v.iv.v128f32.i64.i64.i64(i64, <128 x float>, i64, i64)\n"
_MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"


def _calling(call: str, result: str = "") -> str:
    return f"define void @kernel(ptr %p, float %x) {{\n  {result}call {call}\n  ret void\n}}\n"


@pytest.mark.parametrize(
    ("ir", "kind", "message"),
    [
        (_calling('void asm sideeffect "nop", ""()'), InternalError, "inline assembly"),
        ('module asm "nop"\n' + _EMPTY, InternalError, "inline assembly"),
        ("declare float @expf(float)\n" + _calling("float @expf(float %x)", "%y = "), UnsupportedError, "expf"),
        ("declare void @__insn_c0_3_1(i64)\n" + _calling("void @__insn_c0_3_1(i64 1)"), UnsupportedError, "__insn_c0_3_1"),
        (_MEMSET + _calling("void @llvm.memset.p0.i64(ptr %p, i8 0, i64 999, i1 false)"), UnsupportedError, "memset"),
        (_INSERT + _EMPTY, InternalError, "29 elements"),
        (_VCIX_5 + _EMPTY, InternalError, "5 elements"),
        (_VCIX_128 + _EMPTY, InternalError, "4096 bits"),
        ("define void @kernel() {\n  %x = add i32 1, 1.0\n  ret void\n}", InternalError, "rejects"),
        ("this is no IR", InternalError, "rejects"),
        ("define i32 @kernel(i32 %a) {\n  %x = add i32 %y, 1\n  %y = add i32 %a, 1\n  ret i32 %x\n}", InternalError, "rejects"),
    ],
)
def test_what_cannot_be_emitted_is_refused(ir: str, kind: type[TorchsimError], message: str) -> None:
    with pytest.raises(kind, match=message):
        compile_object(ir)


def test_strings_and_unused_declarations_are_no_reason_to_refuse() -> None:
    harmless = '@text = private constant [6 x i8] c"asm \\22\\22"\ndeclare float @expf(float)\n' + _ADD
    assert load(compile_object(harmless), {"spad": 0xD000_0000}).symbols.keys() == {"kernel"}
