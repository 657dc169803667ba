"""One hand-assembled hazard per rule, its legal counterpart, and code that LLVM compiled."""

from __future__ import annotations

import pickle
import time

import pytest

from torchsim.errors import LaneSafetyError
from torchsim.target.address_map import IMAGE_BASE
from torchsim.target.image import Image
from torchsim.target.isa.encoder import encode
from torchsim.target.lane_checker import Rule, check_lane_safety, find_hazards
from torchsim.target.lane_effects import Kind, effect_of

SP, A0, A1, A2, S0 = 2, 10, 11, 12, 8
RET = encode("jalr", rd=0, rs1=1, imm=0)
# the scratchpad base in a1; lui would sign-extend it
SPAD = (encode("addi", rd=A1, rs1=0, imm=0xD0), encode("slli", rd=A1, rs1=A1, imm=24))
TABLE_OFFSET = 0x100


def image_of(*words: int, functions: dict[str, int] | None = None, table: bytes = bytes(64)) -> Image:
    """An image of 32-bit instructions followed by constants at TABLE_OFFSET."""
    code = b"".join(word.to_bytes(4, "little") for word in words)
    symbols = {name: IMAGE_BASE + 4 * index for name, index in (functions or {"kernel": 0}).items()}
    first = IMAGE_BASE + TABLE_OFFSET
    return Image(
        IMAGE_BASE,
        code.ljust(TABLE_OFFSET, b"\0") + table,
        symbols,
        ((IMAGE_BASE, IMAGE_BASE + len(code)),),
        ((first, first + len(table)),),
        {},
        IMAGE_BASE,
    )


def rules(*words: int, **options: dict[str, int] | bytes) -> list[tuple[int, Rule]]:
    """(index of the instruction, rule) of each hazard."""
    return [((hazard.pc - IMAGE_BASE) // 4, hazard.rule) for hazard in find_hazards(image_of(*words, **options))]  # type: ignore[arg-type]


def table_to(register: int, at: int) -> tuple[int, int]:
    """Two instructions at index ``at`` that load the address of the constants."""
    return encode("auipc", rd=register, imm=0), encode("addi", rd=register, rs1=register, imm=TABLE_OFFSET - 4 * at)


@pytest.mark.req("L-6", "S-3")
@pytest.mark.parametrize(
    ("word", "rule"),
    [
        (encode("vmv.x.s", rd=A0, vs2=8), Rule.VECTOR_TO_SCALAR),
        (encode("vfmv.f.s", fd=A0, vs2=8), Rule.VECTOR_TO_SCALAR),
        (encode("vcpop.m", rd=A0, vs2=8), Rule.VECTOR_TO_SCALAR),
        (encode("vfirst.m", rd=0, vs2=8), Rule.VECTOR_TO_SCALAR),
        (encode("vle32ff.v", vd=8, rs1=A1), Rule.PER_LANE_LENGTH),
        (encode("vlseg2e32ff.v", vd=8, rs1=A1), Rule.PER_LANE_LENGTH),
        (encode("amoadd.w", rd=0, rs2=A0, rs1=A1), Rule.ATOMIC),
        (encode("lr.d", rd=A0, rs1=A1), Rule.ATOMIC),
        (encode("sc.w", rd=A0, rs2=A0, rs1=A1), Rule.ATOMIC),
        (0xFFFF_FFFF, Rule.ILLEGAL),
    ],
)
def test_instructions_that_are_hazards_whatever_their_operands(word: int, rule: Rule) -> None:
    assert rules(*SPAD, word, RET) == [(2, rule)]
    assert rules(RET, word) == [(1, rule)], "code that no path reaches is checked too"


def test_scalar_loads_of_a_scratchpad_buffer() -> None:
    for name in ("lb", "lh", "lw", "ld", "lbu", "lhu", "lwu"):
        assert rules(*SPAD, encode(name, rd=A0, rs1=A1, imm=8), RET) == [(2, Rule.SCALAR_LOAD)]
    for name in ("flh", "flw", "fld"):
        assert rules(*SPAD, encode(name, fd=A0, rs1=A1, imm=8), RET) == [(2, Rule.SCALAR_LOAD)]


def test_scalar_loads_of_constants_arguments_and_stack_are_legal() -> None:
    assert (
        rules(
            *table_to(A1, 0),
            encode("flw", fd=1, rs1=A1, imm=4),
            encode("ld", rd=A2, rs1=A0, imm=8),
            encode("lw", rd=A2, rs1=SP, imm=-8),
            RET,
        )
        == []
    )


def test_a_pointer_that_was_loaded_is_no_legal_base() -> None:
    assert rules(encode("ld", rd=A1, rs1=A0, imm=0), encode("ld", rd=A2, rs1=A1, imm=0), RET) == [(1, Rule.SCALAR_LOAD)]
    assert rules(encode("ld", rd=A2, rs1=A1, imm=0), RET) == [(0, Rule.SCALAR_LOAD)], "only a0 is the argument block"


def test_an_index_of_any_value_stays_in_the_block_or_table() -> None:
    index = encode("slli", rd=A2, rs1=A2, imm=3)
    assert rules(index, encode("add", rd=A2, rs1=A0, rs2=A2), encode("ld", rd=A2, rs1=A2, imm=0), RET) == []
    assert rules(*table_to(A1, 0), index, encode("add", rd=A2, rs1=A1, rs2=A2), encode("ld", rd=A2, rs1=A2, imm=0), RET) == []
    assert rules(*SPAD, index, encode("add", rd=A2, rs1=A1, rs2=A2), encode("ld", rd=A2, rs1=A2, imm=0), RET) == [(4, Rule.SCALAR_LOAD)]


def test_scalar_stores() -> None:
    for name in ("sb", "sh", "sw", "sd"):
        assert rules(*SPAD, encode(name, rs2=A0, rs1=A1, imm=0), RET) == [(2, Rule.SCALAR_STORE)]
    assert rules(*SPAD, encode("fsw", fs2=A0, rs1=A1, imm=0), RET) == [(2, Rule.SCALAR_STORE)]
    assert rules(encode("sd", rs2=A1, rs1=A0, imm=0), RET) == [(0, Rule.SCALAR_STORE)], "the argument block is read only"
    assert rules(encode("sd", rs2=A1, rs1=SP, imm=-8), encode("fsd", fs2=A1, rs1=SP, imm=-16), RET) == []


@pytest.mark.parametrize(
    "store",
    [
        encode("vse32.v", vs3=8, rs1=A1), encode("vsse32.v", vs3=8, rs1=A1, rs2=A2), encode("vsoxei32.v", vs3=8, rs1=A1, vs2=16),
        encode("vsseg2e32.v", vs3=8, rs1=A1), encode("vsm.v", vs3=0, rs1=A1),
    ],
)  # fmt: skip
def test_vector_stores(store: int) -> None:
    assert rules(encode("addi", rd=A1, rs1=SP, imm=-64), store, RET) == [(1, Rule.STACK_TEMPORARY)]
    assert rules(*table_to(A1, 0), store, RET) == [(2, Rule.IMAGE_STORE)]
    assert rules(encode("addi", rd=A1, rs1=A0, imm=0), store, RET) == [(1, Rule.IMAGE_STORE)]
    assert rules(*SPAD, store, RET) == []


def test_spills_of_whole_registers_are_legal_and_may_not_be_read_as_scalars() -> None:
    spill = encode("vs2r.v", vs3=8, rs1=A1)
    reload = encode("vl2re8.v", vd=8, rs1=A1)
    frame = (encode("csrrs", rd=A2, csr=0xC22, rs1=0), encode("slli", rd=A2, rs1=A2, imm=1), encode("sub", rd=SP, rs1=SP, rs2=A2))
    to_slot = encode("addi", rd=A1, rs1=SP, imm=16)
    unframe = encode("add", rd=SP, rs1=SP, rs2=A2)
    for offset, hazard in ((0, False), (8, False), (16, True), (72, True), (80, False)):
        load_word = encode("ld", rd=A0, rs1=SP, imm=offset)
        expected = [(6, Rule.SPILLED_VECTOR_LOAD)] if hazard else []
        assert rules(*frame, to_slot, spill, reload, load_word, unframe, RET) == expected, offset
    # relative to the caller's sp the two registers lie at -48 .. 16 - 1
    above = encode("ld", rd=A0, rs1=SP, imm=16)
    assert rules(*frame, to_slot, spill, unframe, above, RET) == []
    below = encode("ld", rd=A0, rs1=SP, imm=8)
    assert rules(*frame, to_slot, spill, unframe, below, RET) == [(6, Rule.SPILLED_VECTOR_LOAD)]
    dynamic = (encode("ld", rd=A2, rs1=A0, imm=0), encode("add", rd=A2, rs1=SP, rs2=A2), encode("ld", rd=A2, rs1=A2, imm=0))
    assert rules(*frame, to_slot, spill, *dynamic, RET) == [(7, Rule.SPILLED_VECTOR_LOAD)]
    assert rules(*table_to(A1, 0), spill, RET) == [(2, Rule.IMAGE_STORE)]


def test_a_spilled_pointer_is_still_known_after_its_reload() -> None:
    spill, reload = encode("sd", rs2=A0, rs1=SP, imm=-8), encode("ld", rd=A1, rs1=SP, imm=-8)
    use = encode("ld", rd=A2, rs1=A1, imm=0)
    assert rules(spill, reload, use, RET) == []
    assert rules(spill, encode("sw", rs2=A2, rs1=SP, imm=-4), reload, use, RET) == [(3, Rule.SCALAR_LOAD)], "overwritten in part"
    assert rules(reload, use, RET) == [(1, Rule.SCALAR_LOAD)], "never written"


def test_calls() -> None:
    call = encode("jal", rd=1, imm=12)
    helper = (encode("ld", rd=A1, rs1=A0, imm=0), RET)
    functions = {"kernel": 0, "kernel_tile": 3}
    assert rules(call, encode("ld", rd=A1, rs1=S0, imm=0), RET, *helper, functions=functions) == [(1, Rule.SCALAR_LOAD)]
    assert rules(encode("jal", rd=1, imm=-8), RET) == [(0, Rule.FOREIGN_CALL)]
    assert rules(encode("jal", rd=1, imm=4096), RET) == [(0, Rule.FOREIGN_CALL)]
    assert rules(encode("jal", rd=0, imm=4096), RET) == [(0, Rule.FOREIGN_CALL)], "tail call"
    far = (encode("auipc", rd=1, imm=0), encode("jalr", rd=1, rs1=1, imm=16))
    assert rules(*far, RET, RET, *helper, functions={"kernel": 0, "kernel_tile": 4}) == []
    assert rules(encode("auipc", rd=1, imm=16), encode("jalr", rd=1, rs1=1, imm=0), RET) == [(1, Rule.FOREIGN_CALL)]
    assert rules(encode("ld", rd=A1, rs1=A0, imm=0), encode("jalr", rd=1, rs1=A1, imm=0), RET) == [(1, Rule.COMPUTED_JUMP)]


def test_saved_registers_survive_a_call_and_others_do_not() -> None:
    functions = {"kernel": 0, "kernel_tile": 5}
    prefix = (encode("addi", rd=S0, rs1=A0, imm=0), encode("addi", rd=A1, rs1=A0, imm=0), encode("jal", rd=1, imm=12))
    assert rules(*prefix, encode("ld", rd=A2, rs1=S0, imm=0), RET, RET, functions=functions) == []
    assert rules(*prefix, encode("ld", rd=A2, rs1=A1, imm=0), RET, RET, functions=functions) == [(3, Rule.SCALAR_LOAD)]


def test_a_callee_is_checked_with_what_its_callers_pass() -> None:
    load_a0, call = encode("ld", rd=A1, rs1=A0, imm=0), encode("jal", rd=1, imm=12)
    functions = {"kernel": 0, "kernel_tile": 4}
    assert rules(encode("addi", rd=A2, rs1=0, imm=0), call, RET, RET, load_a0, RET, functions=functions) == []
    assert rules(encode("addi", rd=A0, rs1=A2, imm=0), call, RET, RET, load_a0, RET, functions=functions) == [(4, Rule.SCALAR_LOAD)]


def test_loops_reach_a_fixpoint_and_lose_what_differs() -> None:
    bump, back = encode("addi", rd=A1, rs1=A1, imm=8), encode("bne", rs1=A1, rs2=A2, imm=-8)
    read = encode("lw", rd=S0, rs1=A1, imm=0)
    assert rules(*table_to(A1, 0), read, bump, back, RET) == []
    swap = encode("addi", rd=A1, rs1=A2, imm=0)
    assert rules(*table_to(A1, 0), read, swap, back, RET) == [(2, Rule.SCALAR_LOAD)], "the second trip has another base"


def test_both_arms_of_a_branch_count() -> None:
    skip = encode("beq", rs1=A2, rs2=0, imm=8)
    spoil = encode("addi", rd=A0, rs1=A1, imm=0)
    read = encode("ld", rd=A1, rs1=A0, imm=0)
    assert rules(skip, encode("addi", rd=A1, rs1=A1, imm=1), read, RET) == []
    assert rules(skip, spoil, read, RET) == [(2, Rule.SCALAR_LOAD)]


def test_jump_tables() -> None:
    jump = (*table_to(A1, 0), encode("ld", rd=A1, rs1=A1, imm=0), encode("jalr", rd=0, rs1=A1, imm=0))
    target = (IMAGE_BASE + 16).to_bytes(8, "little")
    assert rules(*jump, encode("ld", rd=A2, rs1=A0, imm=0), RET, table=target) == []
    assert rules(*jump, encode("ld", rd=A2, rs1=A1, imm=0), RET, table=target) == [(4, Rule.SCALAR_LOAD)]
    assert rules(*jump, RET) == [(3, Rule.COMPUTED_JUMP)]


def test_the_error_lists_pc_disassembly_rule_and_advice_and_survives_pickling() -> None:
    image = image_of(*SPAD, encode("flw", fd=10, rs1=A1, imm=4), encode("vfmv.f.s", fd=11, vs2=8), RET)
    with pytest.raises(LaneSafetyError) as caught:
        check_lane_safety(image, where="kernel add_3")
    text = str(pickle.loads(pickle.dumps(caught.value)))
    for part in (
        "2 instructions",
        "0x80000008  flw fa0, 4(a1): scalar-load",
        "0x8000000c  vfmv.f.s fa1, v8: vector-to-scalar",
        "kernel add_3",
        "docs/lane-safety.md",
    ):
        assert part in text
    many = image_of(*[encode("vmv.x.s", rd=A0, vs2=8)] * 30, RET)
    with pytest.raises(LaneSafetyError, match="and 10 more"):
        check_lane_safety(many)
    check_lane_safety(image_of(RET))


def test_compressed_instructions_count_as_what_they_expand_to() -> None:
    effect = effect_of(encode("c.lw", rd=8, rs1=9, imm=4))
    assert (effect.kind, effect.length, effect.rd, effect.rs1, effect.imm, effect.size) == (Kind.LOAD, 2, 8, 9, 4, 4)
    assert effect_of(encode("c.mv", rd=8, rs2=10)).kind is Kind.ADD
    assert effect_of(encode("vadd.vv", vd=8, vs2=8, vs1=8)).kind is Kind.NONE


def test_two_thousand_instructions_take_milliseconds() -> None:
    """Bound is four times the target of 10 ms, for busy machines."""
    vector = (encode("vle32.v", vd=8, rs1=A1), encode("vfadd.vv", vd=8, vs2=8, vs1=9), encode("vse32.v", vs3=8, rs1=A1))
    body: list[int] = []
    for i in range(400):
        body += [encode("addi", rd=A1, rs1=A1, imm=i), *vector, encode("sd", rs2=A2, rs1=SP, imm=-8 * (i % 100) - 8)]
    code = b"".join(word.to_bytes(4, "little") for word in (*SPAD, *body, RET))
    image = Image(IMAGE_BASE, code, {"kernel": IMAGE_BASE}, ((IMAGE_BASE, IMAGE_BASE + len(code)),), (), {}, IMAGE_BASE)
    times: list[float] = []
    for _ in range(5):
        start = time.process_time()
        assert find_hazards(image) == []
        times.append(time.process_time() - start)
    assert min(times) < 0.04
