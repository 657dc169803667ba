"""Vector loads and stores (RVV 1.0, chapter 7): unit-stride, strided, indexed, segment, whole-register, mask."""

from __future__ import annotations

from .row import Cost, Row

_LOAD_OPCODE, _STORE_OPCODE = 0x07, 0x27
_WIDTHS = {8: 0, 16: 5, 32: 6, 64: 7}
# lumop / sumop (bits 24:20) of unit-stride accesses
_WHOLE, _MASK, _FAULT_FIRST = 8, 11, 16


def _row(name: str, store: bool, kind: str, width: int, section: str, *, nf: int = 1, mop: int = 0, vm: int = 0, umop: int = 0) -> Row:
    opcode = _STORE_OPCODE if store else _LOAD_OPCODE
    match = opcode | _WIDTHS[width] << 12 | umop << 20 | vm << 25 | mop << 26 | (nf - 1) << 29
    format_name = ("VS_" if store else "VL_") + kind
    return Row(name, match, format_name, "V", Cost.VECTOR_STORE if store else Cost.VECTOR_LOAD, f"RVV 1.0, {section}")


def _element_rows(store: bool, nf: int, width: int) -> list[Row]:
    letter = "s" if store else "l"
    seg = f"seg{nf}" if nf > 1 else ""
    sections = ("7.8.1", "7.8.2", "7.8.3") if nf > 1 else ("7.4", "7.5", "7.6")
    rows = [
        _row(f"v{letter}{seg}e{width}.v", store, "UNIT", width, sections[0], nf=nf),
        _row(f"v{letter}s{seg}e{width}.v", store, "STRIDED", width, sections[1], nf=nf, mop=2),
        _row(f"v{letter}ux{seg}ei{width}.v", store, "INDEXED", width, sections[2], nf=nf, mop=1),
        _row(f"v{letter}ox{seg}ei{width}.v", store, "INDEXED", width, sections[2], nf=nf, mop=3),
    ]
    if not store:
        rows.append(_row(f"vl{seg}e{width}ff.v", False, "FAULT_FIRST", width, "7.8.1" if nf > 1 else "7.7", nf=nf, umop=_FAULT_FIRST))
    return rows


ROWS: list[Row] = [
    *(row for store in (False, True) for nf in range(1, 9) for width in _WIDTHS for row in _element_rows(store, nf, width)),
    _row("vlm.v", False, "MASK", 8, "7.4", vm=1, umop=_MASK),
    _row("vsm.v", True, "MASK", 8, "7.4", vm=1, umop=_MASK),
    *(
        _row(f"vl{count}re{width}.v", False, "WHOLE", width, "7.9", nf=count, vm=1, umop=_WHOLE)
        for count in (1, 2, 4, 8)
        for width in _WIDTHS
    ),
    *(_row(f"vs{count}r.v", True, "WHOLE", 8, "7.9", nf=count, vm=1, umop=_WHOLE) for count in (1, 2, 4, 8)),
]
