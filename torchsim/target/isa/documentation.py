"""Section 7 of docs/isa.md: ``python -m torchsim.target.isa.documentation docs/isa.md`` rewrites it between its markers."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from torchsim.errors import InvalidInputError

from .fields import FORMATS
from .table import ROWS, Row

BEGIN, END = "<!-- generated -->", "<!-- /generated -->"
_INTRODUCTION = """\
## 7. Encodings

This section is written by `python -m torchsim.target.isa.documentation docs/isa.md` from the table in `torchsim/target/isa/`; a test
keeps it current. Bits run from the highest to the lowest; `name[h:l]` are bits h..l of an operand, a plain name the whole operand. A word
that matches no row is illegal. `vm` = 0 means masked by `v0`. Rounding modes 5 and 6 are illegal. The cost class names the unit of the
pipeline model. Row names in capitals, `.` replaced by `_`, are the enumerators of the generated C++ header.
"""
_TITLES = {
    "custom-1": "DMA, custom-1",
    "XSfvcp": "Systolic array and special functions, custom-2 (XSfvcp forms)",
    "I": "RV64I", "M": "M", "A": "A", "F": "F", "D": "D", "Zfh": "Zfh", "Zicsr": "Zicsr", "Zifencei": "Zifencei", "C": "C (RV64, with D)",
    "V": "V 1.0 (f16 operands as in Zvfh)",
}  # fmt: skip


def pattern(row: Row) -> str:
    """The bits of an instruction, highest first: ``0000001 rs2 rs1 000 rd 0110011``."""
    width = 8 * row.bytes
    owner: dict[int, tuple[str, int]] = {}  # highest bit of a run -> text, width
    for operand, field in FORMATS[row.format].fields.items():
        whole = len(field.pieces) == 1 and field.pieces[0][2] == 0
        for low, bits, value in field.pieces:
            span = f"{value + bits - 1}:{value}" if bits > 1 else str(value)
            owner[low + bits - 1] = (operand if whole else f"{operand}[{span}]", bits)
    words: list[str] = []
    bit, fixed = width - 1, ""
    boundaries = (25, 20, 15, 12, 7, 0) if row.bytes == 4 else (13, 10, 7, 5, 2, 0)
    while bit >= 0:
        if bit in owner:
            text, bits = owner[bit]
            words += [fixed, text] if fixed else [text]
            fixed, bit = "", bit - bits
            continue
        fixed += str(row.match >> bit & 1)
        if bit in boundaries:
            words.append(fixed)
            fixed = ""
        bit -= 1
    return " ".join(words)


def _table(rows: Iterable[Row]) -> list[str]:
    lines = ["| instruction | bits | cost class | defined in |", "|---|---|---|---|"]
    for row in rows:
        note = f"<br>`{row.assembly}`".replace("{", "").replace("}", "") if row.assembly else ""
        meaning = row.semantics.replace("RISC-V unprivileged ISA, ", "")
        lines.append(f"| `{row.name}`{note} | `{pattern(row)}` | {row.cost} | {meaning} |")
    return lines


def _is_segment(row: Row) -> bool:
    return row.format.startswith(("VL_", "VS_")) and "seg" in row.name


def section() -> str:
    """The generated text, without the markers."""
    lines = [_INTRODUCTION]
    for extension, title in _TITLES.items():
        rows = [row for row in ROWS if row.extension == extension and not _is_segment(row)]
        lines += [f"### {title}", "", *_table(rows), ""]
    lines += [
        "Segment loads and stores put `seg2` .. `seg8` before the `e` of the name (`vlseg2e32.v`, `vssseg3e8.v`, `vluxseg4ei16.v`,",
        (
            "`vlseg2e8ff.v`) and the number of fields less one into bits 31:29 of the row above; there are "
            f"{sum(map(_is_segment, ROWS))} of them, {len(ROWS)} rows in all."
        ),
        "",
    ]
    return "\n".join(lines)


def rewritten(page: str) -> str:
    """``page`` with the generated section between the markers, appended when the page has none.

    Raises:
        InvalidInputError: one marker without the other.
    """
    block = f"{BEGIN}\n{section()}{END}\n"
    if (BEGIN in page) != (END in page):
        raise InvalidInputError("the page has one marker of the generated section without the other", expected=f"{BEGIN} ... {END}")
    if BEGIN not in page:
        return page.rstrip("\n") + "\n\n" + block
    before, _, rest = page.partition(BEGIN)
    return before + block + rest.partition(END)[2].lstrip("\n")


def main(arguments: list[str]) -> int:
    """Rewrite the page whose path is the only argument."""
    if len(arguments) != 1:
        print("usage: documentation.py docs/isa.md", file=sys.stderr)
        return 2
    path = Path(arguments[0])
    path.write_text(rewritten(path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
