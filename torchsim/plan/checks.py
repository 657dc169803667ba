"""What the parts of the plan validator share: the failing of a rule, and the scope of every item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchsim.errors import PlanError
from torchsim.plan.model import Affine, Block, ChunkLoop, Item, KernelPlan, TileLoop, Transfer, Wait
from torchsim.plan.override import MAX_EXTENT


@dataclass(frozen=True)
class Scope:
    """An item of the body with the variables of the loops around it: last value by name."""

    item: Item
    variables: dict[str, int]
    position: int


class Checker:
    """One plan under test."""

    def __init__(self, plan: KernelPlan) -> None:
        self.plan = plan
        extents = plan.tile.extents
        self.that(len(extents) == len(plan.axes), "one tile extent per axis", str(len(plan.axes)), str(len(extents)))
        for axis, extent in zip(plan.axes, extents):
            self.that(1 <= extent <= MAX_EXTENT, f"tile extent of axis {axis.name}", f"1..{MAX_EXTENT}", str(extent))
        self.parallel = {axis.name: max(plan.tile_count(index) - 1, 0) for index, axis in enumerate(plan.axes) if not axis.reduction}
        self._position = 0
        self.scopes = list(self._walk(plan.body, {}))

    def that(self, holds: bool, rule: str, expected: str, found: str) -> None:
        """Raise PlanError unless the rule holds."""
        if not holds:
            raise PlanError(
                f"plan {self.plan.name} breaks a rule: {rule}", expected=expected, found=found, where=f"kernel {self.plan.name}"
            )

    def _walk(self, items: Sequence[Item], variables: dict[str, int]) -> Iterator[Scope]:
        for item in items:
            yield Scope(item, variables, self._position)
            if isinstance(item, TileLoop):
                yield from self._walk(item.body, {**variables, self.plan.axes[item.axis].name: max(self.plan.tile_count(item.axis) - 1, 0)})
            elif isinstance(item, ChunkLoop):
                yield from self._walk(item.body, {**variables, item.variable: item.stop - 1})
            else:
                self._position += 1

    def transfers(self) -> list[tuple[Transfer, Scope]]:
        """All transfers with their scopes."""
        return [(scope.item, scope) for scope in self.scopes if isinstance(scope.item, Transfer)]

    def blocks(self) -> list[tuple[Block, Scope]]:
        """All blocks with their scopes."""
        return [(scope.item, scope) for scope in self.scopes if isinstance(scope.item, Block)]

    def waits(self) -> list[tuple[Wait, Scope]]:
        """All waits with their scopes."""
        return [(scope.item, scope) for scope in self.scopes if isinstance(scope.item, Wait)]

    def in_scope(self, value: Affine, scope: Scope, what: str) -> None:
        """All variables of a number are those of work-items or of loops around it."""
        known = {*self.parallel, *scope.variables}
        unknown = [name for name, _ in value.terms if name not in known]
        self.that(not unknown, f"variables of {what} are in scope", ", ".join(sorted(known)), ", ".join(unknown))
        ordered = [name for name, coefficient in value.terms if coefficient]
        self.that(
            ordered == sorted(ordered) and len(ordered) == len(value.terms),
            f"terms of {what} are sorted and not zero",
            "sorted names",
            str(value.terms),
        )
