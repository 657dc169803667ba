"""Write the generated parts of the documentation: ``make docs``. A test fails when one of them is out of date.

A page marks a generated part with ``<!-- generated: NAME -->`` and ``<!-- end -->``; only the text between is replaced.
"""

from __future__ import annotations

import json
import re
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from torchsim.config import Machine, load_machine, machine_names, machine_schema  # noqa: E402  # the script runs from anywhere
from torchsim.config_prior import DRAM_STANDARDS, DROPPED_OPTIMIZATIONS, PRIOR_KEYS, RENAMED, UNSUPPORTED_VALUES  # noqa: E402
from torchsim.target.isa import documentation as isa_documentation  # noqa: E402

DOCS = ROOT / "docs"
GROUPS = {
    "core": "Cores",
    "vpu": "Vector unit",
    "pipe": "In-order pipeline",
    "dram": "Memory",
    "icnt": "Interconnect",
    "pytorchsim": "Modes",
    "codegen": "Compiler",
}
_PART = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def group_of(key: str) -> str:
    """Heading under which a key is listed."""
    prefix = key.split("_", 1)[0]
    return GROUPS.get({"num": "core", "sa": "core", "name": "core", "partition": "core"}.get(prefix, prefix), prefix)


def type_text(annotation: Any) -> str:
    """What a key's value may be, in words."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(annotation))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_text(argument) for argument in typing.get_args(annotation))
    if origin is tuple:
        return "list"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping with " + ", ".join(f"`{name}`" for name in annotation.model_fields)
    return {bool: "boolean", int: "integer", str: "text", dict[str, int]: "mapping of text to integer"}[annotation]


def default_text(default: Any) -> str:
    """A default as JSON; of a mapping, what is set in it."""
    return json.dumps(default.model_dump(exclude_none=True) if isinstance(default, BaseModel) else default)


def range_text(metadata: list[Any]) -> str:
    """The bound of a number, " > 0" for example."""
    for item in metadata:
        for sign, attribute in ((">", "gt"), (">=", "ge")):
            if getattr(item, attribute, None) is not None:
                return f" {sign} {getattr(item, attribute)}"
    return ""


def config_keys() -> str:
    """One table for each group of keys of a machine file."""
    groups: dict[str, list[list[str]]] = {}
    for key, field in Machine.model_fields.items():
        default = "required" if field.is_required() else f"`{default_text(field.default)}`"
        kind = type_text(field.annotation) + range_text(field.metadata)
        groups.setdefault(group_of(key), []).append([f"`{key}`", kind, default, field.description or ""])
    return "\n".join(f"### {name}\n\n{table(['key', 'value', 'default', 'meaning'], rows)}" for name, rows in groups.items())


def config_machines() -> str:
    """The machines that ship."""
    rows: list[list[str]] = []
    for name in machine_names():
        m = load_machine(name)
        memory = f"{m.dram_type}, {m.dram_channels} channels, {m.dram_freq_mhz} MHz"
        cores = f"{m.num_cores} at {m.core_freq_mhz} MHz, {m.num_systolic_array_per_core} arrays"
        rows.append([f"`{name}`", str(m.lanes), f"{m.vpu_spad_size_kb_per_lane} KiB", f"{m.dispatch_budget_bytes} B", cores, memory])
    return table(["name", "lanes = array side", "scratchpad per lane", "budget of a work-item", "cores", "memory"], rows)


def config_prior() -> str:
    """What happens to the keys of PyTorchSim that have no field of their own."""
    rows = [[f"`{old}`", f"the same as `{new}`"] for old, new in RENAMED.items()]
    rows += [[f"`{key}`", entry.meaning] for key, entry in PRIOR_KEYS.items()]
    standards = ", ".join(DRAM_STANDARDS)
    rows.append(["`ramulator_config_path`", f"with `dram_type: ramulator2`: names the standard ({standards}) and the mapper"])
    for key, values in UNSUPPORTED_VALUES.items():
        rows += [[f"`{key}: {value}`", f"{meaning}; refused"] for value, meaning in values.items()]
    dropped = " and ".join(f"`{item}`" for item in DROPPED_OPTIMIZATIONS)
    rows.append(["`codegen_compiler_optimization` list", f"{dropped} are dropped"])
    return table(["key", "what becomes of it"], rows)


PARTS: dict[str, Callable[[], str]] = {
    "config-machines": config_machines,
    "config-keys": config_keys,
    "config-prior": config_prior,
}


def pages() -> dict[Path, str]:
    """Every file with a generated part, and its text as it should be."""
    isa = DOCS / "isa.md"
    result = {
        DOCS / "machine.schema.json": json.dumps(machine_schema(), indent=2) + "\n",
        isa: isa_documentation.rewritten(isa.read_text(encoding="utf-8")),
    }
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")

        def fresh(match: re.Match[str]) -> str:
            part = PARTS.get(match["name"])
            return f"{match[1]}{part()}{match[3]}" if part else match[0]

        if any(match["name"] in PARTS for match in _PART.finditer(text)):
            result[path] = _PART.sub(fresh, text)
    return result


def main() -> int:
    """Write every page that changed and name it."""
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
