"""Each relocation kind against the address that the patched instruction computes."""

from __future__ import annotations

import pytest

from torchsim.errors import InternalError
from torchsim.target.isa.decoder import decode
from torchsim.target.isa.encoder import encode
from torchsim.target.relocation import KINDS, Place, apply, kind_name

_PC = 0x8000_1000


def _place(*words: int, size: int = 4) -> Place:
    return Place(bytearray(b"".join(word.to_bytes(size, "little") for word in words)), 0, _PC, ".text+0x0")


def _operand(place: Place, size: int = 4, offset: int = 0) -> int:
    return decode(place.at(offset).read(size)).operands["imm"]


@pytest.mark.parametrize("target", [_PC - 0x8000_0000 + 0x800, _PC, _PC + 0x7FF, _PC + 0x800, 0xD000_0004, 0xD000_0FFC, _PC + 0x7FFF_F7FF])
def test_a_pc_relative_pair_computes_the_target(target: int) -> None:
    for low_kind, low in (("PCREL_LO12_I", encode("addi", rd=10, rs1=10, imm=0)), ("PCREL_LO12_S", encode("sd", rs2=11, rs1=10, imm=0))):
        place = _place(encode("auipc", rd=10, imm=0), low)
        apply("PCREL_HI20", place, target)
        apply(low_kind, place.at(4), target - _PC)
        upper = _operand(place)
        upper -= (upper & 0x80000) << 1
        assert _PC + (upper << 12) + _operand(place, offset=4) == target


@pytest.mark.parametrize("target", [0, 0x7FF, 0x800, 0x7FFF_F7FF, 0x1234_5678])
def test_an_absolute_pair_computes_the_target(target: int) -> None:
    for low_kind, low in (("LO12_I", encode("addi", rd=10, rs1=10, imm=0)), ("LO12_S", encode("sw", rs2=11, rs1=10, imm=0))):
        place = _place(encode("lui", rd=10, imm=0), low)
        apply("HI20", place, target)
        apply(low_kind, place.at(4), target)
        assert (_operand(place) << 12) + _operand(place, offset=4) == target


@pytest.mark.parametrize("name", ["CALL", "CALL_PLT"])
@pytest.mark.parametrize("delta", [-0x8000_0000, -2, 0x7FE, 0x800, 0x7FFF_F7FE])
def test_a_call_reaches_its_target(name: str, delta: int) -> None:
    place = _place(encode("auipc", rd=1, imm=0), encode("jalr", rd=1, rs1=1, imm=0))
    apply(name, place, _PC + delta)
    upper = _operand(place)
    upper -= (upper & 0x80000) << 1
    assert (upper << 12) + _operand(place, offset=4) == delta


@pytest.mark.parametrize(
    ("name", "word", "size", "deltas"),
    [
        ("BRANCH", encode("beq", rs1=1, rs2=2, imm=0), 4, (-4096, -2, 4094)),
        ("JAL", encode("jal", rd=1, imm=0), 4, (-(1 << 20), -2, (1 << 20) - 2)),
        ("RVC_BRANCH", encode("c.beqz", rs1=8, imm=0), 2, (-256, -2, 254)),
        ("RVC_JUMP", encode("c.j", imm=0), 2, (-2048, -2, 2046)),
    ],
)
def test_branches_reach_their_range_and_not_beyond(name: str, word: int, size: int, deltas: tuple[int, ...]) -> None:
    for delta in deltas:
        place = _place(word, size=size)
        apply(name, place, _PC + delta)
        assert _operand(place, size) == delta
        assert decode(place.read(size)).name == decode(word).name
    for delta in (deltas[0] - 2, deltas[-1] + 2, 1):
        with pytest.raises(InternalError, match=f"R_RISCV_{name} overflows"):
            apply(name, _place(word, size=size), _PC + delta)


def test_data_words() -> None:
    place = Place(bytearray(8), 0, _PC, ".rodata+0x0")
    apply("64", place, 0x1_2345_6789)
    assert place.read(8) == 0x1_2345_6789
    apply("32", place, 0x8000_0000)
    assert place.read(4) == 0x8000_0000
    apply("32_PCREL", place, _PC - 4)
    assert place.read(4) == 0xFFFF_FFFC
    with pytest.raises(InternalError, match="R_RISCV_32 overflows"):
        apply("32", place, 1 << 32)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_label_differences(bits: int) -> None:
    place = Place(bytearray(8), 0, _PC, ".rodata+0x0")
    apply(f"ADD{bits}", place, 0x105)
    apply(f"SUB{bits}", place, 0x104)
    assert place.read(8) == 1
    apply(f"SUB{bits}", place, 2)
    assert place.read(8) == (1 << bits) - 1, "wraps within its width"
    if bits < 64:
        apply(f"SET{bits}", place, 0x12)
        assert place.read(8) == 0x12


def test_far_targets_overflow() -> None:
    for name, target in (
        ("PCREL_HI20", _PC + 0x7FFF_F800),
        ("PCREL_HI20", 0x10_0000_0000),
        ("HI20", 0x8000_0000),
        ("CALL_PLT", _PC - 0x8000_0801),
    ):
        place = _place(encode("auipc", rd=10, imm=0), encode("jalr", rd=1, rs1=1, imm=0))
        with pytest.raises(InternalError, match=f"R_RISCV_{name} overflows"):
            apply(name, place, target)
    place = _place(encode("lui", rd=10, imm=0))
    apply("HI20", place, 0xFFFF_FFFF_8000_0000)  # the top 2 GiB are reachable
    assert _operand(place) == 0x80000


def test_a_place_outside_the_section_is_an_error() -> None:
    place = Place(bytearray(4), 2, _PC + 2, ".text+0x2")
    with pytest.raises(InternalError, match="outside its section"):
        apply("JAL", place, _PC)


def test_unknown_kinds_are_named() -> None:
    assert kind_name(19, "x") == "CALL_PLT"
    for unknown in (0, 20, 43, 52, 200):
        with pytest.raises(InternalError, match=f"R_RISCV_{unknown}"):
            kind_name(unknown, ".text+0x0")


def test_relax_changes_nothing() -> None:
    place = _place(encode("jal", rd=1, imm=0))
    before = bytes(place.data)
    apply("RELAX", place, 0)
    assert bytes(place.data) == before
    assert len(set(KINDS.values())) == len(KINDS) == 27
