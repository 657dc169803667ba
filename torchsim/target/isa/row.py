"""One row of the instruction table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .fields import FORMATS


class Cost(StrEnum):
    """Cost class: the unit that an instruction occupies and the latency figure it takes from the machine config."""

    SCALAR_ALU = "scalar_alu"
    SCALAR_MUL = "scalar_mul"
    SCALAR_DIV = "scalar_div"
    SCALAR_LOAD = "scalar_load"
    SCALAR_STORE = "scalar_store"
    SCALAR_FP = "scalar_fp"
    SCALAR_FP_FMA = "scalar_fp_fma"
    SCALAR_FP_DIV = "scalar_fp_div"
    BRANCH = "branch"
    JUMP = "jump"
    CSR = "csr"
    FENCE = "fence"
    SYSTEM = "system"
    ATOMIC = "atomic"
    VECTOR_CONFIG = "vector_config"
    VECTOR_ALU = "vector_alu"
    VECTOR_MUL = "vector_mul"
    VECTOR_DIV = "vector_div"
    VECTOR_REDUCE = "vector_reduce"
    VECTOR_PERMUTE = "vector_permute"
    VECTOR_MASK = "vector_mask"
    VECTOR_TO_SCALAR = "vector_to_scalar"
    VECTOR_LOAD = "vector_load"
    VECTOR_STORE = "vector_store"
    SPECIAL_FUNCTION = "special_function"
    SA_PUSH = "sa_push"
    SA_COMPUTE = "sa_compute"
    SA_POP = "sa_pop"
    DMA_CONFIG = "dma_config"
    DMA = "dma"
    DMA_WAIT = "dma_wait"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction.

    Attributes:
        name: standard mnemonic (``vfmacc.vf``, ``c.addi``) or ``npu.`` name.
        match: value of the fixed bits; 16 bits long for compressed instructions.
        format: key of ``fields.FORMATS``; every bit that no operand of it covers is fixed.
        extension: ``I M A F D C Zicsr Zifencei Zfh V XSfvcp custom-1``.
        cost: cost class.
        semantics: where the meaning is defined.
        nonzero: operand that must not be zero, or empty; such a word is reserved (compressed only).
        expands: for compressed instructions the base instruction and its operands: a name is an operand of this
            row, an int is a constant.
        assembly: text that replaces ``name operands`` in disassembly, with operands in braces.
    """

    name: str
    match: int
    format: str
    extension: str
    cost: Cost
    semantics: str
    nonzero: str = ""
    expands: tuple[str, Mapping[str, str | int]] | None = field(default=None, hash=False)
    assembly: str = ""

    @property
    def bytes(self) -> int:
        """Length of the instruction: 2 or 4."""
        return 4 if self.match & 3 == 3 else 2

    @property
    def mask(self) -> int:
        """Fixed bits: all that no operand occupies."""
        everything = 0xFFFF_FFFF if self.bytes == 4 else 0xFFFF
        return everything & ~FORMATS[self.format].operand_bits

    @property
    def nonzero_bits(self) -> int:
        """Bits that must not all be zero, or 0."""
        return FORMATS[self.format].fields[self.nonzero].bits if self.nonzero else 0

    @property
    def enumerator(self) -> str:
        """Name in the generated C++ header: ``vfmacc.vf`` is ``VFMACC_VF``."""
        return self.name.upper().replace(".", "_")
