"""Assembly text of instruction words, in the spelling of LLVM's assembler without aliases."""

from __future__ import annotations

from .decoder import Decoded, decode, instructions
from .fields import FORMATS, Field

X_NAMES = (
    *("zero ra sp gp tp t0 t1 t2 s0 s1".split()),
    *(f"a{i}" for i in range(8)),
    *(f"s{i}" for i in range(2, 12)),
    *(f"t{i}" for i in range(3, 7)),
)
F_NAMES = (
    *(f"ft{i}" for i in range(8)),
    "fs0",
    "fs1",
    *(f"fa{i}" for i in range(8)),
    *(f"fs{i}" for i in range(2, 12)),
    *(f"ft{i}" for i in range(8, 12)),
)
CSR_NAMES = {
    0x001: "fflags", 0x002: "frm", 0x003: "fcsr", 0x008: "vstart", 0x009: "vxsat", 0x00A: "vxrm", 0x00F: "vcsr",
    0xC00: "cycle", 0xC01: "time", 0xC02: "instret", 0xC20: "vl", 0xC21: "vtype", 0xC22: "vlenb",
}  # fmt: skip
_ROUNDING = {0: "rne", 1: "rtz", 2: "rdn", 3: "rup", 4: "rmm", 5: "5", 6: "6", 7: "dyn"}
_LMUL = {0: "m1", 1: "m2", 2: "m4", 3: "m8", 5: "mf8", 6: "mf4", 7: "mf2"}


def vtype_text(vtype: int) -> str:
    """``e32, m1, ta, ma`` of a vtype immediate; a plain number when it is reserved."""
    sew, lmul = vtype >> 3 & 7, vtype & 7
    if vtype >> 8 or sew > 3 or lmul not in _LMUL:
        return str(vtype)
    return f"e{8 << sew}, {_LMUL[lmul]}, {'ta' if vtype >> 6 & 1 else 'tu'}, {'ma' if vtype >> 7 & 1 else 'mu'}"


def _fence_set(bits: int) -> str:
    return "".join(letter for position, letter in enumerate("iorw") if bits >> (3 - position) & 1) or "0"


def _operand(operand: str, field: Field, value: int, pc: int | None) -> str:
    match field.kind:
        case "x" | "c":
            return X_NAMES[value]
        case "f" | "d":
            return F_NAMES[value]
        case "v":
            return f"v{value}"
        case "m":
            return "" if value else ", v0.t"
        case "p":
            return f"{'+' if value >= 0 else ''}{value}" if pc is None else f"{(pc + value) & 0xFFFF_FFFF_FFFF_FFFF:#x}"
        case _:
            pass
    match operand:
        case "rm":
            return "" if value == field.default else f", {_ROUNDING[value]}"
        case "vtype":
            return vtype_text(value)
        case "csr":
            return CSR_NAMES.get(value, f"{value:#x}")
        case "pred" | "succ":
            return _fence_set(value)
        case _:
            return str(value)


def text_of(decoded: Decoded, pc: int | None = None) -> str:
    """Assembly of one decoded instruction; branch targets are absolute when ``pc`` is given, else offsets."""
    row = decoded.row
    if row is None:
        digits = 2 * decoded.bytes
        return f"illegal {decoded.word:#0{digits + 2}x}"
    form = FORMATS[row.format]
    operands = {name: _operand(name, field, decoded.operands[name], pc) for name, field in form.fields.items()}
    if row.assembly:
        return f"{row.assembly.format(**operands)}  # {row.name}"
    suffix = (".aq" if decoded.operands.get("aq") else "") + (".rl" if decoded.operands.get("rl") else "")
    suffix = ".aqrl" if suffix == ".aq.rl" else suffix
    return f"{row.name}{suffix} {form.syntax.format(**operands)}".rstrip()


def disassemble(word: int, pc: int | None = None) -> str:
    """Assembly of one word: ``vfadd.vv v8, v8, v9``. Illegal words read ``illegal 0x...``."""
    return text_of(decode(word), pc)


def disassemble_image(code: bytes, base: int, symbols: dict[str, int] | None = None) -> str:
    """Listing of a run of code: address, bits and assembly a line; a label line where a symbol points."""
    labels: dict[int, list[str]] = {}
    for name, address in (symbols or {}).items():
        labels.setdefault(address, []).append(name)
    lines: list[str] = []
    for pc, decoded in instructions(code, base):
        lines += [f"{name}:" for name in sorted(labels.get(pc, ()))]
        lines.append(f"  {pc:#010x}  {decoded.word:0{2 * decoded.bytes}x}{'' if decoded.bytes == 4 else '    '}  {text_of(decoded, pc)}")
    return "\n".join(lines) + "\n" if lines else ""
