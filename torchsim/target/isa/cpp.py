"""Text of the generated C++ header (see ``generate.py``)."""

from __future__ import annotations

from .fields import FIELDS, FORMATS, Field
from .table import BY_NAME, ROWS, Cost, Row

_BANNER = """\
// Generated from torchsim/target/isa by generate.py. Do not edit.
//
// kRows[i].op == static_cast<Op>(i); row 0 is ILLEGAL. Where two rows match a word the first one is right.
// A word matches a row when (word & mask) == match and (nonzero == 0 or (word & nonzero) != 0); compressed words are
// compared as 16 bits zero-extended, and their low two bits are not 3. field_<name>(word) extracts an operand, sign-extended
// where the operand is signed (register fields of three bits include the + 8).
#pragma once

#include <array>
#include <cstdint>

namespace npu::isa {
"""

_ROW = """
struct Row {
  std::uint32_t match;
  std::uint32_t mask;
  std::uint32_t nonzero;  // bits that must not all be zero, or 0
  Op op;
  Op expands_to;  // the base instruction of a compressed one, else op
  Format format;
  Cost cost;
  std::uint8_t bytes;  // 2 or 4; 0 for ILLEGAL
  const char* name;
};
"""


def _enum(name: str, underlying: str, members: list[str]) -> str:
    lines = [f"\nenum class {name} : std::{underlying} {{"]
    lines += [f"  {member}," for member in members]
    return "\n".join([*lines, "};", ""])


def _extractor(field: Field) -> str:
    parts = [f"((word >> {low}U & {(1 << width) - 1:#x}U) << {value}U)" for low, width, value in field.pieces]
    body = " | ".join(part.replace(" << 0U)", ")") for part in parts)
    if field.kind in "cd":
        body = f"({body}) + 8U"
    if field.signed:
        shift = 32 - field.width
        signed = f"static_cast<std::int32_t>(({body}) << {shift}U) >> {shift}"
        return f"constexpr std::int32_t field_{field.name}(std::uint32_t word) {{ return {signed}; }}"
    return f"constexpr std::uint32_t field_{field.name}(std::uint32_t word) {{ return {body}; }}"


def _inserted(field: Field, value: str) -> str:
    parts = [f"({value} >> {low_value}U & {(1 << width) - 1:#x}U) << {low}U" for low, width, low_value in field.pieces]
    return " | ".join(parts)


def _expansion(row: Row) -> str:
    assert row.expands is not None
    base_name, operands = row.expands
    base = BY_NAME[base_name]
    terms = [f"{base.match:#x}U"]
    for operand, source in operands.items():
        place = FORMATS[base.format].fields[operand]
        if isinstance(source, str):
            value = f"static_cast<std::uint32_t>(field_{FORMATS[row.format].fields[source].name}(half))"
        elif source:
            value = f"{source}U"
        else:
            continue
        terms.append(_inserted(place, value))
    return f"    case Op::{row.enumerator}: return {' | '.join(terms)};"


def _row(row: Row) -> str:
    base = BY_NAME[row.expands[0]] if row.expands else row
    return (
        f"    {{{row.match:#010x}U, {row.mask:#010x}U, {row.nonzero_bits:#x}U, Op::{row.enumerator}, Op::{base.enumerator}, "
        f'Format::{row.format}, Cost::{row.cost.name}, {row.bytes}, "{row.name}"}},'
    )


def header() -> str:
    """The whole header.

    Namespace ``npu::isa``: enums ``Op`` (ILLEGAL = 0), ``Cost``, ``Format``; ``kRows``; ``row(Op)``; ``field_*``
    extractors; ``expand(Op, half)``, the 32-bit equivalent of a compressed instruction.
    """
    text = [_BANNER]
    text.append(_enum("Op", "uint16_t", ["ILLEGAL = 0", *(row.enumerator for row in ROWS), "COUNT"]))
    text.append(_enum("Cost", "uint8_t", [cost.name for cost in Cost] + ["COUNT"]))
    text.append(_enum("Format", "uint8_t", [*FORMATS, "COUNT"]))
    text.append("\n// Operands of each format (name=field where they differ):\n")
    for one in FORMATS.values():
        operands = [operand if operand == place.name else f"{operand}={place.name}" for operand, place in one.fields.items()]
        text.append(f"//   {one.name}: {' '.join(operands) or '-'}\n")
    text.append("\n" + "\n".join(_extractor(field) for field in FIELDS.values()) + "\n")
    text.append(_ROW)
    text.append(f"\ninline constexpr std::array<Row, {len(ROWS) + 1}> kRows{{{{\n")
    text.append('    {0xffffffffU, 0U, 0U, Op::ILLEGAL, Op::ILLEGAL, Format::NONE, Cost::SYSTEM, 0, "illegal"},\n')
    text.append("\n".join(_row(row) for row in ROWS) + "\n}};\n")
    text.append("\nconstexpr const Row& row(Op op) { return kRows[static_cast<std::size_t>(op)]; }\n")
    text.append("\n// The 32-bit instruction that a compressed one stands for; 0 (illegal) for any other op.\n")
    text.append("constexpr std::uint32_t expand(Op op, std::uint32_t half) {\n  switch (op) {\n")
    text.append("\n".join(_expansion(row) for row in ROWS if row.expands) + "\n    default: return 0U;\n  }\n}\n")
    text.append("\n}  // namespace npu::isa\n")
    return "".join(text).replace("#include <cstdint>\n", "#include <cstddef>\n#include <cstdint>\n")
