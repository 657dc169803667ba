"""Vector configuration, arithmetic, reductions, masks and permutations (RVV 1.0, chapters 6 and 11 to 16)."""

from __future__ import annotations

from .row import Cost, Row

_OPCODE = 0x57
# funct3 of each operand category
_IVV, _FVV, _MVV, _IVI, _IVX, _FVF, _MVX, _CFG = range(8)

_ALU, _MUL, _DIV, _RED = Cost.VECTOR_ALU, Cost.VECTOR_MUL, Cost.VECTOR_DIV, Cost.VECTOR_REDUCE
_PERM, _MASK, _TO_X = Cost.VECTOR_PERMUTE, Cost.VECTOR_MASK, Cost.VECTOR_TO_SCALAR

# One line: name, funct6, forms, cost class, section. Forms: v vector, x scalar, f float scalar, i signed and
# u unsigned immediate.
_Entry = tuple[str, int, str, Cost, str]

_OPI: list[_Entry] = [
    ("vadd", 0, "vxi", _ALU, "11.1"),
    ("vsub", 2, "vx", _ALU, "11.1"),
    ("vrsub", 3, "xi", _ALU, "11.1"),
    ("vminu", 4, "vx", _ALU, "11.9"),
    ("vmin", 5, "vx", _ALU, "11.9"),
    ("vmaxu", 6, "vx", _ALU, "11.9"),
    ("vmax", 7, "vx", _ALU, "11.9"),
    ("vand", 9, "vxi", _ALU, "11.5"),
    ("vor", 10, "vxi", _ALU, "11.5"),
    ("vxor", 11, "vxi", _ALU, "11.5"),
    ("vrgather", 12, "vxu", _PERM, "16.4"),
    ("vrgatherei16", 14, "v", _PERM, "16.4"),
    ("vslideup", 14, "xu", _PERM, "16.3"),
    ("vslidedown", 15, "xu", _PERM, "16.3"),
    ("vmseq", 24, "vxi", _ALU, "11.8"),
    ("vmsne", 25, "vxi", _ALU, "11.8"),
    ("vmsltu", 26, "vx", _ALU, "11.8"),
    ("vmslt", 27, "vx", _ALU, "11.8"),
    ("vmsleu", 28, "vxi", _ALU, "11.8"),
    ("vmsle", 29, "vxi", _ALU, "11.8"),
    ("vmsgtu", 30, "xi", _ALU, "11.8"),
    ("vmsgt", 31, "xi", _ALU, "11.8"),
    ("vsaddu", 32, "vxi", _ALU, "12.1"),
    ("vsadd", 33, "vxi", _ALU, "12.1"),
    ("vssubu", 34, "vx", _ALU, "12.1"),
    ("vssub", 35, "vx", _ALU, "12.1"),
    ("vsll", 37, "vxu", _ALU, "11.6"),
    ("vsmul", 39, "vx", _MUL, "12.3"),
    ("vsrl", 40, "vxu", _ALU, "11.6"),
    ("vsra", 41, "vxu", _ALU, "11.6"),
    ("vssrl", 42, "vxu", _ALU, "12.4"),
    ("vssra", 43, "vxu", _ALU, "12.4"),
]
_OPI_NARROW: list[_Entry] = [
    ("vnsrl", 44, "vxu", _ALU, "11.7"),
    ("vnsra", 45, "vxu", _ALU, "11.7"),
    ("vnclipu", 46, "vxu", _ALU, "12.5"),
    ("vnclip", 47, "vxu", _ALU, "12.5"),
]
# carry forms: name, funct6, forms that read v0, forms that do not
_CARRY = [("vadc", 16, "vxi", ""), ("vmadc", 17, "vxi", "vxi"), ("vsbc", 18, "vx", ""), ("vmsbc", 19, "vx", "vx")]

_OPM: list[_Entry] = [
    ("vaaddu", 8, "vx", _ALU, "12.2"),
    ("vaadd", 9, "vx", _ALU, "12.2"),
    ("vasubu", 10, "vx", _ALU, "12.2"),
    ("vasub", 11, "vx", _ALU, "12.2"),
    ("vslide1up", 14, "x", _PERM, "16.3"),
    ("vslide1down", 15, "x", _PERM, "16.3"),
    ("vdivu", 32, "vx", _DIV, "11.11"),
    ("vdiv", 33, "vx", _DIV, "11.11"),
    ("vremu", 34, "vx", _DIV, "11.11"),
    ("vrem", 35, "vx", _DIV, "11.11"),
    ("vmulhu", 36, "vx", _MUL, "11.10"),
    ("vmul", 37, "vx", _MUL, "11.10"),
    ("vmulhsu", 38, "vx", _MUL, "11.10"),
    ("vmulh", 39, "vx", _MUL, "11.10"),
    ("vwaddu", 48, "vx", _ALU, "11.2"),
    ("vwadd", 49, "vx", _ALU, "11.2"),
    ("vwsubu", 50, "vx", _ALU, "11.2"),
    ("vwsub", 51, "vx", _ALU, "11.2"),
    ("vwmulu", 56, "vx", _MUL, "11.12"),
    ("vwmulsu", 58, "vx", _MUL, "11.12"),
    ("vwmul", 59, "vx", _MUL, "11.12"),
]
_OPM_WIDE: list[_Entry] = [
    ("vwaddu", 52, "vx", _ALU, "11.2"),
    ("vwadd", 53, "vx", _ALU, "11.2"),
    ("vwsubu", 54, "vx", _ALU, "11.2"),
    ("vwsub", 55, "vx", _ALU, "11.2"),
]
_OPM_ACC: list[_Entry] = [
    ("vmadd", 41, "vx", _MUL, "11.13"),
    ("vnmsub", 43, "vx", _MUL, "11.13"),
    ("vmacc", 45, "vx", _MUL, "11.13"),
    ("vnmsac", 47, "vx", _MUL, "11.13"),
    ("vwmaccu", 60, "vx", _MUL, "11.14"),
    ("vwmacc", 61, "vx", _MUL, "11.14"),
    ("vwmaccus", 62, "x", _MUL, "11.14"),
    ("vwmaccsu", 63, "vx", _MUL, "11.14"),
]
_OPF: list[_Entry] = [
    ("vfadd", 0, "vf", _ALU, "13.2"),
    ("vfsub", 2, "vf", _ALU, "13.2"),
    ("vfmin", 4, "vf", _ALU, "13.11"),
    ("vfmax", 6, "vf", _ALU, "13.11"),
    ("vfsgnj", 8, "vf", _ALU, "13.12"),
    ("vfsgnjn", 9, "vf", _ALU, "13.12"),
    ("vfsgnjx", 10, "vf", _ALU, "13.12"),
    ("vfslide1up", 14, "f", _PERM, "16.3"),
    ("vfslide1down", 15, "f", _PERM, "16.3"),
    ("vmfeq", 24, "vf", _ALU, "13.13"),
    ("vmfle", 25, "vf", _ALU, "13.13"),
    ("vmflt", 27, "vf", _ALU, "13.13"),
    ("vmfne", 28, "vf", _ALU, "13.13"),
    ("vmfgt", 29, "f", _ALU, "13.13"),
    ("vmfge", 31, "f", _ALU, "13.13"),
    ("vfdiv", 32, "vf", _DIV, "13.4"),
    ("vfrdiv", 33, "f", _DIV, "13.4"),
    ("vfmul", 36, "vf", _MUL, "13.4"),
    ("vfrsub", 39, "f", _ALU, "13.2"),
    ("vfwadd", 48, "vf", _ALU, "13.3"),
    ("vfwsub", 50, "vf", _ALU, "13.3"),
    ("vfwmul", 56, "vf", _MUL, "13.5"),
]
_OPF_WIDE: list[_Entry] = [("vfwadd", 52, "vf", _ALU, "13.3"), ("vfwsub", 54, "vf", _ALU, "13.3")]
_OPF_ACC: list[_Entry] = [
    *(
        (name, 40 + code, "vf", _MUL, "13.6")
        for code, name in enumerate("vfmadd vfnmadd vfmsub vfnmsub vfmacc vfnmacc vfmsac vfnmsac".split())
    ),
    *((name, 60 + code, "vf", _MUL, "13.7") for code, name in enumerate("vfwmacc vfwnmacc vfwmsac vfwnmsac".split())),
]
# reductions: name, funct6, section, by funct3
_REDUCTIONS = {
    _IVV: [("vwredsumu", 48, "14.2"), ("vwredsum", 49, "14.2")],
    _MVV: [(f"vred{name}", code, "14.1") for code, name in enumerate("sum and or xor minu min maxu max".split())],
    _FVV: [
        *((f"vfred{name}", code, "14.3") for code, name in ((1, "usum"), (3, "osum"), (5, "min"), (7, "max"))),
        ("vfwredusum", 49, "14.4"),
        ("vfwredosum", 51, "14.4"),
    ],
}
_MASK_LOGIC = {24: "vmandn", 25: "vmand", 26: "vmor", 27: "vmxor", 28: "vmorn", 29: "vmnand", 30: "vmnor", 31: "vmxnor"}

# the operand in the vs1 place selects the operation: name, funct3, funct6, vs1, format, cost, section
_UNARY: list[tuple[str, int, int, int, str, Cost, str]] = [
    ("vmv.x.s", _MVV, 16, 0, "V_TO_X", _TO_X, "16.1"),
    ("vcpop.m", _MVV, 16, 16, "V_TO_X_MASKED", _TO_X, "15.2"),
    ("vfirst.m", _MVV, 16, 17, "V_TO_X_MASKED", _TO_X, "15.3"),
    ("vfmv.f.s", _FVV, 16, 0, "V_TO_F", _TO_X, "16.2"),
    *(
        (f"v{sign}ext.vf{factor}", _MVV, 18, code + (sign == "s"), "V1", _ALU, "11.3")
        for factor, code in ((8, 2), (4, 4), (2, 6))
        for sign in "zs"
    ),
    ("vmsbf.m", _MVV, 20, 1, "V1", _MASK, "15.4"),
    ("vmsof.m", _MVV, 20, 2, "V1", _MASK, "15.6"),
    ("vmsif.m", _MVV, 20, 3, "V1", _MASK, "15.5"),
    ("viota.m", _MVV, 20, 16, "V1", _MASK, "15.8"),
    ("vid.v", _MVV, 20, 17, "VID", _ALU, "15.9"),
    *(
        (f"vfcvt.{kind}.v", _FVV, 18, code, "V1", _ALU, "13.17")
        for code, kind in ((0, "xu.f"), (1, "x.f"), (2, "f.xu"), (3, "f.x"), (6, "rtz.xu.f"), (7, "rtz.x.f"))
    ),
    *(
        (f"vfwcvt.{kind}.v", _FVV, 18, 8 + code, "V1", _ALU, "13.18")
        for code, kind in enumerate("xu.f x.f f.xu f.x f.f - rtz.xu.f rtz.x.f".split())
        if kind != "-"
    ),
    *(
        (f"vfncvt.{kind}.w", _FVV, 18, 16 + code, "V1", _ALU, "13.19")
        for code, kind in enumerate("xu.f x.f f.xu f.x f.f rod.f.f rtz.xu.f rtz.x.f".split())
    ),
    ("vfsqrt.v", _FVV, 19, 0, "V1", _DIV, "13.8"),
    ("vfrsqrt7.v", _FVV, 19, 4, "V1", _ALU, "13.9"),
    ("vfrec7.v", _FVV, 19, 5, "V1", _ALU, "13.10"),
    ("vfclass.v", _FVV, 19, 16, "V1", _ALU, "13.14"),
]
# no mask bit: name, funct3, funct6, vm bit, vs2 and vs1 where fixed, format, cost, section
_FIXED: list[tuple[str, int, int, int, int, int, str, Cost, str]] = [
    ("vmerge.vvm", _IVV, 23, 0, 0, 0, "VVM", _ALU, "11.15"),
    ("vmerge.vxm", _IVX, 23, 0, 0, 0, "VXM", _ALU, "11.15"),
    ("vmerge.vim", _IVI, 23, 0, 0, 0, "VIM", _ALU, "11.15"),
    ("vfmerge.vfm", _FVF, 23, 0, 0, 0, "VFM", _ALU, "13.15"),
    ("vmv.v.v", _IVV, 23, 1, 0, 0, "MV_V", _ALU, "11.16"),
    ("vmv.v.x", _IVX, 23, 1, 0, 0, "MV_X", _ALU, "11.16"),
    ("vmv.v.i", _IVI, 23, 1, 0, 0, "MV_I", _ALU, "11.16"),
    ("vfmv.v.f", _FVF, 23, 1, 0, 0, "MV_F", _ALU, "13.16"),
    ("vmv.s.x", _MVX, 16, 1, 0, 0, "MV_X", _ALU, "16.1"),
    ("vfmv.s.f", _FVF, 16, 1, 0, 0, "MV_F", _ALU, "16.2"),
    ("vcompress.vm", _MVV, 23, 1, 0, 0, "VVN", _PERM, "16.5"),
    *((f"vmv{count}r.v", _IVI, 39, 1, 0, count - 1, "V1N", _ALU, "16.6") for count in (1, 2, 4, 8)),
    *((f"{name}.mm", _MVV, code, 1, 0, 0, "VVN", _MASK, "15.1") for code, name in _MASK_LOGIC.items()),
]


def _word(f3: int, f6: int, vm: int = 0, vs2: int = 0, vs1: int = 0) -> int:
    return _OPCODE | f3 << 12 | f6 << 26 | vm << 25 | vs2 << 20 | vs1 << 15


def _forms(entries: list[_Entry], f3_of: dict[str, int], prefix: str = "v", suffix: str = "") -> list[Row]:
    # prefix "w": the first source is twice as wide (.wv, .wx, .wi)
    rows: list[Row] = []
    for name, f6, forms, cost, section in entries:
        for form in forms:
            letter = "i" if form == "u" else form
            format_name = f"V{form.upper()}{suffix}"
            rows.append(Row(f"{name}.{prefix}{letter}", _word(f3_of[form], f6), format_name, "V", cost, f"RVV 1.0, {section}"))
    return rows


def _build() -> list[Row]:
    integer = {"v": _IVV, "x": _IVX, "i": _IVI, "u": _IVI}
    multiply = {"v": _MVV, "x": _MVX}
    floating = {"v": _FVV, "f": _FVF}
    rows = [
        Row("vsetvli", _word(_CFG, 0), "VSETVLI", "V", Cost.VECTOR_CONFIG, "RVV 1.0, 6.1"),
        Row("vsetivli", 0xC000_0000 | _word(_CFG, 0), "VSETIVLI", "V", Cost.VECTOR_CONFIG, "RVV 1.0, 6.1"),
        Row("vsetvl", 0x8000_0000 | _word(_CFG, 0), "R", "V", Cost.VECTOR_CONFIG, "RVV 1.0, 6.1"),
        *_forms(_OPI, integer),
        *_forms(_OPI_NARROW, integer, prefix="w"),
    ]
    for name, f6, with_mask, without in _CARRY:
        rows += [
            Row(f"{name}.v{form}m", _word(integer[form], f6, 0), f"V{form.upper()}M", "V", _ALU, "RVV 1.0, 11.4") for form in with_mask
        ]
        rows += [Row(f"{name}.v{form}", _word(integer[form], f6, 1), f"V{form.upper()}N", "V", _ALU, "RVV 1.0, 11.4") for form in without]
    rows += _forms(_OPM, multiply) + _forms(_OPM_WIDE, multiply, prefix="w") + _forms(_OPM_ACC, multiply, suffix="_ACC")
    rows += _forms(_OPF, floating) + _forms(_OPF_WIDE, floating, prefix="w") + _forms(_OPF_ACC, floating, suffix="_ACC")
    for f3, entries in _REDUCTIONS.items():
        rows += [Row(f"{name}.vs", _word(f3, f6), "VV", "V", _RED, f"RVV 1.0, {section}") for name, f6, section in entries]
    for name, f3, f6, vs1, format_name, cost, section in _UNARY:
        vm = 1 if format_name in ("V_TO_X", "V_TO_F") else 0
        rows.append(Row(name, _word(f3, f6, vm, 0, vs1), format_name, "V", cost, f"RVV 1.0, {section}"))
    rows += [
        Row(name, _word(f3, f6, vm, vs2, vs1), format_name, "V", cost, f"RVV 1.0, {section}")
        for name, f3, f6, vm, vs2, vs1, format_name, cost, section in _FIXED
    ]
    return rows


ROWS: list[Row] = _build()
