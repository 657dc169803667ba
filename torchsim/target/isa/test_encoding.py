"""Encoder, decoder and expansion of compressed instructions."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import InvalidInputError
from torchsim.target.isa.decoder import decode, expand, instructions
from torchsim.target.isa.disassembler import disassemble
from torchsim.target.isa.encoder import encode, field_range
from torchsim.target.isa.fields import FORMATS
from torchsim.target.isa.table import BY_NAME, ROWS, Row


def _operands(row: Row, rng: random.Random) -> dict[str, int]:
    """Random legal operands of a row; never a combination that a more specific row owns."""
    values = {name: rng.choice(field_range(field)) for name, field in FORMATS[row.format].fields.items()}
    if row.nonzero and values[row.nonzero] == 0:
        values[row.nonzero] = field_range(FORMATS[row.format].fields[row.nonzero])[-1]
    if row.name == "c.addi" and values["rd"] == 0:
        values["rd"] = 1  # c.nop
    if row.name == "c.lui" and values["rd"] == 2:
        values["rd"] = 3  # c.addi16sp
    return values


@pytest.mark.req("S-1")
@given(st.integers(0, 1 << 32))
@settings(deadline=None, max_examples=25)
def test_decode_undoes_encode_for_every_row(seed: int) -> None:
    rng = random.Random(seed)
    for row in ROWS:
        values = _operands(row, rng)
        decoded = decode(encode(row.name, **values))
        assert (decoded.name, decoded.operands) == (row.name, values)
        assert decoded.bytes == row.bytes


def _extremes(row: Row, end: int) -> dict[str, int]:
    return {name: field_range(field)[end] for name, field in FORMATS[row.format].fields.items()}


@pytest.mark.parametrize("end", [0, -1])
def test_the_extremes_of_every_operand_survive(end: int) -> None:
    for row in ROWS:
        values = _extremes(row, end)
        if row.nonzero and values[row.nonzero] == 0:
            with pytest.raises(InvalidInputError, match="reserved"):
                encode(row.name, **values)
            continue
        if row.name == "c.addi" and end == 0:
            continue  # rd = 0 is c.nop
        assert decode(encode(row.name, **values)).operands == values


@given(st.integers(0, 0xFFFF_FFFF))
@settings(deadline=None, max_examples=3000)
def test_any_word_decodes_to_a_row_that_encodes_it_or_is_illegal(word: int) -> None:
    decoded = decode(word)
    if decoded.row is None:
        assert disassemble(word).startswith("illegal")
        assert not any(_matches(row, decoded.word) for row in ROWS if row.bytes == decoded.bytes)
    else:
        assert encode(decoded.name, **decoded.operands) == decoded.word
        first = next(row for row in ROWS if row.bytes == decoded.bytes and _matches(row, decoded.word))
        assert first is decoded.row


def _matches(row: Row, word: int) -> bool:
    return word & row.mask == row.match and (not row.nonzero or word & row.nonzero_bits != 0)


def test_every_half_word_decodes_and_expands() -> None:
    legal = 0
    for half in range(1 << 16):
        if half & 3 == 3:
            continue
        decoded, base = decode(half), expand(half)
        if decoded.row is None:
            assert base.row is None
            continue
        legal += 1
        assert base.row is not None and base.bytes == 4 and decoded.row.expands is not None
        assert base.name == decoded.row.expands[0] and base.row.cost is decoded.row.cost
    # 3 x 2^14 words less the reserved ones, counted from the C chapter's tables:
    # quadrant 0: f3 4 (2^11) and addi4spn with imm 0 (8); quadrant 1: addiw rd 0 (64), lui/addi16sp imm 0 (32),
    # 100-1-11-1x (2 x 64); quadrant 2: lwsp, ldsp with rd 0 (64 each), jr rs1 0 (1)
    reserved = 2048 + 8 + 64 + 32 + 2 * 64 + 64 + 64 + 1
    assert legal == 3 * (1 << 14) - reserved


@pytest.mark.parametrize(
    ("compressed", "operands", "base", "expanded"),
    [
        ("c.addi4spn", {"rd": 8, "imm": 1020}, "addi", {"rd": 8, "rs1": 2, "imm": 1020}),
        ("c.lui", {"rd": 5, "imm": -1}, "lui", {"rd": 5, "imm": 0xFFFFF}),
        ("c.addi16sp", {"imm": -512}, "addi", {"rd": 2, "rs1": 2, "imm": -512}),
        ("c.jr", {"rs1": 1}, "jalr", {"rd": 0, "rs1": 1, "imm": 0}),
        ("c.jalr", {"rs1": 7}, "jalr", {"rd": 1, "rs1": 7, "imm": 0}),
        ("c.beqz", {"rs1": 15, "imm": -256}, "beq", {"rs1": 15, "rs2": 0, "imm": -256}),
        ("c.j", {"imm": 2046}, "jal", {"rd": 0, "imm": 2046}),
        ("c.mv", {"rd": 1, "rs2": 31}, "add", {"rd": 1, "rs1": 0, "rs2": 31}),
        ("c.sdsp", {"rs2": 1, "imm": 504}, "sd", {"rs2": 1, "rs1": 2, "imm": 504}),
        ("c.srai", {"rd": 9, "imm": 63}, "srai", {"rd": 9, "rs1": 9, "imm": 63}),
    ],
)
def test_expansion(compressed: str, operands: dict[str, int], base: str, expanded: dict[str, int]) -> None:
    assert expand(encode(compressed, **operands)).word == encode(base, **expanded)


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("vadd.vq", {}, "no instruction"),
        ("addi", {"rd": 1, "rs1": 1}, "needs operand 'imm'"),
        ("addi", {"rd": 1, "rs1": 1, "imm": 2048}, "out of range"),
        ("addi", {"rd": 32, "rs1": 1, "imm": 0}, "out of range"),
        ("beq", {"rs1": 1, "rs2": 1, "imm": 3}, "in steps of 2"),
        ("c.lw", {"rd": 7, "rs1": 8, "imm": 0}, "8 .. 15"),
        ("ret", {}, "no instruction"),
        ("ebreak", {"rd": 0}, "has no operand 'rd'"),
        ("c.lui", {"rd": 1, "imm": 0}, "reserved"),
    ],
)
def test_bad_operands_are_refused(name: str, operands: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        encode(name, **operands)


def test_a_run_of_code_is_split_by_length_and_a_truncated_end_is_illegal() -> None:
    code = encode("c.nop", imm=0).to_bytes(2, "little") + encode("ebreak").to_bytes(4, "little") + b"\x13\x00"
    found = [(pc, decoded.name) for pc, decoded in instructions(code, 0x100)]
    assert found == [(0x100, "c.nop"), (0x102, "ebreak"), (0x106, "illegal")]


def test_fault_only_first_is_a_format_of_its_own() -> None:
    assert {row.name for row in ROWS if row.format == "VL_FAULT_FIRST"} == {
        name for name in BY_NAME if "ff." in name and name.startswith("vl")
    }
