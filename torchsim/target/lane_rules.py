"""The lane-safety rules (docs/lane-safety.md) and the hazards that break them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from torchsim.target.isa.decoder import Decoded
from torchsim.target.isa.disassembler import text_of


class Rule(Enum):
    """A rule: its name in messages, what it forbids, what to do instead."""

    VECTOR_TO_SCALAR = (
        "vector-to-scalar",
        "moves a lane's value into a scalar register",
        "reduce, splat and store one element with llvm.riscv intrinsics",
    )
    SCALAR_LOAD = (
        "scalar-load",
        "reads memory that differs between lanes into a scalar register",
        "scalar loads may read the stack, constants and the argument block only",
    )
    SCALAR_STORE = ("scalar-store", "writes one value into the memory of all lanes", "scalar stores may write the stack only")
    SPILLED_VECTOR_LOAD = (
        "spilled-vector-load",
        "reads a spilled vector register into a scalar register",
        "no element of a vector may be extracted",
    )
    STACK_TEMPORARY = (
        "stack-temporary",
        "keeps a vector in a stack temporary",
        "no dynamic vector.extract or vector.insert; only whole-register spills go to the stack",
    )
    IMAGE_STORE = ("image-store", "stores a vector to the image, which all lanes share", "buffers are external globals in section .spad")
    FOREIGN_CALL = ("foreign-call", "calls code outside the kernel", "no library calls")
    COMPUTED_JUMP = ("computed-jump", "jumps to an address that cannot be traced", "jump through tables of constants only")
    PER_LANE_LENGTH = ("per-lane-length", "sets vl by the data of one lane", "no fault-only-first loads")
    ATOMIC = ("atomic", "is an atomic memory operation", "no atomics: there is one instruction stream")
    ILLEGAL = ("illegal-instruction", "is not in the instruction table", "see docs/isa.md section 7")

    def __init__(self, title: str, forbids: str, advice: str) -> None:
        self.title = title
        self.forbids = forbids
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Hazard:
    """An instruction that breaks a rule."""

    pc: int
    decoded: Decoded
    rule: Rule

    def __str__(self) -> str:
        return f"{self.pc:#010x}  {text_of(self.decoded, self.pc)}: {self.rule.title}, {self.rule.forbids}"
