"""Rows of the instruction table that a decoder or a switch statement may take for one another, by the kind of the mistake."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from torchsim.target.isa.table import BY_NAME, ROWS, Row

# (pattern, replacement) on a mnemonic: what it becomes if the difference is missed. Both directions are tried.
_SIGN = [
    (r"^(v?(?:min|max|div|rem|mulh))u\b", r"\1"),
    (r"^(vw(?:add|sub|mul|macc|redsum)|vn?clip|vnclip|vs(?:add|sub)|vss?ub|va(?:add|sub)|vred(?:min|max)|vms(?:lt|le|gt))u\b", r"\1"),
    (r"^(slt|sltiu?|blt|bge|lb|lh|lw|div|rem|mulh)u", r"\1"),
    (r"^(v?n?)sra", r"\1srl"),
    (r"^(v?n?)srai", r"\1srli"),
    (r"^(vs)sra", r"\1srl"),
    (r"^(v?w?mul(?:h)?)su", r"\1"),
    (r"^(v?w?mul(?:h)?)su", r"\1u"),
    (r"^vwmaccsu", "vwmaccus"),
    (r"^vwmaccsu", "vwmacc"),
    (r"^vzext", "vsext"),
    (r"\.xu\b", ".x"),
    (r"\b(fcvt\..*[wl])u\b", r"\1"),
    (r"\.(w|l)u$", r".\1"),
    (r"(amo(?:min|max))u", r"\1"),
    (r"^(v?f)sgnj[nx]", r"\1sgnj"),
    (r"^(v?f)sgnjx", r"\1sgnjn"),
    (r"^(v?fw?)n(m(?:acc|sac|add|sub))", r"\1\2"),
    (r"^(v?)n(msac|msub)", r"\1\2"),
]
_WIDTH = [
    *((rf"e{a}(ff)?\.v", rf"e{b}\1.v") for a in (8, 16, 32) for b in (16, 32, 64) if a < b),
    *((rf"ei{a}\.v", rf"ei{b}.v") for a in (8, 16, 32) for b in (16, 32, 64) if a < b),
    *((rf"seg{a}", f"seg{a + 1}") for a in range(2, 8)),
    *((rf"\.vf{a}", f".vf{b}") for a, b in ((2, 4), (4, 8), (2, 8))),
    *((rf"^vmv{a}r", f"vmv{b}r") for a, b in ((1, 2), (2, 4), (4, 8))),
    *((rf"^v([ls]){a}r", rf"v\g<1>{b}r") for a, b in ((1, 2), (2, 4), (4, 8))),
    (r"^(add|sub|sll|srl|sra|mul|div|rem)(i|u)?w$", r"\1\2"),
    (r"^(add|sll|srl|sra)iw$", r"\1i"),
    (r"^(divu|remu)w$", r"\1"),
    *((rf"^(f?[ls]){a}(u?)$", rf"\1{b}\2") for a, b in (("b", "h"), ("h", "w"), ("w", "d"))),
    (r"^(amo\w+|lr|sc)\.w$", r"\1.d"),
    *((rf"^(f\w+)\.{a}$", rf"\1.{b}") for a, b in (("h", "s"), ("s", "d"))),
    *((rf"^(fcvt\.\w+)\.{a}$", rf"\1.{b}") for a, b in (("h", "s"), ("s", "d"), ("w", "l"))),
    *((rf"^fcvt\.{a}\.", f"fcvt.{b}.") for a, b in (("w", "l"), ("wu", "lu"), ("h", "s"), ("s", "d"))),
    (r"^(vf?w(?:add|sub)u?)\.w([vxf])$", r"\1.v\2"),
    (r"^vrgatherei16", "vrgather"),
]
_SATURATION = [
    (r"^vs(add|sub)(u?)\b", r"v\1"),
    (r"^vss(ub)(u?)\b", r"vs\1"),
    (r"^vnclipu", "vnsrl"),
    (r"^vnclip\b", "vnsra"),
    (r"^vsmul", "vmulh"),
]
_ROUNDING = [(r"^vss(r[al])", r"vs\1"), (r"\.rtz\.", "."), (r"\.rod\.", "."), (r"^va(add|sub)(u?)", r"v\1")]
_BOUND = [
    (r"^(vmf|vms)lt", r"\1le"),
    (r"^(vmf)gt", r"\1ge"),
    (r"^(flt)\.", "fle."),
    (r"^vms(b)f", "vmsif"),
    (r"^vms(b)f", "vmsof"),
    (r"^vslide1", "vslide"),
    (r"^vslideup", "vslidedown"),
    (r"^vslide1up", "vslide1down"),
    (r"^vfslide1up", "vfslide1down"),
]
_ORDER = [
    (r"^(vf?)sub\.v([xf])", r"\1rsub.v\2"),
    (r"^vfdiv\.vf", "vfrdiv.vf"),
    (r"^(vf?n?m)acc\.", r"\1add."),
    (r"^(vf?n?m)sac\.", r"\1sub."),
    (r"^(vf)red(o|u)sum", r"\1redmin"),
    (r"(min|max)", "max"),
    (r"^(andn|orn)", "and"),
    (r"^vm(and|or)n\.", r"vm\1."),
    (r"^vmn(and|or)\.", r"vm\1."),
]
_RULES = {"sign": _SIGN, "width": _WIDTH, "saturation": _SATURATION, "rounding": _ROUNDING, "bound": _BOUND, "order": _ORDER}


def same_shape(a: Row, b: Row) -> bool:
    """Whether the words of the two rows differ in fixed bits only."""
    return a.format == b.format and (a.extension == "C") == (b.extension == "C")


@functools.cache
def _pairs() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {row.name: {} for row in ROWS}
    for row in ROWS:
        for kind, rules in _RULES.items():
            for pattern, replacement in rules:
                other = re.sub(pattern, replacement, row.name, count=1)
                if other != row.name and other in BY_NAME and same_shape(row, BY_NAME[other]):
                    found[row.name].setdefault(other, kind)
                    found[other].setdefault(row.name, kind)
    by_format: dict[tuple[str, str], list[str]] = {}
    for row in ROWS:
        by_format.setdefault((row.format, row.extension), []).append(row.name)
    for names in by_format.values():
        for one, other in zip(names, names[1:] + names[:1]):
            if one != other:
                found[one].setdefault(other, "operation")
    return found


def siblings(name: str) -> Iterator[tuple[str, str]]:
    """(row, kind of mistake) that ``name`` may be taken for; every row of its format that differs by one attribute, and its neighbour."""
    yield from _pairs()[name].items()
