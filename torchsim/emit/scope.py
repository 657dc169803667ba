"""What is known at a point of the kernel while a plan is emitted: the plan, the tile indices, the tile starts, the transfer bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torchsim.dialect.build import Index, add, clamp, floordiv, mul, sub
from torchsim.plan.arena import leaves
from torchsim.plan.model import Affine, KernelPlan, Transfer


@dataclass(frozen=True, slots=True)
class Scope:
    """``variables``: tile index of an open axis by its name, and chunk variables; ``starts``: logical position of the tile of an open axis.

    ``highs``: by (axis, transfer extent) the exclusive bound of a bounded dimension, None where it never cuts anything off.
    """

    plan: KernelPlan
    variables: Mapping[str, Index] = field(default_factory=dict)
    starts: Mapping[int, Index] = field(default_factory=dict)
    highs: Mapping[tuple[int, int], Index | None] = field(default_factory=dict)

    @staticmethod
    def root(plan: KernelPlan) -> Scope:
        """Before any loop: an axis that has no loop lies in its one tile, at 0."""
        scope = Scope(plan)
        for axis in range(len(plan.axes)):
            scope = scope.with_axis(axis, 0)
        return scope

    def affine(self, value: Affine) -> Index:
        """An affine number of the plan at this point."""
        result: Index = value.constant
        for name, coefficient in value.terms:
            result = add(result, mul(self.variables[name], coefficient))
        return result

    def with_axis(self, axis: int, element: Index) -> Scope:
        """Inside the loop of an axis whose induction variable counts elements."""
        plan = self.plan
        tile = max(plan.tile.extents[axis], 1)
        extents = {
            dim.extent for item in leaves(plan.body) if isinstance(item, Transfer) for dim in item.dims if dim.axis == axis and dim.bounded
        }
        highs = {(axis, extent): _high(plan, axis, extent, element) for extent in sorted(extents)}
        return replace(
            self,
            variables={**self.variables, plan.axes[axis].name: floordiv(element, tile)},
            starts={**self.starts, axis: element},
            highs={**self.highs, **highs},
        )

    def with_variable(self, name: str, value: Index) -> Scope:
        """Inside a chunk loop."""
        return replace(self, variables={**self.variables, name: value})


def _high(plan: KernelPlan, axis: int, extent: int, element: Index) -> Index | None:
    total, tile = plan.axes[axis].extent, plan.tile.extents[axis]
    if extent <= tile and total % tile == 0:
        return None
    if total <= tile:  # one tile, which starts at 0
        return min(total, extent)
    return clamp(sub(total, element), 0, extent)
