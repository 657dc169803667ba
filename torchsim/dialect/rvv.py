"""RVV building blocks that keep per-lane values in vector registers: intrinsics with an explicit vector length.

LLVM turns some generic vector code (splat of a load, one-element copies, strided reads) into scalar code, which would read lane 0.
The intrinsics here act on scalable types and are opaque to it. A vector of n elements travels in a register type of the next power of
two, because LLVM aborts on scalable inserts and custom instructions of any other width.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchsim._mlir import ir, llvm
from torchsim.dialect.build import constant, integer, single

_VSCALE = 4  # VLEN 256 / 64


def element_bits(element: ir.Type) -> int:
    """Width of an integer or float type."""
    return element.width


def vector(count: int, element: ir.Type) -> ir.VectorType:
    """Fixed vector type."""
    return ir.VectorType.get([count], element)


def scalable(count: int, element: ir.Type) -> ir.VectorType:
    """Scalable type that holds ``count`` elements (at least one per 64 bits of VLEN)."""
    return ir.VectorType.get([max(1, power_of_two(count) // _VSCALE)], element, scalable=[True])


def power_of_two(count: int) -> int:
    """The smallest power of two >= count."""
    return 1 << (count - 1).bit_length()


def poison(of: ir.Type) -> ir.Value:
    """An undefined value."""
    return single("llvm.mlir.poison", of)


def intrinsic(name: str, operands: Sequence[ir.Value], result: ir.Type | None = None) -> ir.Value | None:
    """Call an LLVM intrinsic; LLVM completes the type suffix of its name."""
    operation = llvm.CallIntrinsicOp(result, name, list(operands), [], []).operation
    return operation.results[0] if result is not None else None


def widen(value: ir.Value) -> ir.Value:
    """A fixed vector in a vector of the next power of two; new elements undefined."""
    of = value.type
    count = of.shape[0]
    width = power_of_two(count)
    if width == count:
        return value
    mask = [i if i < count else -1 for i in range(width)]
    return single("vector.shuffle", vector(width, of.element_type), [value, value], {"mask": ir.DenseI64ArrayAttr.get(mask)})


def narrow(value: ir.Value, count: int) -> ir.Value:
    """The first ``count`` elements of a fixed vector."""
    of = value.type
    if of.shape[0] == count:
        return value
    return single("vector.shuffle", vector(count, of.element_type), [value, value], {"mask": ir.DenseI64ArrayAttr.get(list(range(count)))})


def to_scalable(value: ir.Value) -> ir.Value:
    """A fixed vector in its scalable register type (free)."""
    of = value.type
    register = scalable(of.shape[0], of.element_type)
    return single("vector.scalable.insert", register, [widen(value), poison(register)], {"pos": integer(0)})


def from_scalable(register: ir.Value, count: int) -> ir.Value:
    """The first ``count`` elements of a scalable register as a fixed vector (free)."""
    element = register.type.element_type
    fixed = single("vector.scalable.extract", vector(power_of_two(count), element), [register], {"pos": integer(0)})
    return narrow(fixed, count)


def load_strided(pointer: ir.Value, element: ir.Type, stride: ir.Value, count: int) -> ir.Value:
    """``count`` elements that lie ``stride`` bytes apart."""
    register = scalable(count, element)
    loaded = intrinsic("llvm.riscv.vlse", [poison(register), pointer, stride, constant(count)], register)
    assert loaded is not None
    return from_scalable(loaded, count)


def spread_first(value: ir.Value, width: int) -> ir.Value:
    """A vector of ``width`` elements that all equal element 0 of ``value``, lane by lane."""
    register = scalable(width, value.type.element_type)
    whole = single("vector.scalable.insert", register, [widen(value), poison(register)], {"pos": integer(0)})
    spread = intrinsic("llvm.riscv.vrgather.vx", [poison(register), whole, constant(0), constant(width)], register)
    assert spread is not None
    return from_scalable(spread, width)


def store_strided(value: ir.Value, pointer: ir.Value, stride: ir.Value) -> None:
    """Store a fixed vector with its elements ``stride`` bytes apart."""
    intrinsic("llvm.riscv.vsse", [to_scalable(value), pointer, stride, constant(value.type.shape[0])])


def load_counted(pointer: ir.Value, element: ir.Type, count: int) -> ir.Value:
    """``count`` consecutive elements and no byte beyond them; LLVM may widen a plain load whose length is no power of two."""
    register = scalable(count, element)
    loaded = intrinsic("llvm.riscv.vle", [poison(register), pointer, constant(count)], register)
    assert loaded is not None
    return from_scalable(loaded, count)


def load_first(pointer: ir.Value, element: ir.Type, width: int) -> ir.Value:
    """One element into element 0 of a ``width`` vector; the others are undefined."""
    register = scalable(width, element)
    loaded = intrinsic("llvm.riscv.vle", [poison(register), pointer, constant(1)], register)
    assert loaded is not None
    return from_scalable(loaded, width)


def store_first(value: ir.Value, pointer: ir.Value) -> None:
    """Store element 0 of a fixed vector, nothing else."""
    intrinsic("llvm.riscv.vse", [to_scalable(value), pointer, constant(1)])
