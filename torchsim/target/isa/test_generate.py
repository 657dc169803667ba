"""The generated C++ header and the generated page."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchsim.errors import InvalidInputError
from torchsim.target.isa import cpp, documentation
from torchsim.target.isa.decoder import decode, expand
from torchsim.target.isa.fields import FORMATS
from torchsim.target.isa.generate import main
from torchsim.target.isa.table import ROWS

_HERE = Path(__file__).resolve().parent
_PAGE = _HERE.parents[2] / "docs" / "isa.md"


def test_running_the_generator_by_path_needs_only_the_standard_library(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "table.h"
    subprocess.run([sys.executable, "-I", "-S", str(_HERE / "generate.py"), str(out)], check=True, cwd=tmp_path)
    assert out.read_text() == cpp.header()


def test_an_unchanged_header_is_not_rewritten(tmp_path: Path) -> None:
    out = tmp_path / "table.h"
    assert main([str(out)]) == 0
    before = out.stat().st_mtime_ns
    assert main([str(out)]) == 0
    assert out.stat().st_mtime_ns == before
    assert main([]) == 2


def test_the_header_compiles_and_agrees_with_python(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    main([str(tmp_path / "table.h")])
    rng = random.Random(3)
    lines = ['#include "table.h"', "using namespace npu::isa;", f"static_assert(kRows.size() == {len(ROWS) + 1});"]
    lines += [
        f"static_assert(row(Op::{row.enumerator}).match == {row.match:#x}U && row(Op::{row.enumerator}).op == Op::{row.enumerator});"
        for row in ROWS[::17]
    ]
    halves = [half for half in rng.sample(range(1 << 16), 400) if decode(half).row and half & 3 != 3]
    for half in halves:
        decoded = decode(half)
        assert decoded.row is not None
        lines.append(f"static_assert(expand(Op::{decoded.row.enumerator}, {half:#x}U) == {expand(half).word:#x}U);")
    for _ in range(300):
        word = rng.getrandbits(32) | 3
        decoded = decode(word)
        if decoded.row is not None:
            for operand, field in FORMATS[decoded.row.format].fields.items():
                lines.append(f"static_assert(field_{field.name}({word:#x}U) == {decoded.operands[operand]});")
    lines.append("static_assert(field_imm_b(0xfe000ee3U) == -4 && field_imm_j(0xffdff06fU) == -4);")
    (tmp_path / "check.cpp").write_text("\n".join(lines) + "\n")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-Wno-sign-compare", "-fsyntax-only"]
    result = subprocess.run([compiler, *flags, "check.cpp"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[:2000]
    assert len(halves) > 200


def test_the_page_is_current() -> None:
    page = _PAGE.read_text()
    assert documentation.rewritten(page) == page, "run: python -m torchsim.target.isa.documentation docs/isa.md"


def test_the_section_is_appended_replaced_and_never_doubled() -> None:
    once = documentation.rewritten("# Page\n")
    assert once.startswith("# Page\n\n" + documentation.BEGIN)
    assert documentation.rewritten(once) == once
    damaged = once.replace("0110111", "0110110") + "tail\n"
    assert documentation.rewritten(damaged) == once + "tail\n"
    with pytest.raises(InvalidInputError, match="one marker"):
        documentation.rewritten(documentation.BEGIN)


def test_patterns_spell_the_fixed_bits_in_order() -> None:
    for row in ROWS:
        widths = FORMATS[row.format].fields
        bits = ""
        for word in documentation.pattern(row).split():
            if set(word) <= {"0", "1"}:
                bits += word
            elif "[" in word:
                span = word.partition("[")[2].rstrip("]").split(":")
                bits += "." * (int(span[0]) - int(span[-1]) + 1)
            else:
                bits += "." * widths[word].bits.bit_count()
        assert len(bits) == 8 * row.bytes, row.name
        expected = "".join(str(row.match >> bit & 1) if row.mask >> bit & 1 else "." for bit in range(8 * row.bytes - 1, -1, -1))
        assert bits == expected, row.name
