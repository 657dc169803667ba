"""Index expressions: whatever affine form comes out equals the expression at every position."""

from __future__ import annotations

import itertools
import math

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from torchsim.inductor.analysis.body import RawBody
from torchsim.inductor.analysis.domain import Declined, Domain, start
from torchsim.inductor.analysis.expr import Affine, Expr, NonAffine, from_sympy
from torchsim.inductor.analysis.merge import merge_axes


def body(sizes: tuple[int, ...], store: Expr | None = None) -> RawBody:
    return RawBody("buf", "buf", sizes, len(sizes), (), 0, None, None, store or Expr("const", 0), ())  # pyright: ignore[reportArgumentType]


def value(expression: Expr, variables: tuple[int, ...]) -> int:
    """The expression at one position, by definition."""
    if expression.kind == "const":
        return expression.value
    if expression.kind == "var":
        return variables[expression.value]
    parts = [value(child, variables) for child in expression.children]
    if expression.kind == "div":
        return parts[0] // expression.value
    if expression.kind == "mod":
        return parts[0] % expression.value
    return {"add": sum, "mul": math.prod, "min": min, "max": max}[expression.kind](parts)


def positions(domain: Domain) -> list[dict[int, int]]:
    axes = list(domain.extents)
    return [dict(zip(axes, point)) for point in itertools.product(*(range(domain.extents[axis]) for axis in axes))]


def at(form: Affine, point: dict[int, int]) -> int:
    return form.offset + sum(c * point[axis] for axis, c in form.terms.items())


@st.composite
def nested(draw: st.DrawFn) -> tuple[tuple[int, ...], Expr]:
    sizes = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 4, 6, 12)), min_size=1, max_size=2)))
    leaves = st.one_of(
        st.builds(Expr, st.just("const"), st.integers(-5, 12)), st.builds(Expr, st.just("var"), st.integers(0, len(sizes) - 1))
    )
    steps = st.sampled_from((1, 2, 3, 4, 6, 8, 12, 24))

    def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pair = st.tuples(inner, inner)
        scaled = st.builds(lambda c, e: Expr("mul", 0, (Expr("const", c), e)), st.integers(-4, 12), inner)
        divided = st.builds(lambda kind, divisor, e: Expr(kind, divisor, (e,)), st.sampled_from(("div", "mod")), steps, inner)
        return st.one_of(
            scaled, divided, st.builds(lambda kind, children: Expr(kind, 0, children), st.sampled_from(("add", "add", "min", "max")), pair)
        )

    return sizes, draw(st.recursive(leaves, extend, max_leaves=5))


@pytest.mark.req("C-13")
@given(nested())
@settings(max_examples=100, deadline=None)
def test_affine_form_is_exact(case: tuple[tuple[int, ...], Expr]) -> None:
    sizes, expression = case
    domain = start(body(sizes))
    placement = domain.placements[0]
    try:
        form = domain.affine(placement, expression)
    except Declined:
        return
    seen = set()
    for point in positions(domain):
        variables = tuple(at(variable, point) for variable in placement.variables)
        assert at(form, point) == value(expression, variables)
        seen.add(variables)
    assert seen == set(itertools.product(*map(range, sizes)))  # splitting lost no position


@pytest.mark.req("C-13")
def test_digits_of_one_axis_are_split() -> None:
    """(v // 4) % 3 and v % 4 over v in [0, 24): axes 2, 3, 4."""
    domain = start(body((24,)))
    digit = Expr("mod", 3, (Expr("div", 4, (Expr("var", 0),)),))
    domain.affine(domain.placements[0], digit)
    domain.affine(domain.placements[0], Expr("mod", 4, (Expr("var", 0),)))
    assert [domain.extents[axis] for axis in domain.parallel] == [2, 3, 4]


def test_what_does_not_divide_is_declined() -> None:
    domain = start(body((10,)))
    with pytest.raises(Declined, match="not affine"):
        domain.affine(domain.placements[0], Expr("mod", 4, (Expr("var", 0),)))
    shifted = Expr("mod", 10, (Expr("add", 0, (Expr("var", 0), Expr("const", 3))),))  # roll
    with pytest.raises(Declined, match="not affine"):
        domain.affine(domain.placements[0], shifted)


def test_from_sympy() -> None:
    x, y = sympy.symbols("x y", integer=True, nonnegative=True)
    numbers = {x: 0, y: 1}
    for expression in (3 * x + y + 2, FloorDiv(x + 2 * y, 3), ModularIndexing(x + y, 2, 5), sympy.Min(x, y) * 2, x * 7 - 1):
        converted = from_sympy(expression, numbers.__getitem__)
        for point in itertools.product(range(7), repeat=2):
            assert value(converted, point) == int(expression.subs(dict(zip((x, y), point))))
    with pytest.raises(NonAffine):
        from_sympy(sympy.sin(x), numbers.__getitem__)


@given(st.permutations((2, 3, 4, 5)), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_alignment_of_two_nests(factors: list[int], first: int, second: int) -> None:
    """Two groupings of the same factors into loops visit the same flat positions."""
    mine = tuple(math.prod(part) for part in (factors[:first], factors[first:]) if part)
    theirs = tuple(math.prod(part) for part in (factors[:second], factors[second:]) if part)
    domain = start(body(mine))
    placement = domain.place(body(theirs), range(len(theirs)))

    def flat(sizes: tuple[int, ...], variables: list[Affine], point: dict[int, int]) -> int:
        total = 0
        for size, variable in zip(sizes, variables):
            total = total * size + at(variable, point)
        return total

    for point in positions(domain):
        assert flat(mine, domain.placements[0].variables, point) == flat(theirs, placement.variables, point)


def test_alignment_that_does_not_divide_is_declined() -> None:
    domain = start(body((8, 3)))
    with pytest.raises(Declined, match="divide"):
        domain.place(body((6, 4)), (0, 1))
    with pytest.raises(Declined, match="length"):
        start(body((8, 3))).place(body((4, 3)), (0, 1))


def test_locked_axes_are_never_split() -> None:
    domain = Domain(locked=True)
    domain.add_axis(8, False)
    with pytest.raises(Declined, match="split"):
        domain.place(body((2, 4)), (0, 1))


def test_merging_axes() -> None:
    extents = {0: 2, 1: 3, 2: 4}
    contiguous = Affine(0, {0: 12, 1: 4, 2: 1})
    broadcast = Affine(0, {1: 4, 2: 1})
    transposed = Affine(0, {0: 1, 1: 2, 2: 6})
    assert merge_axes([0, 1, 2], dict(extents), [contiguous]) == [2]
    assert merge_axes([0, 1, 2], dict(extents), [contiguous, broadcast]) == [0, 2]
    assert merge_axes([0, 1, 2], dict(extents), [transposed]) == [0]
    assert merge_axes([0, 1, 2], dict(extents), [contiguous, transposed]) == [0, 1, 2]
