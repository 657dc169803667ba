"""Faults enumerated from the instruction table: per row what real bugs do, and why some of them change nothing.

Each fault is one of sign, width, rounding, tail or mask polarity, off-by-one, saturation, operand order, flags, NaN and zero results,
NaN boxing, lanes. ``enumerate_faults`` is deterministic; ``EQUIVALENT`` explains the faults that no program can tell from the truth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchsim.iss.fault import Fault
from torchsim.target.isa.table import BY_NAME, ROWS, Cost, Row

from .cases import testable
from .siblings import siblings

NX, UF, OF, DZ, NV, SATURATED = 1, 2, 4, 8, 16, 32
_SCALAR_RM = ("F2_RM", "F3_RM", "F1_RM", "F_TO_X_RM", "X_TO_F_RM")
_MASKED = ("VV", "VX", "VF", "VI", "VU", "VV_ACC", "VX_ACC", "VF_ACC", "V1", "VID", "V_TO_X_MASKED")
_MASK_OPERAND = ("VVM", "VXM", "VFM", "VIM")
_WRITES_VECTOR = (*_MASKED[:-1], *_MASK_OPERAND, "VVN", "VXN", "VIN", "V1N", "MV_V", "MV_X", "MV_F", "MV_I")
_COMMUTES = re.compile(
    r"^(v?(add|and|or|xor|mul|mulh|mulhu|min|minu|max|maxu)(\.|w?$)|vw(add|mul)u?\.vv|vs(add|addu|mul)\.|va(add|addu)\.|vmseq|vmsne|"
    r"vm(and|nand|or|nor|xor|xnor)\.mm|fn?m(add|sub)\.|v?f(add|mul|min|max)\.|vmf(eq|ne)|feq|vfw(add|mul)\.vv|vmadc|vadc|(addw|mulw)$|v(w?macc|nmsac|madd|nmsub)|"
    r"vfw?n?m(acc|sac|add|sub)|vwmacc)"
)


@dataclass(frozen=True, slots=True)
class Seeded:
    """A fault and the class of bug that it stands for."""

    fault: Fault
    group: str


def faulty_rows() -> tuple[Row, ...]:
    """Rows that get faults: what the register frame of ``cases`` runs (fault-only-first loads are no instructions of the NPU)."""
    return tuple(row for row in ROWS if testable(row) and not row.name.endswith("ff.v") and not row.name.startswith("fence"))


def enumerate_faults() -> Iterator[Seeded]:
    """Every fault of every row, in the table's order."""
    for row in faulty_rows():
        for other, group in siblings(row.name):
            yield Seeded(Fault(row.name, "decode_as", other), group)
        if row.extension == "C":
            continue
        for group, kind, amount, target in _of_row(row):
            yield Seeded(Fault(row.name, kind, "", amount, target), group)


_Plain = tuple[str, str, int, str]


def _of_row(row: Row) -> Iterator[_Plain]:
    yield from _rounding(row)
    yield from _flags(row)
    yield from _operands(row)
    if row.extension == "V":
        yield from _vector(row)
    else:
        yield from _scalar(row)
    if row.name.startswith(("f", "vf")) and _arithmetic(row.name):
        target = float_target(row)
        for kind in ("nan_payload", "zero_sign", "flushed"):
            if not (kind == "flushed" and _never_subnormal(row.name)):
                yield ("result", kind, 0, target)


def _arithmetic(name: str) -> bool:
    """Float results that an operation makes, rather than moves."""
    stem = name.split(".")[0]
    if stem in ("fmv", "fclass", "feq", "flt", "fle", "fld", "flw", "flh", "fsd", "fsw", "fsh") or stem.startswith(("fsgnj", "vfsgnj")):
        return False
    if "fcvt" in stem or "vfwcvt" in stem or "vfncvt" in stem:
        return re.match(r"^fcvt\.[hsd]\.[hsd]$|^vf[wn]cvt\.(rod\.)?f\.f", name) is not None
    return not stem.startswith(("vfmv", "vfmerge", "vfclass", "vfirst", "vfslide", "fence"))


def _never_subnormal(name: str) -> bool:
    """Results that are normal or zero: of operands with half the exponent range, square roots and reciprocal square roots."""
    narrow_operands = name.startswith(("vfwadd.v", "vfwsub.v", "vfwmul", "vfwcvt")) or name in ("fcvt.s.h", "fcvt.d.h", "fcvt.d.s")
    return narrow_operands or "sqrt" in name


def float_target(row: Row) -> str:
    """Width of a float row's destination."""
    if row.extension == "V":
        return target_of(row)
    width = row.name.split(".")[1] if "." in row.name else {"flh": "h", "flw": "s"}.get(row.name, "d")
    return {"h": "bits16", "s": "bits32", "w": "bits32", "d": "bits64"}.get(width, "none")


def target_of(row: Row) -> str:
    """What the destination elements of a vector row are."""
    name = row.name
    if row.format.startswith("VL_"):
        size = re.search(r"e(8|16|32|64)", name)
        return "sew" if "INDEXED" in row.format or size is None else f"bits{size[1]}"
    if name.startswith(("vmseq", "vmsne", "vmsl", "vmsg", "vmf", "vmadc", "vmsbc", "vmsbf", "vmsif", "vmsof")) or name.endswith(".mm"):
        return "mask"
    if name.startswith(("vw", "vfw")) or name == "vlm.v":
        return "twice_sew"
    return "sew"


def _rounding(row: Row) -> Iterator[_Plain]:
    name = row.name
    if name.startswith(("vaadd", "vasub", "vsmul", "vssr", "vnclip")):
        pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    elif rounds(row):
        same = _same_modes(name)
        pairs = [(a, b) for a in range(5) for b in range(5) if a != b and {a, b} not in same]
    else:
        return
    for a, b in pairs:
        yield ("rounding", "rounding", 8 * a + b, "none")


def _same_modes(name: str) -> list[set[int]]:
    """Pairs of modes that give a row the same results: no halves to break, or no negative numbers."""
    same: list[set[int]] = []
    if "sqrt" in name or "rec7" in name:
        same.append({0, 4})
    if "sqrt" in name or re.search(r"\.xu\.[vw]$|^fcvt\.[hsd]\.[wl]u$", name):
        same.append({1, 2})
    return same


def rounds(row: Row) -> bool:
    """Whether a float row's result depends on the rounding mode."""
    name = row.name
    if row.format in _SCALAR_RM:
        return name not in ("fcvt.d.w", "fcvt.d.wu", "fcvt.s.h", "fcvt.d.h", "fcvt.d.s")
    if not name.startswith("vf") or not (_arithmetic(name) or "cvt" in name):
        return False
    exact = ("vfmin", "vfmax", "vfredmin", "vfredmax", "vfwcvt.f.", "vfwmul", "vfrsqrt7", "vfncvt.rod")
    return not name.startswith(exact) and ".rtz." not in name


def flags_raised(name: str) -> int:
    """Flags that a row can raise, as bits; vxsat is bit 5."""
    if name.startswith(("vsadd", "vssub", "vsmul", "vnclip")):
        return SATURATED
    if not name.startswith(("f", "vf", "vmf")) or name.startswith(("fence", "vfirst")):
        return 0
    stem = name.split(".")[0].removeprefix("v").removeprefix("m")
    if "cvt" in name:
        return _conversion_flags(name)
    if re.match(r"^f?f?(eq|ne|lt|le|gt|ge|min|max|redmin|redmax)$", stem.removeprefix("f")):
        return NV
    if "rsqrt7" in name:
        return DZ | NV
    if "rec7" in name:
        return DZ | OF | NV
    if not _arithmetic(name):
        return 0
    if "sqrt" in name:
        return NX | NV
    wide = stem.startswith("fw")
    sums = stem in ("fadd", "fsub", "frsub", "fredusum", "fredosum")
    if wide:  # narrower operands: products neither over- nor underflow in binary64 and binary32
        return {"fwmul": NV, "fwadd": NX | NV, "fwsub": NX | NV}.get(stem, NX | NV)
    return NX | OF | NV | (0 if sums else UF) | (DZ if "div" in stem else 0)


def _conversion_flags(name: str) -> int:
    if re.search(r"\.x[u]?\.f|^fcvt\.[wl]u?\.", name):
        return NX | NV
    if name in ("fcvt.d.w", "fcvt.d.wu") or name.startswith("vfwcvt.f.x"):
        return 0
    if re.search(r"\.f\.x[u]?\.|^fcvt\.[hsd]\.[wl]u?$", name):
        return NX | (OF if name.startswith("fcvt.h") or name.endswith((".f.xu.w", ".f.x.w")) else 0)
    narrowing = name in ("fcvt.h.s", "fcvt.h.d", "fcvt.s.d") or name.startswith("vfncvt")
    return NX | UF | OF | NV if narrowing else NV


def _flags(row: Row) -> Iterator[_Plain]:
    possible = flags_raised(row.name)
    for bit in range(6):
        if possible >> bit & 1:
            yield ("flags", "flags_dropped", 1 << bit, "none")


def _operands(row: Row) -> Iterator[_Plain]:
    name, form = row.name, row.format
    memory = row.cost in (Cost.SCALAR_LOAD, Cost.SCALAR_STORE, Cost.VECTOR_LOAD, Cost.VECTOR_STORE, Cost.ATOMIC)
    size = access_bytes(name) if memory else 1
    if form in ("R", "I", "SHIFT64", "SHIFT32", "VX", "VX_ACC", "VXM", "VXN", "MV_X", "X_TO_F_RM", "X_TO_F", "X_TO_F_EXACT") or memory:
        yield ("off by one", "rs1", size, "none")
    if form in ("R", "AMO", "STORE") or "STRIDED" in form:
        yield ("off by one", "rs2", size if "STRIDED" in form else 1, "none")
    if form in (
        "I",
        "SHIFT64",
        "SHIFT32",
        "U",
        "VI",
        "VU",
        "VIM",
        "VIN",
        "MV_I",
        "LOAD",
        "STORE",
        "FLOAD",
        "FSTORE",
    ) and not name.startswith("vset"):
        yield ("off by one", "immediate", size if form in ("LOAD", "STORE", "FLOAD", "FSTORE") else 4096 if form == "U" else 1, "none")
    if (
        form in ("R", "F2", "F2_RM", "F3_RM", "FCMP", "VV", "VV_ACC", "VVM", "VVN")
        and not _COMMUTES.match(name)
        and row.cost is not Cost.VECTOR_REDUCE
    ):
        yield ("order", "swapped", 0, "none")


def access_bytes(name: str) -> int:
    """Bytes of one element that a memory row moves (8 where SEW says it: keeps addresses aligned)."""
    vector = re.search(r"e(8|16|32|64)(ff)?\.v", name)
    if vector and "ei" not in name:
        return int(vector[1]) // 8
    if name.startswith("v"):
        return 1 if name in ("vlm.v", "vsm.v") else 8
    return {"b": 1, "h": 2, "w": 4, "d": 8}[re.sub(r"^(amo\w+|lr|sc)\.|^f?[ls](?=[bhwd])", "", name)[0]]


def _vector(row: Row) -> Iterator[_Plain]:
    name, form, target = row.name, row.format, target_of(row)
    if form in ("VSETVLI", "VSETIVLI") or name == "vsetvl":
        yield from (("off by one", "length", amount, "none") for amount in (-1, 1))
        return
    whole = "WHOLE" in form or re.match(r"^vmv[1248]r", name) is not None
    one = row.cost is Cost.VECTOR_REDUCE or form in ("MV_X", "MV_F") and name.split(".")[1] == "s"
    writes = form in _WRITES_VECTOR or form.startswith("VL_")
    masked = form in _MASKED or form.startswith(("VL_", "VS_")) and form.split("_")[1] in ("UNIT", "STRIDED", "INDEXED")
    if writes:
        yield ("lanes", "last_lane", 0, "none")
        if not whole and name not in ("vlm.v", "vcompress.vm"):
            yield ("tail", "tail", 1 if one else 0, target)
    if form.startswith("VS_"):
        yield ("lanes", "last_lane", 0, "none")
    if form in ("V_TO_X", "V_TO_F", "V_TO_X_MASKED"):
        yield ("lanes", "lanes_exchanged", 0, "none")
    if masked:
        yield ("mask", "mask_inverted", 0, "none")
        yield ("mask", "mask_ignored", 0, "none")
        if writes and row.cost is not Cost.VECTOR_REDUCE:
            yield ("mask", "masked_off", 0, target)
    if form in _MASK_OPERAND:
        yield ("mask", "mask_inverted", 0, "none")
    if not whole and name not in ("vmv.x.s", "vfmv.f.s", "vmv.s.x", "vfmv.s.f"):
        yield from (("off by one", "length", amount, "none") for amount in (-1, 1))
    explicit = form.startswith(("VL_", "VS_")) and "INDEXED" not in form
    if not whole and not explicit and not name.endswith(".mm") and name not in ("vcpop.m", "vfirst.m", "vmsbf.m", "vmsif.m", "vmsof.m"):
        yield from (("width", "sew", amount, "none") for amount in (-1, 1))
    if form in ("VF", "VF_ACC", "VFM", "MV_F"):
        yield ("boxing", "boxing_ignored", 0, "none")


def _scalar(row: Row) -> Iterator[_Plain]:
    name, form = row.name, row.format
    writes_x = form in ("R", "I", "SHIFT64", "SHIFT32", "U", "LOAD", "LR", "AMO", "FCMP", "F_TO_X", "F_TO_X_RM")
    if writes_x and row.extension in ("I", "M", "A", "F", "D", "Zfh"):
        word = name.endswith("w") or re.search(r"\.w$|^fcvt\.wu?\.|^fmv\.x\.w$", name) is not None
        small = {"lb": 8, "lh": 16, "fmv.x.h": 16}.get(name, 32 if word and name != "sc.w" else 0)
        unsigned = {"lbu": 8, "lhu": 16, "lwu": 32}.get(name, 0)
        if small:
            yield ("sign", "zero_extended", small, "none")
        if unsigned:
            yield ("sign", "sign_extended", unsigned, "none")
        boolean = form == "FCMP" or name.startswith(("slt", "sc.", "fclass"))
        if not boolean and not small and not unsigned and name != "fcvt.lu.h":  # at most 65504, or all ones
            yield ("width", "sign_extended", 32, "none")
    reads_narrow = (
        re.search(r"\.[hs]$", name) is not None and not name.startswith("fmv") or re.match(r"^f[a-z0-9]+\.[hs]$", name) is not None
    )
    if reads_narrow and form.startswith(("F2", "F3", "F1", "FCMP", "F_TO_X")) and not name.startswith("fmv"):
        yield ("boxing", "boxing_ignored", 0, {"h": "bits16", "s": "bits32"}[name[-1]])
    writes_narrow = form.startswith(("F2", "F3", "F1", "X_TO_F")) or name in ("flw", "flh")
    if writes_narrow and float_target(row) in ("bits16", "bits32"):
        yield ("boxing", "unboxed", 0, float_target(row))


# (pattern of rows, kind, pattern of the sibling, reason): faults that are no faults
EQUIVALENT: tuple[tuple[str, str, str, str], ...] = (
    (r"^v(l|s)(ux|ox)", "decode_as", r"^v(l|s)(ux|ox)", "ordered and unordered indexed accesses do the same in memory without devices"),
)


def equivalent(fault: Fault) -> str | None:
    """Why no program can tell the fault from the truth, or None."""
    for rows, kind, other, reason in EQUIVALENT:
        if fault.kind == kind and re.match(rows, fault.name) and re.match(other, fault.sibling):
            a, b = (re.sub("ux|ox", "", name, count=1) for name in (fault.name, fault.sibling))
            if a == b:
                return reason
    return None


def row_of(fault: Fault) -> Row:
    """The row at fault."""
    return BY_NAME[fault.name]
