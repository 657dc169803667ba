"""Loading real objects, patched instruction calls, errors, and fuzzed object files."""

from __future__ import annotations

import struct
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import CapacityError, InternalError, LaneSafetyError, TorchsimError
from torchsim.target.address_map import IMAGE_BASE, SPAD_BASE
from torchsim.target.elf import parse
from torchsim.target.isa.decoder import decode, instructions
from torchsim.target.isa.encoder import encode
from torchsim.target.lane_checker import find_hazards
from torchsim.target.loader import Image, load
from torchsim.target.object_code import compile_object

_IR = """
@spad = external global [4096 x float], section ".spad", align 64
@other = external global [16 x float], section ".spad", align 64
declare void @__insn_c1_3_2(i64, i64) nounwind
declare void @__insn_c1_3_3(i64, i64) nounwind
define void @kernel(ptr %args) nounwind "no-builtins" {
  %d = load i64, ptr %args, align 8
  call void @__insn_c1_3_2(i64 %d, i64 ptrtoint (ptr @spad to i64))
  %x = load <8 x float>, ptr @spad, align 4
  %y = fmul <8 x float> %x, <float 1.0, float 2.0, float 3.5, float 4.25, float 1.0, float 2.0, float 3.0, float 4.0>
  store <8 x float> %y, ptr @other, align 4
  call void @helper(i64 %d)
  tail call void @__insn_c1_3_3(i64 %d, i64 ptrtoint (ptr @other to i64))
  ret void
}
define void @helper(i64 %d) noinline nounwind "no-builtins" {
  call void @__insn_c1_3_2(i64 %d, i64 7)
  call void @__insn_c1_3_2(i64 %d, i64 8)
  ret void
}
"""
_SYMBOLS = {"spad": SPAD_BASE, "other": SPAD_BASE + 0x1000}


@cache
def _object() -> bytes:
    return compile_object(_IR)


def _words(image: Image) -> list[int]:
    return [decoded.word for address, code in image.code() for _, decoded in instructions(code, address)]


@pytest.mark.req("L-6")
def test_a_kernel_is_placed_linked_and_patched() -> None:
    image = load(_object(), _SYMBOLS)
    assert image.base == IMAGE_BASE and image.symbols.keys() == {"kernel", "helper"}
    assert image.spad_symbols == _SYMBOLS
    words = _words(image)
    assert None not in [decode(word).row for word in words]
    mvin, mvout, nop, ret = 0x04B5302B, 0x06B5302B, encode("addi", rd=0, rs1=0, imm=0), encode("jalr", rd=0, rs1=1, imm=0)
    followers = [(word, words[index + 1]) for index, word in enumerate(words) if word in (mvin, mvout)]
    assert sorted(followers) == sorted([(mvin, nop), (mvin, nop), (mvin, ret), (mvout, ret)])
    assert image.data[image.exit_address - image.base :][:4] == encode("ebreak").to_bytes(4, "little")
    (constants,) = image.readonly_ranges
    assert struct.pack("<3f", 1.0, 2.0, 3.5) in image.data[constants[0] - image.base : constants[1] - image.base]
    assert find_hazards(image) == []


def test_the_address_of_a_buffer_is_what_the_caller_says() -> None:
    near, far = (load(_object(), {**_SYMBOLS, "other": SPAD_BASE + offset}) for offset in (0, 0x12340))
    assert near.data != far.data and near.text_ranges == far.text_ranges


def test_undefined_symbols_are_named() -> None:
    with pytest.raises(InternalError, match="undefined symbol 'other'") as error:
        load(_object(), {"spad": SPAD_BASE})
    assert "spad" in error.value.expected


def test_a_buffer_out_of_reach_is_an_overflow() -> None:
    with pytest.raises(InternalError, match="overflows"):
        load(_object(), {**_SYMBOLS, "other": 0x10_0000_0000})


@pytest.mark.parametrize(
    ("body", "name"),
    [("frem <8 x float> %x, splat (float 3.0)", "fmodf"), ("call <8 x float> @llvm.pow.v8f32(<8 x float> %x, <8 x float> %x)", "powf")],
)
def test_library_calls_are_lane_safety_errors(body: str, name: str) -> None:
    ir = (
        '@spad = external global [64 x float], section ".spad"\ndeclare <8 x float> @llvm.pow.v8f32(<8 x float>, <8 x float>)\n'
        'define void @kernel() nounwind "no-builtins" {\n  %x = load <8 x float>, ptr @spad, align 4\n'
        f"  %y = {body}\n  store <8 x float> %y, ptr @spad, align 4\n  ret void\n}}\n"
    )
    with pytest.raises(LaneSafetyError, match=f"library function {name}"):
        load(compile_object(ir), {"spad": SPAD_BASE})


def test_a_loop_that_llvm_turns_into_memset_is_a_lane_safety_error_with_a_hint() -> None:
    ir = """
@spad = external global [4096 x float], section ".spad"
define void @kernel() nounwind {
  br label %loop
loop:
  %i = phi i64 [0, %0], [%n, %loop]
  %p = getelementptr float, ptr @spad, i64 %i
  store <8 x float> zeroinitializer, ptr %p, align 4
  %n = add i64 %i, 8
  %c = icmp ult i64 %n, 800
  br i1 %c, label %loop, label %out
out:
  ret void
}
"""
    with pytest.raises(LaneSafetyError, match="memset") as error:
        load(compile_object(ir), {"spad": SPAD_BASE})
    assert "no-builtins" in error.value.hint
    assert load(compile_object(ir.replace("nounwind {", 'nounwind "no-builtins" {')), {"spad": SPAD_BASE}).symbols.keys() == {"kernel"}


def test_an_instruction_call_must_name_a_row_of_the_table() -> None:
    for name in ("__insn_c1_3_13", "__insn_c1_2_2", "__insn_c1_3_200", "__insn_c1_9_2"):
        call = f"call void @{name}(i64 1, i64 2)"
        ir = f"declare void @{name}(i64, i64) nounwind\ndefine void @kernel() nounwind {{\n  {call}\n  ret void\n}}\n"
        with pytest.raises(InternalError, match="names no instruction"):
            load(compile_object(ir))


def test_writable_data_is_refused() -> None:
    for data in ("@state = global [4 x i64] zeroinitializer", "@state = global i64 7"):
        with pytest.raises(InternalError, match="writable data"):
            load(compile_object(f"{data}\ndefine ptr @kernel() nounwind {{\n  ret ptr @state\n}}\n"))


def test_an_image_beyond_its_address_range_is_a_capacity_error(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(load(_object(), _SYMBOLS).data)
    monkeypatch.setattr("torchsim.target.loader.IMAGE_LIMIT", size - 1)
    with pytest.raises(CapacityError, match="too large"):
        load(_object(), _SYMBOLS)


def _section(obj: bytes | bytearray, prefix: str) -> tuple[int, int]:
    """Index and file offset of the header of the first section whose name starts so."""
    (table,) = struct.unpack_from("<Q", obj, 40)
    index = next(index for index, section in enumerate(parse(bytes(obj)).sections) if section.name.startswith(prefix))
    return index, table + 64 * index


def test_unknown_relocation_kinds_are_an_error() -> None:
    obj = bytearray(_object())
    _, header = _section(obj, ".rela.text")
    (offset,) = struct.unpack_from("<Q", obj, header + 24)
    struct.pack_into("<I", obj, offset + 8, 43)
    with pytest.raises(InternalError, match="R_RISCV_43"):
        load(bytes(obj), _SYMBOLS)


def test_a_low_part_without_its_high_part_is_malformed() -> None:
    obj = bytearray(_object())
    _, header = _section(obj, ".rela.text")
    offset, size = struct.unpack_from("<QQ", obj, header + 24)
    for entry in range(offset, offset + size, 24):
        if struct.unpack_from("<I", obj, entry + 8)[0] == 23:
            struct.pack_into("<I", obj, entry + 8, 51)  # RELAX
    with pytest.raises(InternalError, match="without its R_RISCV_PCREL_HI20"):
        load(bytes(obj), _SYMBOLS)


def test_truncated_objects_are_refused() -> None:
    obj = _object()
    for length in range(0, len(obj), 7):
        with pytest.raises(TorchsimError):
            load(obj[:length], _SYMBOLS)


def _must_not_crash(data: bytes) -> None:
    try:
        image = load(data, _SYMBOLS)
        image.listing()
        find_hazards(image)
    except TorchsimError:
        return


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=200)
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(TorchsimError):
        load(data, _SYMBOLS)
    with pytest.raises(TorchsimError):
        load(_object()[:64] + data, _SYMBOLS)


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=6))
@settings(deadline=None, max_examples=400)
def test_damaged_objects_load_or_raise_torchsim_errors(flips: list[tuple[float, int]]) -> None:
    obj = bytearray(_object())
    for where, bits in flips:
        obj[int(where * len(obj))] ^= bits
    _must_not_crash(bytes(obj))


def test_every_byte_of_the_headers_may_be_damaged() -> None:
    obj = _object()
    (table,) = struct.unpack_from("<Q", obj, 40)
    for position in [*range(64), *range(table, len(obj))]:
        for value in (0x01, 0x80, 0xFF):
            damaged = bytearray(obj)
            damaged[position] ^= value
            _must_not_crash(bytes(damaged))
