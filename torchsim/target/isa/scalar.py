"""Scalar instructions: RV64I, M, A, F, D, Zfh, Zicsr, Zifencei."""

from __future__ import annotations

from .row import Cost, Row

_LOAD, _STORE, _IMM, _IMM32, _OP, _OP32 = 0x03, 0x23, 0x13, 0x1B, 0x33, 0x3B
_AMO, _FP, _SYSTEM = 0x2F, 0x53, 0x73
_ALU = Cost.SCALAR_ALU


def _row(
    name: str,
    format_name: str,
    opcode: int,
    f3: int = 0,
    f7: int = 0,
    rs2: int = 0,
    *,
    extension: str = "I",
    cost: Cost = _ALU,
    semantics: str = "",
) -> Row:
    match = opcode | f3 << 12 | f7 << 25 | rs2 << 20
    return Row(name, match, format_name, extension, cost, semantics or f"RISC-V unprivileged ISA, {extension}")


def _numbered(names: str, format_name: str, opcode: int, **options: object) -> list[Row]:
    # one name per funct3; "-" is a hole
    cost = options.get("cost", _ALU)
    assert isinstance(cost, Cost)
    return [_row(name, format_name, opcode, f3, cost=cost) for f3, name in enumerate(names.split()) if name != "-"]


def _integer() -> list[Row]:
    rows = [
        _row("lui", "U", 0x37),
        _row("auipc", "U", 0x17),
        _row("jal", "JAL", 0x6F, cost=Cost.JUMP),
        _row("jalr", "JALR", 0x67, cost=Cost.JUMP),
        *_numbered("beq bne - - blt bge bltu bgeu", "BRANCH", 0x63, cost=Cost.BRANCH),
        *_numbered("lb lh lw ld lbu lhu lwu", "LOAD", _LOAD, cost=Cost.SCALAR_LOAD),
        *_numbered("sb sh sw sd", "STORE", _STORE, cost=Cost.SCALAR_STORE),
        *_numbered("addi - slti sltiu xori - ori andi", "I", _IMM),
        _row("slli", "SHIFT64", _IMM, 1),
        _row("srli", "SHIFT64", _IMM, 5),
        _row("srai", "SHIFT64", _IMM, 5, 0x20),
        _row("addiw", "I", _IMM32),
        _row("slliw", "SHIFT32", _IMM32, 1),
        _row("srliw", "SHIFT32", _IMM32, 5),
        _row("sraiw", "SHIFT32", _IMM32, 5, 0x20),
        *_numbered("add sll slt sltu xor srl or and", "R", _OP),
        _row("sub", "R", _OP, 0, 0x20),
        _row("sra", "R", _OP, 5, 0x20),
        _row("addw", "R", _OP32, 0),
        _row("subw", "R", _OP32, 0, 0x20),
        _row("sllw", "R", _OP32, 1),
        _row("srlw", "R", _OP32, 5),
        _row("sraw", "R", _OP32, 5, 0x20),
        _row("fence", "FENCE", 0x0F, 0, cost=Cost.FENCE),
        _row("fence.i", "FENCE_I", 0x0F, 1, extension="Zifencei", cost=Cost.FENCE),
        _row("ecall", "NONE", _SYSTEM, cost=Cost.SYSTEM),
        _row("ebreak", "NONE", _SYSTEM, rs2=1, cost=Cost.SYSTEM),
    ]
    for f3, name in enumerate(("csrrw", "csrrs", "csrrc"), start=1):
        rows.append(_row(name, "CSR", _SYSTEM, f3, extension="Zicsr", cost=Cost.CSR))
        rows.append(_row(name + "i", "CSRI", _SYSTEM, f3 + 4, extension="Zicsr", cost=Cost.CSR))
    return rows


def _multiply() -> list[Row]:
    rows: list[Row] = []
    for f3, name in enumerate("mul mulh mulhsu mulhu div divu rem remu".split()):
        cost = Cost.SCALAR_MUL if f3 < 4 else Cost.SCALAR_DIV
        rows.append(_row(name, "R", _OP, f3, 1, extension="M", cost=cost))
        if name in ("mul", "div", "divu", "rem", "remu"):
            rows.append(_row(name + "w", "R", _OP32, f3, 1, extension="M", cost=cost))
    return rows


def _atomic() -> list[Row]:
    names = {
        2: "lr",
        3: "sc",
        1: "amoswap",
        0: "amoadd",
        4: "amoxor",
        12: "amoand",
        8: "amoor",
        16: "amomin",
        20: "amomax",
        24: "amominu",
        28: "amomaxu",
    }
    return [
        _row(f"{name}.{suffix}", "LR" if name == "lr" else "AMO", _AMO, f3, f5 << 2, extension="A", cost=Cost.ATOMIC)
        for f5, name in names.items()
        for f3, suffix in ((2, "w"), (3, "d"))
    ]


# extension, fmt field of funct7, letter, funct3 of load and store
_FLOATS = (("F", 0, "s", 2), ("D", 1, "d", 3), ("Zfh", 2, "h", 1))


def _float_rows(extension: str, fmt: int, letter: str, width: int) -> list[Row]:
    def row(name: str, format_name: str, opcode: int, f3: int = 0, f5: int = 0, rs2: int = 0, cost: Cost = Cost.SCALAR_FP) -> Row:
        return _row(
            name.replace("*", letter),
            format_name,
            opcode,
            f3,
            f5 << 2 | fmt if opcode not in (0x07, 0x27) else 0,
            rs2,
            extension=extension,
            cost=cost,
        )

    load_name = {"s": "w", "d": "d", "h": "h"}[letter]
    rows = [
        row(f"fl{load_name}", "FLOAD", 0x07, width, cost=Cost.SCALAR_LOAD),
        row(f"fs{load_name}", "FSTORE", 0x27, width, cost=Cost.SCALAR_STORE),
        *(
            row(name, "F3_RM", opcode, cost=Cost.SCALAR_FP_FMA)
            for name, opcode in (("fmadd.*", 0x43), ("fmsub.*", 0x47), ("fnmsub.*", 0x4B), ("fnmadd.*", 0x4F))
        ),
        row("fadd.*", "F2_RM", _FP, f5=0),
        row("fsub.*", "F2_RM", _FP, f5=1),
        row("fmul.*", "F2_RM", _FP, f5=2, cost=Cost.SCALAR_FP_FMA),
        row("fdiv.*", "F2_RM", _FP, f5=3, cost=Cost.SCALAR_FP_DIV),
        row("fsqrt.*", "F1_RM", _FP, f5=11, cost=Cost.SCALAR_FP_DIV),
        *(row(name, "F2", _FP, f3, 4) for f3, name in enumerate(("fsgnj.*", "fsgnjn.*", "fsgnjx.*"))),
        *(row(name, "F2", _FP, f3, 5) for f3, name in enumerate(("fmin.*", "fmax.*"))),
        *(row(name, "FCMP", _FP, f3, 20) for f3, name in enumerate(("fle.*", "flt.*", "feq.*"))),
        row("fclass.*", "F_TO_X", _FP, 1, 28),
        row(f"fmv.x.{load_name}", "F_TO_X", _FP, 0, 28),
        row(f"fmv.{load_name}.x", "X_TO_F", _FP, 0, 30),
    ]
    for code, kind in enumerate(("w", "wu", "l", "lu")):
        exact = letter == "d" and code < 2
        rows.append(row(f"fcvt.{kind}.*", "F_TO_X_RM", _FP, 0, 24, code))
        rows.append(row(f"fcvt.*.{kind}", "X_TO_F_EXACT" if exact else "X_TO_F_RM", _FP, 0, 26, code))
    return rows


def _float_conversions() -> list[Row]:
    rows: list[Row] = []
    order = {"h": 0, "s": 1, "d": 2}
    for extension, fmt, letter, _ in _FLOATS:
        for other_extension, other_fmt, other, _ in _FLOATS:
            if other == letter:
                continue
            exact = order[letter] > order[other]
            owner = "Zfh" if "Zfh" in (extension, other_extension) else "D"
            rows.append(
                _row(
                    f"fcvt.{letter}.{other}",
                    "F1_EXACT" if exact else "F1_RM",
                    _FP,
                    0,
                    8 << 2 | fmt,
                    other_fmt,
                    extension=owner,
                    cost=Cost.SCALAR_FP,
                )
            )
    return rows


ROWS: list[Row] = [
    *_integer(),
    *_multiply(),
    *_atomic(),
    *(row for letter in _FLOATS for row in _float_rows(*letter)),
    *_float_conversions(),
]
