"""One loop domain for all nodes of a group, refined until every access is affine.

The domain starts as the loops of one node. Another node's loops are aligned with it in mixed radix: where boundaries differ but
divide, axes are split, so that every loop variable is an affine form of domain axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torchsim.inductor.analysis.body import RawBody
from torchsim.inductor.analysis.expr import Affine, Cut, Expr, NonAffine, evaluate

MAX_ORDERS = 60
"""Loop orders tried for one node."""


class Declined(Exception):
    """Nodes do not share one affine domain; the message is the reason."""


@dataclass(slots=True)
class Placement:
    """A node on the domain: each of its loop variables as an affine form of the axes."""

    raw: RawBody
    variables: list[Affine]
    full: bool


class Domain:
    """Axes by number, outermost first per class; extents of one are not axes."""

    def __init__(self, locked: bool = False) -> None:
        self.extents: dict[int, int] = {}
        self.parallel: list[int] = []
        self.reductions: list[int] = []
        self.placements: list[Placement] = []
        self.locked = locked
        self._next = 0

    def copy(self) -> Domain:
        """Independent copy; placements are copied too."""
        other = Domain(self.locked)
        other.extents, other.parallel, other.reductions = dict(self.extents), list(self.parallel), list(self.reductions)
        other.placements = [Placement(placement.raw, list(placement.variables), placement.full) for placement in self.placements]
        other._next = self._next
        return other

    def add_axis(self, extent: int, reduction: bool) -> int:
        """A new innermost axis of a class."""
        axis = self._next
        self._next += 1
        self.extents[axis] = extent
        (self.reductions if reduction else self.parallel).append(axis)
        return axis

    def split(self, axis: int, inner: int) -> tuple[int, int]:
        """Split an axis into (outer, inner part of ``inner`` positions); all placements follow."""
        if self.locked:
            raise Declined(f"an axis would have to be split at {inner}")
        axes = self.parallel if axis in self.parallel else self.reductions
        outer = self.add_axis(self.extents[axis] // inner, axes is self.reductions)
        low = self.add_axis(inner, axes is self.reductions)
        axes.remove(outer)
        axes.remove(low)
        position = axes.index(axis)
        axes[position : position + 1] = [outer, low]
        for placement in self.placements:
            placement.variables = [_substitute(form, axis, outer, low, inner) for form in placement.variables]
        del self.extents[axis]
        return outer, low

    def numel(self, axes: Sequence[int]) -> int:
        """Positions over some axes."""
        return math.prod(self.extents[axis] for axis in axes)

    def align(self, axes: Sequence[int], sizes: Sequence[int]) -> list[Affine]:
        """Loop variables of extents ``sizes`` over ``axes`` (both outermost first, equal number of positions); splits axes where needed."""
        pending = [axis for axis in axes if self.extents[axis] != 1]
        forms = [Affine() for _ in sizes]
        for number in reversed(range(len(sizes))):
            rest, stride = sizes[number], 1
            while rest > 1:
                if not pending:
                    raise Declined("loops of different length")
                axis = pending.pop()
                extent = self.extents[axis]
                if extent > rest:
                    if extent % rest:
                        raise Declined(f"loop extents {extent} and {rest} do not divide")
                    outer, axis = self.split(axis, rest)
                    # Forms made so far for this node are not placements yet, and their axes are finished: they never hold ``outer``.
                    pending.append(outer)
                    extent = rest
                elif rest % extent:
                    raise Declined(f"loop extents {rest} and {extent} do not divide")
                forms[number] = forms[number].plus(Affine(0, {axis: stride}))
                stride *= extent
                rest //= extent
        if pending:
            raise Declined("loops of different length")
        return forms

    def affine(self, placement: Placement, expression: Expr) -> Affine:
        """An index of a node over the domain, splitting axes where that makes it affine."""
        while True:
            try:
                return evaluate(expression, placement.variables, self.extents)
            except Cut as cut:
                self.split(cut.axis, cut.inner)
            except NonAffine as error:
                raise Declined(f"index is not affine: {error}") from None

    def place(self, raw: RawBody, order: Sequence[int], axes: Sequence[int] | None = None) -> Placement:
        """Add a node with its loop variables in ``order`` (outermost first).

        Args:
            axes: the axes it runs over; None: by its kind and number of positions.
        """
        iterations = [number for number in order if number < raw.iterations]
        reduced = [number for number in order if number >= raw.iterations]
        variables = [Affine()] * len(raw.sizes)
        positions = math.prod(raw.sizes[number] for number in iterations)
        if axes is None:
            full = raw.reduction is not None or (bool(self.reductions) and positions != self.numel(self.parallel))
            axes = self.parallel if raw.reduction is not None or not full else [*self.parallel, *self.reductions]
        else:
            full = False
        placement = Placement(raw, variables, full)
        self.placements.append(placement)  # before aligning, so that splits reach the variables that are done
        for part, over in ((iterations, axes), (reduced, self.reductions if raw.reduction is not None else ())):
            for number, form in zip(part, self.align(over, [raw.sizes[number] for number in part])):
                placement.variables[number] = form
        return placement


def start(raw: RawBody) -> Domain:
    """The domain of one node: its own loops."""
    domain = Domain()
    variables: list[Affine] = []
    for number, extent in enumerate(raw.sizes):
        variables.append(Affine() if extent == 1 else Affine(0, {domain.add_axis(extent, number >= raw.iterations): 1}))
    domain.placements.append(Placement(raw, variables, raw.reduction is not None))
    return domain


def orders(raw: RawBody) -> Iterator[tuple[int, ...]]:
    """Loop orders of a node, its own first; loops of one position never move."""
    iterations = [number for number in range(raw.iterations) if raw.sizes[number] != 1]
    reduced = [number for number in range(raw.iterations, len(raw.sizes)) if raw.sizes[number] != 1]
    candidates = itertools.product(itertools.permutations(iterations), itertools.permutations(reduced))
    for first, second in itertools.islice(candidates, MAX_ORDERS):
        yield (*first, *second)


def _substitute(form: Affine, axis: int, outer: int, low: int, inner: int) -> Affine:
    if axis not in form.terms:
        return form
    terms = dict(form.terms)
    c = terms.pop(axis)
    terms[outer], terms[low] = c * inner, c
    return replace(form, terms=terms)
