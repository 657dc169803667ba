from __future__ import annotations

import pytest

from torchsim._mlir import ir
from torchsim.dialect import rvv
from torchsim.dialect.build import collect, known, single, splat
from torchsim.dialect.togsim import VLANE_IDX
from torchsim.errors import InternalError
from torchsim.passes.math_to_vcix import FUNCTIONS, math_to_vcix
from torchsim.passes.test_support import MACHINE, kernel_module
from torchsim.target.isa.table import BY_NAME


def _emit(name: str, count: int, element: str) -> None:
    of = rvv.vector(count, ir.Type.parse(element))
    single(name, of, [splat(0.5, of)])


@pytest.mark.req("L-5")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_become_their_instruction(name: str) -> None:
    with kernel_module(lambda: _emit(name, 8, "f32")) as module:
        math_to_vcix(module, MACHINE)
        assert not collect(module, name)
        [call] = collect(module, "llvm.call_intrinsic")
        assert ir.StringAttr(call.attributes["intrin"]).value == "llvm.riscv.sf.vc.v.iv"
        opcode, _, immediate, length = (known(value) for value in call.operands)
        match = BY_NAME[FUNCTIONS[name]].match
        assert (opcode, immediate, length) == (match >> 26 & 3, match >> 15 & 31, 8)


@pytest.mark.parametrize("count", [1, 3, 5, 13, 31])
def test_odd_widths_travel_in_powers_of_two(count: int) -> None:
    """LLVM aborts on custom instructions of any other width."""
    with kernel_module(lambda: _emit("math.exp", count, "f32")) as module:
        math_to_vcix(module, MACHINE)
        [call] = collect(module, "llvm.call_intrinsic")
        assert ir.VectorType(call.results[0].type).shape == [rvv.power_of_two(count)]
        assert known(call.operands[3]) == count


def test_too_wide_vectors_are_refused() -> None:
    with kernel_module(lambda: _emit("math.exp", 33, "f64")) as module, pytest.raises(InternalError, match="too wide"):
        math_to_vcix(module, MACHINE)


def test_lane_number() -> None:
    with kernel_module(lambda: single(VLANE_IDX, rvv.vector(5, ir.Type.parse("i32"))) and None) as module:
        math_to_vcix(module, MACHINE)
        [call] = collect(module, "llvm.call_intrinsic")
        assert ir.StringAttr(call.attributes["intrin"]).value == "llvm.riscv.sf.vc.v.i"
        assert known(call.operands[3]) == 5
