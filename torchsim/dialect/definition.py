"""Definition of the togsim dialect as a table, and its IRDL text.

Offsets, bounds, tags and range begins are i64 values, so loops may compute them; geometry is in attributes.
"""

from __future__ import annotations

from typing import NamedTuple


class OpDefinition(NamedTuple):
    """Operands (all i64, ``*name`` is variadic), attributes by kind, whether there is one vector result, and one line of meaning."""

    operands: str
    attributes: dict[str, str]
    result: bool
    meaning: str


_RANGES = {"id": "int", "kind": "text", "read_buffers": "list", "read_lengths": "list", "write_buffers": "list", "write_lengths": "list"}
_GEOMETRY = {"extents": "list", "dram_strides": "list", "bounded": "list"}

DEFINITION: dict[str, OpDefinition] = {
    "transfer": OpDefinition(
        "offset spad tag *highs",
        {
            "id": "int",
            "direction": "text",
            "arg": "int",
            "dtype": "text",
            "buffer": "int",
            "buffer_offset": "int",
            **_GEOMETRY,
            "spad_strides": "list",
            "subtiles": "list",
            "split": "int",
            "vlane_stride": "int",
            "fill": "int",
            "accumulate": "int",
        },
        False,
        "one DRAM tile to or from the scratchpad; highs: one bound per dimension that is bounded",
    ),
    "wait": OpDefinition("tag", {}, False, "complete every outstanding transfer of a tag slot"),
    "block_begin": OpDefinition(
        "*begins", _RANGES, False, "start of a compute block; begins: in-buffer bytes of the ranges, reads before writes"
    ),
    "block_end": OpDefinition("", {"id": "int"}, False, "end of a compute block"),
    "vlane_idx": OpDefinition("", {}, True, "the number of the lane, in every element"),
    "preload": OpDefinition("weight", {"count": "int"}, False, "push `count` f32 weights per lane from arena byte `weight`"),
    "matmul": OpDefinition("data out", {"rows": "int"}, False, "out[0..rows) += array(data[0..rows)); f32, contiguous, arena bytes"),
    "dma": OpDefinition(
        "offset begin tag *highs",
        {"direction": "text", "arg": "int", "element_bits": "int", "buffer": "int", "buffer_offset": "int", "length": "int", **_GEOMETRY},
        False,
        "timing: a transfer record; begin, length: in-buffer bytes that it touches",
    ),
    "compute": OpDefinition("*begins", _RANGES, False, "timing: a block record"),
    "memory_barrier": OpDefinition("tag", {"count": "int"}, False, "timing: wait for `count` (0 = all) transfers of a tag slot"),
}
_BASES = {"int": "#builtin.integer", "text": "#builtin.string", "list": "#builtin.dense_array"}


def irdl_text() -> str:
    """The dialect as IRDL. A constraint variable stands for one value, so every attribute has its own."""
    lines = ["irdl.dialect @togsim {"]
    for name, definition in DEFINITION.items():
        lines.append(f"  irdl.operation @{name} {{")
        operands = definition.operands.split()
        if operands:
            lines.append("    %i64 = irdl.is i64")
            lines.append(
                "    irdl.operands(" + ", ".join(f"{one.lstrip('*')}: {'variadic ' if one[0] == '*' else ''}%i64" for one in operands) + ")"
            )
        if definition.result:
            lines.append('    %vector = irdl.base "!builtin.vector"')
            lines.append("    irdl.results(result: %vector)")
        if definition.attributes:
            lines += [f'    %{attribute} = irdl.base "{_BASES[kind]}"' for attribute, kind in definition.attributes.items()]
            lines.append("    irdl.attributes {" + ", ".join(f'"{attribute}" = %{attribute}' for attribute in definition.attributes) + "}")
        lines.append("  }")
    return "\n".join([*lines, "}"])
