"""The lane-safety checker on code that LLVM compiled: clean recipes and the leaks that LLVM is known to make."""

from __future__ import annotations

import pytest

from torchsim.target.address_map import SPAD_BASE
from torchsim.target.image import Image
from torchsim.target.lane_checker import Rule, find_hazards
from torchsim.target.loader import load
from torchsim.target.object_code import compile_object

_OUT = "ptr getelementptr (float, ptr @spad, i64 1024), align 4"
_MAX = "declare float @llvm.vector.reduce.fmaximum.v8f32(<8 x float>)"
_SUM = "declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)"
_SUM_CALL = "call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %x)"
_ANY = "declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)"
_WAIT = "declare void @__insn_c1_3_10(i64, i64) nounwind"


def _compiled(body: str, declaration: str = "") -> Image:
    """A kernel with eight loaded elements in %x and an index %i; ``body`` is one statement a line."""
    ir = f"""
@spad = external global [4096 x float], section ".spad", align 64
{declaration}
define void @kernel(ptr %args, i64 %i) nounwind "no-builtins" {{
  %x = load <8 x float>, ptr @spad, align 4
  {body}
  ret void
}}
"""
    return load(compile_object(ir), {"spad": SPAD_BASE})


_CLEAN = {
    "elementwise": (f"%y = fadd <8 x float> %x, splat (float 1.5)\nstore <8 x float> %y, {_OUT}", ""),
    "ragged": (
        f"%p = shufflevector <8 x float> %x, <8 x float> %x, <5 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4>\nstore <5 x float> %p, {_OUT}",
        "",
    ),
    "dynamic insert of a uniform value": (f"%y = insertelement <8 x float> %x, float 7.0, i64 %i\nstore <8 x float> %y, {_OUT}", ""),
    "dynamic extract that is stored": (
        f"%y = fadd <8 x float> %x, %x\n%s = extractelement <8 x float> %y, i64 %i\nstore float %s, {_OUT}",
        "",
    ),
    "mask to memory": (f"%m = fcmp ogt <8 x float> %x, zeroinitializer\nstore <8 x i1> %m, {_OUT}", ""),
    "argument block": ("%v = load i64, ptr %args, align 8\ncall void @__insn_c1_3_10(i64 3, i64 %v)", _WAIT),
}
_LEAKS = {
    "reduction with nan": (
        f"%y = call float @llvm.vector.reduce.fmaximum.v8f32(<8 x float> %x)\nstore float %y, {_OUT}",
        _MAX,
        {Rule.VECTOR_TO_SCALAR, Rule.SCALAR_STORE},
    ),
    "mean": (
        f"%s = {_SUM_CALL}\n%y = fmul float %s, 0.125\nstore float %y, {_OUT}",
        _SUM,
        {Rule.VECTOR_TO_SCALAR, Rule.SCALAR_STORE},
    ),
    "scalar copy": (f"%s = load float, ptr @spad, align 4\nstore float %s, {_OUT}", "", {Rule.SCALAR_LOAD, Rule.SCALAR_STORE}),
    "broadcast of a loaded element": (
        (
            "%s = load float, ptr @spad, align 4\n%one = insertelement <8 x float> poison, float %s, i64 0\n"
            "%b = shufflevector <8 x float> %one, <8 x float> poison, <8 x i32> zeroinitializer\n"
            f"%y = fmul <8 x float> %x, %b\nstore <8 x float> %y, {_OUT}"
        ),
        "",
        {Rule.SCALAR_LOAD},
    ),
    "branch on any": (
        (
            "%m = fcmp ogt <8 x float> %x, zeroinitializer\n%a = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %m)\n"
            f"br i1 %a, label %t, label %e\nt:\nstore <8 x float> zeroinitializer, {_OUT}\nbr label %e\ne:"
        ),
        _ANY,
        {Rule.VECTOR_TO_SCALAR},
    ),
    "atomic": ("%o = atomicrmw add ptr @spad, i32 1 monotonic", "", {Rule.ATOMIC}),
}


@pytest.mark.req("L-6")
@pytest.mark.parametrize("name", _CLEAN)
def test_clean_code_passes(name: str) -> None:
    body, declaration = _CLEAN[name]
    assert find_hazards(_compiled(body, declaration)) == []


@pytest.mark.req("L-6")
@pytest.mark.parametrize("name", _LEAKS)
def test_leaks_are_found(name: str) -> None:
    body, declaration, expected = _LEAKS[name]
    assert {hazard.rule for hazard in find_hazards(_compiled(body, declaration))} == expected


def test_a_kernel_with_vector_and_scalar_spills_is_clean() -> None:
    count = 40
    wait = "call void @__insn_c1_3_10(i64 10, i64 %v)"
    lines = ["%v = load i64, ptr %args, align 8", wait]
    lines += [f"%x{i} = load <32 x float>, ptr getelementptr (float, ptr @spad, i64 {32 * i}), align 4" for i in range(count)]
    lines += ["%s0 = fadd <32 x float> %x0, %x0", *(f"%s{i} = fmul <32 x float> %s{i - 1}, %x{i}" for i in range(1, count))]
    for i in range(count):
        lines.append(f"%t{i} = fadd <32 x float> %s{count - 1}, %x{i}")
        lines.append(f"store <32 x float> %t{i}, ptr getelementptr (float, ptr @spad, i64 {32 * i}), align 4")
    lines += [wait, "%w = load i64, ptr %args, align 8", wait.replace("%v", "%w")]
    image = _compiled("\n".join(lines), _WAIT)
    assert image.listing().count("vs4r.v") > 5, "the test needs vector spills"
    assert find_hazards(image) == []


def test_a_jump_table_of_a_switch_is_traced() -> None:
    arms = "\n".join(
        f"b{i}:\ncall void @__insn_c1_3_10(i64 {i * i % 7 + 3}, i64 {i})\ncall void @__insn_c1_3_10(i64 {i}, i64 %i)\nbr label %end"
        for i in range(8)
    )
    targets = " ".join(f"i64 {i}, label %b{i}" for i in range(8))
    image = _compiled(f"switch i64 %i, label %end [{targets}]\n{arms}\nend:", _WAIT)
    assert "c.jr a" in image.listing(), "the test needs a jump table"
    assert find_hazards(image) == []
