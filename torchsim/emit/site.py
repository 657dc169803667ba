"""What an op emitter works on, and how ops of half types are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from torchsim._mlir import ir
from torchsim.dialect.build import compare_floats, compare_integers, single, splat
from torchsim.emit.registers import is_unsigned, register_vector
from torchsim.plan.dtypes import DType


@dataclass(frozen=True, slots=True)
class Site:
    """One op to emit: its argument vectors, the type they are computed in, the type of the result, the vector width.

    ``dtype`` is never bf16, and f16 only for ops that have f16 instructions; ``result`` follows the same rule.
    """

    args: tuple[ir.Value, ...]
    dtype: DType
    result: DType
    width: int

    def constant(self, value: int | float | bool, dtype: DType | None = None) -> ir.Value:
        """Splat in the computed type, or another."""
        return splat(value, register_vector(dtype or self.dtype, self.width))

    def unary(self, name: str) -> ir.Value:
        """``name`` on the first argument, same type."""
        return single(name, self.args[0].type, [self.args[0]])

    def binary(self, for_float: str, for_signed: str, for_unsigned: str = "") -> ir.Value:
        """The operation for this element type on the first two arguments."""
        name = for_float if self.dtype.is_float else for_unsigned if for_unsigned and is_unsigned(self.dtype) else for_signed
        return single(name, self.args[0].type, list(self.args[:2]))

    def compare(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """``lt le gt ge eq ne`` as this element type orders; for floats false on NaN, but ``ne`` true."""
        if self.dtype.is_float:
            return compare_floats("une" if predicate == "ne" else "o" + predicate, a, b)
        if predicate in ("eq", "ne"):
            return compare_integers(predicate, a, b)
        return compare_integers(("u" if is_unsigned(self.dtype) else "s") + predicate, a, b)


def choose(condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """Element-wise: a where the mask holds, else b."""
    return single("arith.select", a.type, [condition, a, b])


class Half(Enum):
    """How an op treats 16-bit floats: bf16 always computes in f32.

    NATIVE: f16 instructions round once; bf16 results are rounded. WIDEN: f16 computes in f32 too and rounds once. EXACT: the result is
    one of the arguments or exactly representable, so nothing is rounded.
    """

    NATIVE = "native"
    WIDEN = "widen"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class OpEmitter:
    """``emit`` builds the op; ``scratch_bits``: widest element that it computes with inside, by type, beyond arguments and result."""

    emit: Callable[[Site], ir.Value]
    half: Half = Half.NATIVE
    scratch_bits: Callable[[DType], int] = lambda dtype: 0
