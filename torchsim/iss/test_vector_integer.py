"""Integer vector instructions against NumPy: widths, groups, masks, tails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import TrapError
from torchsim.iss import Simulator
from torchsim.iss._testing import Program, vtype

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
LANES = 3
SIMULATOR = Simulator(LANES, 4096)
Array = npt.NDArray[np.generic]
SHAPES = st.tuples(st.sampled_from([8, 16, 32, 64]), st.sampled_from([1, 2, 4, -2, -4, -8])).filter(
    lambda shape: shape[1] > 0 or shape[0] * -shape[1] <= 64
)


def vlmax(sew: int, lmul: int) -> int:
    return 256 // sew * lmul if lmul > 0 else 256 // sew // -lmul


def random_registers(seed: int) -> npt.NDArray[np.uint8]:
    """Random bytes; every fourth register holds small or extreme values."""
    rng = np.random.default_rng(seed)
    registers = rng.integers(0, 256, (LANES, 32, 32), dtype=np.uint8)
    registers[:, ::4] = rng.choice(np.array([0, 0, 1, 0x7F, 0x80, 0xFF], np.uint8), (LANES, 8, 32))
    return registers


def group(registers: npt.NDArray[np.uint8], first: int, sew: int) -> npt.NDArray[np.uint64]:
    """The registers from ``first`` as elements: [lanes, elements]."""
    return np.ascontiguousarray(registers[:, first:]).reshape(LANES, -1).view(f"<u{sew // 8}").astype(np.uint64)


def signed(values: npt.NDArray[np.uint64], sew: int) -> npt.NDArray[np.object_]:
    plain = values.astype(object)
    return np.where(plain >= 1 << (sew - 1), plain - (1 << sew), plain)


def mask_bits(registers: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    return np.unpackbits(registers[:, 0], axis=1, bitorder="little").astype(bool)


def run(name: str, sew: int, lmul: int, vl: int, registers: npt.NDArray[np.uint8], **operands: int) -> npt.NDArray[np.uint8]:
    Program().setvl(vl, sew, lmul).op(name, **operands).run(SIMULATOR, vector_registers=registers)
    return SIMULATOR.vector_registers()


Meaning = Callable[[Array, Array, int], Array]
PLAIN: dict[str, Meaning] = {
    "vadd": lambda a, b, s: a + b,
    "vsub": lambda a, b, s: a - b,
    "vand": lambda a, b, s: a & b,
    "vmul": lambda a, b, s: a * b,
    "vsll": lambda a, b, s: a << (b & (s - 1)),
    "vsrl": lambda a, b, s: a >> (b & (s - 1)),
    "vmaxu": lambda a, b, s: np.maximum(a, b),
    "vmulhu": lambda a, b, s: a * b >> s,
    "vdivu": lambda a, b, s: np.where(b == 0, (1 << s) - 1, a // np.where(b == 0, 1, b)),
    "vremu": lambda a, b, s: np.where(b == 0, a, a % np.where(b == 0, 1, b)),
    "vsaddu": lambda a, b, s: np.minimum(a + b, (1 << s) - 1),
    "vssubu": lambda a, b, s: np.maximum(a - b, 0),
}
SIGNED: dict[str, Meaning] = {
    "vmin": lambda a, b, s: np.minimum(a, b),
    "vmulh": lambda a, b, s: a * b >> s,
    "vsra": lambda a, b, s: a >> (b & (s - 1)),
    "vsadd": lambda a, b, s: np.clip(a + b, -(1 << (s - 1)), (1 << (s - 1)) - 1),
    "vssub": lambda a, b, s: np.clip(a - b, -(1 << (s - 1)), (1 << (s - 1)) - 1),
}


@pytest.mark.parametrize("name", [*PLAIN, *SIGNED])
@settings(deadline=None, max_examples=25)
@given(shape=SHAPES, data=st.data())
def test_single_width(name: str, shape: tuple[int, int], data: st.DataObject) -> None:
    sew, lmul = shape
    vl = data.draw(st.integers(0, vlmax(sew, lmul)))
    scalar, masked, seed = data.draw(st.booleans()), data.draw(st.booleans()), data.draw(st.integers(0, 999))
    registers = random_registers(seed)
    a = group(registers, 8, sew)[:, :vl].astype(object)
    b = group(registers, 16, sew)[:, :vl].astype(object)
    x = data.draw(st.sampled_from([0, 1, 5, (1 << sew) - 1, 1 << (sew - 1)]))
    if scalar:
        b = np.full_like(b, x)
    if name in SIGNED:
        wanted = SIGNED[name](signed(a, sew), signed(b, sew), sew)
    else:
        wanted = PLAIN[name](a, b, sew)
    wanted = np.vectorize(lambda value: value & ((1 << sew) - 1), otypes=[object])(wanted) if wanted.size else wanted
    program = Program().setvl(vl, sew, lmul).li(12, x)
    if scalar:
        program.op(f"{name}.vx", vd=24, vs2=8, rs1=12, vm=int(not masked))
    else:
        program.op(f"{name}.vv", vd=24, vs2=8, vs1=16, vm=int(not masked))
    program.run(SIMULATOR, vector_registers=registers)
    after = SIMULATOR.vector_registers()
    before = group(registers, 24, sew)
    expected = before.copy()
    expected[:, :vl] = np.where(mask_bits(registers)[:, :vl], wanted, before[:, :vl].astype(object)) if masked else wanted
    assert (group(after, 24, sew) == expected).all()
    assert (after[:, :24] == registers[:, :24]).all()


@settings(deadline=None, max_examples=40)
@given(shape=SHAPES, data=st.data())
def test_comparison_writes_one_bit_per_element(shape: tuple[int, int], data: st.DataObject) -> None:
    sew, lmul = shape
    vl, masked = data.draw(st.integers(0, vlmax(sew, lmul))), data.draw(st.booleans())
    registers = random_registers(data.draw(st.integers(0, 999)))
    after = run("vmslt.vv", sew, lmul, vl, registers, vd=5, vs2=8, vs1=16, vm=int(not masked))
    less = signed(group(registers, 8, sew)[:, :vl], sew) < signed(group(registers, 16, sew)[:, :vl], sew)
    expected = np.unpackbits(registers[:, 5], axis=1, bitorder="little").astype(bool)
    expected[:, :vl] = np.where(mask_bits(registers)[:, :vl], less, expected[:, :vl]) if masked else less
    assert (np.unpackbits(after[:, 5], axis=1, bitorder="little").astype(bool) == expected).all()


@settings(deadline=None, max_examples=40)
@given(sew=st.sampled_from([8, 16, 32]), lmul=st.sampled_from([1, 2, 4, -2]), data=st.data())
def test_widening_and_narrowing(sew: int, lmul: int, data: st.DataObject) -> None:
    vl = data.draw(st.integers(0, vlmax(sew, lmul)))
    registers = random_registers(data.draw(st.integers(0, 999)))
    a, b = (signed(group(registers, first, sew)[:, :vl], sew) for first in (8, 16))
    wide = group(run("vwmul.vv", sew, lmul, vl, registers, vd=24, vs2=8, vs1=16), 24, 2 * sew)
    assert (signed(wide[:, :vl], 2 * sew) == a * b).all()
    assert (wide[:, vl:] == group(registers, 24, 2 * sew)[:, vl:]).all()
    shift = int(np.random.default_rng(vl).integers(0, 32))
    narrow = group(run("vnsrl.wi", sew, lmul, vl, registers, vd=16, vs2=8, imm=shift), 16, sew)
    assert (
        narrow[:, :vl].astype(object) == (group(registers, 8, 2 * sew)[:, :vl].astype(object) >> (shift & (2 * sew - 1))) & ((1 << sew) - 1)
    ).all()


@pytest.mark.parametrize(("name", "factor", "is_signed"), [("vzext.vf2", 2, False), ("vsext.vf4", 4, True), ("vzext.vf8", 8, False)])
def test_extension(name: str, factor: int, is_signed: bool) -> None:
    registers = random_registers(3)
    for sew in (16, 32, 64):
        if sew // factor < 8:
            continue
        vl = vlmax(sew, 2) - 1
        found = group(run(name, sew, 2, vl, registers, vd=24, vs2=8), 24, sew)
        source = group(registers, 8, sew // factor)[:, :vl]
        wanted = signed(source, sew // factor) if is_signed else source.astype(object)
        assert (signed(found[:, :vl], sew) == wanted).all() if is_signed else (found[:, :vl].astype(object) == wanted).all()


@settings(deadline=None, max_examples=30)
@given(shape=SHAPES, data=st.data())
def test_reductions_stay_in_their_lane(shape: tuple[int, int], data: st.DataObject) -> None:
    sew, lmul = shape
    vl, masked = data.draw(st.integers(1, vlmax(sew, lmul))), data.draw(st.booleans())
    registers = random_registers(data.draw(st.integers(0, 999)))
    source, start = group(registers, 8, sew)[:, :vl].astype(object), group(registers, 16, sew)[:, 0].astype(object)
    active = mask_bits(registers)[:, :vl] if masked else np.ones((LANES, vl), bool)
    for name, wanted in (
        ("vredsum.vs", [int(start[lane] + source[lane][active[lane]].sum()) & ((1 << sew) - 1) for lane in range(LANES)]),
        ("vredmaxu.vs", [max([int(start[lane]), *(int(v) for v in source[lane][active[lane]])]) for lane in range(LANES)]),
    ):
        after = group(run(name, sew, lmul, vl, registers, vd=24, vs2=8, vs1=16, vm=int(not masked)), 24, sew)
        assert after[:, 0].tolist() == wanted
        assert (after[:, 1:] == group(registers, 24, sew)[:, 1:]).all()


def test_carry_chain_adds_128_bits() -> None:
    registers = np.zeros((LANES, 32, 32), np.uint8)
    registers.view("<u8")[:, 8] = [[2**64 - 1, 5, 2**63, 7]]
    registers.view("<u8")[:, 9] = [[1, 6, 2**63, 2**64 - 7]]
    program = (
        Program().setvl(4, 64).op("vadd.vv", vd=10, vs2=8, vs1=9).op("vmadc.vv", vd=0, vs2=8, vs1=9).op("vadc.vvm", vd=11, vs2=12, vs1=13)
    )
    program.run(SIMULATOR, vector_registers=registers)
    after = SIMULATOR.vector_registers().view("<u8")
    assert after[0, 10].tolist() == [0, 11, 0, 0] and after[0, 11].tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("vxrm", range(4))
def test_averaging_rounds_by_vxrm(vxrm: int) -> None:
    registers = np.zeros((LANES, 32, 32), np.uint8)
    registers[:, 8, :8] = np.array([1, 2, 3, 4, 255, 253, 6, 7], np.uint8)
    Program().op("csrrwi", rd=0, csr=0x00A, imm=vxrm).setvl(8, 8).op("vaadd.vx", vd=9, vs2=8, rs1=0).run(
        SIMULATOR, vector_registers=registers
    )
    halves = {0: [1, 1, 2, 2, 0, -1, 3, 4], 1: [0, 1, 2, 2, 0, -2, 3, 4], 2: [0, 1, 1, 2, -1, -2, 3, 3], 3: [1, 1, 1, 2, -1, -1, 3, 3]}[
        vxrm
    ]
    assert SIMULATOR.vector_registers()[1, 9, :8].view(np.int8).tolist() == halves


def test_a_vector_instruction_without_a_legal_vtype_traps() -> None:
    for program in (Program(), Program().li(5, 4).op("vsetvli", rd=0, rs1=5, vtype=vtype(64) | 4)):
        with pytest.raises(TrapError) as caught:
            program.op("vadd.vv", vd=8, vs2=8, vs1=8).run(SIMULATOR)
        assert caught.value.cause == "illegal_instruction"


@pytest.mark.parametrize(
    "operands", [{"vd": 9, "vs2": 8, "vs1": 16}, {"vd": 8, "vs2": 17, "vs1": 16}, {"vd": 0, "vs2": 8, "vs1": 16, "vm": 0}]
)
def test_illegal_register_groups_trap(operands: dict[str, int]) -> None:
    with pytest.raises(TrapError, match="illegal_instruction"):
        Program().setvl(8, 32, 2).op("vadd.vv", **operands).run(SIMULATOR)
