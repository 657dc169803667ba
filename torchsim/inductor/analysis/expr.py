"""Index expressions as small integer trees, and their exact evaluation to affine form over a domain.

Floor division and modulo over axes become affine when the axes are split at the right places; ``Cut`` asks for such a split.
Every rule is guarded by divisibility and range, so a result is exact or there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import sympy

Kind = Literal["const", "var", "add", "mul", "div", "mod", "min", "max"]


class NonAffine(Exception):
    """The expression has no exact affine form over any refinement this module knows; the message is the expression."""


class Cut(Exception):
    """The expression becomes affine when ``axis`` is split so that its inner part has ``inner`` positions."""

    def __init__(self, axis: int, inner: int) -> None:
        self.axis = axis
        self.inner = inner
        super().__init__(f"split axis {axis} at {inner}")


@dataclass(frozen=True, slots=True)
class Expr:
    """``const``: ``value``. ``var``: loop variable ``value``. ``div``, ``mod``: one child, positive divisor ``value``. Others: children."""

    kind: Kind
    value: int = 0
    children: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Affine:
    """``offset + sum(terms[axis] * position)``; no zero coefficients."""

    offset: int = 0
    terms: Mapping[int, int] = field(default_factory=dict[int, int])

    def scaled(self, factor: int) -> Affine:
        """This times an integer."""
        return Affine(self.offset * factor, {axis: c * factor for axis, c in self.terms.items()} if factor else {})

    def plus(self, other: Affine) -> Affine:
        """Sum."""
        terms = dict(self.terms)
        for axis, c in other.terms.items():
            terms[axis] = terms.get(axis, 0) + c
        return Affine(self.offset + other.offset, {axis: c for axis, c in terms.items() if c})

    def bounds(self, extents: Mapping[int, int]) -> tuple[int, int]:
        """Smallest and largest value over the domain."""
        low = self.offset + sum(min(0, c * (extents[axis] - 1)) for axis, c in self.terms.items())
        high = self.offset + sum(max(0, c * (extents[axis] - 1)) for axis, c in self.terms.items())
        return low, high


def from_sympy(expression: sympy.Basic | int, variable: Callable[[sympy.Symbol], int]) -> Expr:
    """Convert a sympy index.

    Args:
        expression: built from integers, loop variables, +, *, FloorDiv, ModularIndexing, Mod, Min, Max, Identity.
        variable: number of a loop variable; raises for symbols that are none.

    Raises:
        NonAffine: any other function.
    """
    if isinstance(expression, int):
        return Expr("const", expression)
    if isinstance(expression, sympy.Integer):
        return Expr("const", int(expression))
    if isinstance(expression, sympy.Symbol):
        return Expr("var", variable(expression))
    name = type(expression).__name__
    if name not in _CONVERTED:
        raise NonAffine(f"{expression}")
    arguments = [from_sympy(argument, variable) for argument in expression.args]
    if name == "Identity":
        return arguments[0]
    if name == "Pow":
        base, exponent = arguments
        if exponent.kind != "const" or not 1 <= exponent.value <= 4:
            raise NonAffine(f"{expression}")
        return Expr("mul", 0, (base,) * exponent.value)
    if name in ("FloorDiv", "CleanDiv", "ModularIndexing", "Mod", "PythonMod"):
        divisors = arguments[1:]
        if any(divisor.kind != "const" or divisor.value <= 0 for divisor in divisors):
            raise NonAffine(f"{expression}")
        result = arguments[0]
        if name in ("FloorDiv", "CleanDiv", "ModularIndexing"):
            result = Expr("div", divisors[0].value, (result,)) if divisors[0].value != 1 else result
        return result if name in ("FloorDiv", "CleanDiv") else Expr("mod", divisors[-1].value, (result,))
    kind: Kind = {"Add": "add", "Mul": "mul", "Min": "min", "Max": "max"}[name]  # pyright: ignore[reportAssignmentType]
    return Expr(kind, 0, tuple(arguments))


_CONVERTED = ("Add", "Mul", "Min", "Max", "Identity", "Pow", "FloorDiv", "CleanDiv", "ModularIndexing", "Mod", "PythonMod")


def evaluate(expression: Expr, variables: Sequence[Affine], extents: Mapping[int, int]) -> Affine:
    """Affine form over the domain.

    Args:
        expression: over loop variables.
        variables: each loop variable as an affine form of the domain axes.
        extents: extent by axis.

    Raises:
        Cut: split an axis and try again.
        NonAffine: no exact form.
    """
    kind = expression.kind
    if kind == "const":
        return Affine(expression.value)
    if kind == "var":
        return variables[expression.value]
    parts = [evaluate(child, variables, extents) for child in expression.children]
    if kind == "add":
        total = parts[0]
        for part in parts[1:]:
            total = total.plus(part)
        return total
    if kind == "mul":
        product = parts[0]
        for part in parts[1:]:
            if part.terms and product.terms:
                raise NonAffine(f"product of two index expressions {product} * {part}")
            product = product.scaled(part.offset) if not part.terms else part.scaled(product.offset)
        return product
    if kind == "div":
        return _floor_divide(parts[0], expression.value, extents)
    if kind == "mod":
        return _modulo(parts[0], expression.value, extents)
    return _extreme(kind, parts, extents)


def _floor_divide(value: Affine, divisor: int, extents: Mapping[int, int]) -> Affine:
    whole = {axis: c // divisor for axis, c in value.terms.items() if c % divisor == 0}
    rest = Affine(value.offset % divisor, {axis: c for axis, c in value.terms.items() if c % divisor})
    low, high = rest.bounds(extents)
    if low // divisor == high // divisor:
        return Affine(value.offset // divisor + low // divisor, whole)
    raise _cut_or_fail(rest, divisor, extents, f"floor(({value}) / {divisor})")


def _modulo(value: Affine, modulus: int, extents: Mapping[int, int]) -> Affine:
    terms = {axis: c if abs(c) < modulus else (c % modulus) for axis, c in value.terms.items() if c % modulus}
    rest = Affine(value.offset % modulus, terms)
    low, high = rest.bounds(extents)
    if low // modulus == high // modulus:
        return Affine(rest.offset - modulus * (low // modulus), terms)
    raise _cut_or_fail(rest, modulus, extents, f"({value}) mod {modulus}")


def _cut_or_fail(rest: Affine, modulus: int, extents: Mapping[int, int], text: str) -> Exception:
    """The axis split that removes a whole multiple of the modulus from ``rest``; else NonAffine."""
    for axis, c in rest.terms.items():
        step = abs(c)
        if modulus % step == 0:
            inner = modulus // step
            if 1 < inner < extents[axis] and extents[axis] % inner == 0:
                return Cut(axis, inner)
    return NonAffine(text)


def _extreme(kind: str, parts: Sequence[Affine], extents: Mapping[int, int]) -> Affine:
    """Min or Max whose winner is the same over the whole domain."""
    for candidate in parts:
        others = [candidate.plus(part.scaled(-1)).bounds(extents) for part in parts]
        if all((high <= 0) if kind == "min" else (low >= 0) for low, high in others):
            return candidate
    raise NonAffine(f"{kind} of {', '.join(map(str, parts))}")
