"""From an analysed group to a kernel plan that fits the machine."""

from __future__ import annotations

from torchsim.config import Machine
from torchsim.errors import SpadOverflowError
from torchsim.plan.group import Group
from torchsim.plan.model import KernelPlan
from torchsim.plan.normalise import normalise
from torchsim.plan.override import TileOverride, check_override, choose_domain
from torchsim.plan.schedule import check_in_place, schedule
from torchsim.plan.search import TileSearch
from torchsim.plan.vector_plan import VectorPlanner
from torchsim.templates.matmul import matmul_as_reduction, plan_matmul, runs_on_array


def build(group: Group, machine: Machine, override: TileOverride | None = None) -> KernelPlan:
    """Plan a kernel.

    Args:
        group: the fused group.
        machine: lanes and the scratchpad budget of one dispatch.
        override: tile extents, split axis, vlane_stride and vector axis to use in place of the heuristic's.

    Raises:
        InvalidInputError: the override is no tile of this group.
        SpadOverflowError: no tile (or not the given one) fits the budget.
        UnsupportedError: a form of group that cannot be planned.
        PlanError: the group contradicts itself.
    """
    check_in_place(group)
    if any(node.kind == "matmul" for node in group.nodes):
        if runs_on_array(group):
            return plan_matmul(group, machine, override)
        group = matmul_as_reduction(group)
    keep = override.names if override else set[str]()
    group = choose_domain(override, normalise(group, merge=True), normalise(group, merge=False, keep=keep))
    if override is not None:
        check_override(override, group, {})
    order = schedule(group)
    plan: KernelPlan | None = None
    for candidate in TileSearch(group, order, machine, override).candidates():
        plan = VectorPlanner(group, order, candidate.tile, machine.lanes).plan()
        if plan.spad_bytes_per_lane <= machine.dispatch_budget_bytes:
            return plan
    assert plan is not None
    raise overflow(plan, machine)


def overflow(plan: KernelPlan, machine: Machine) -> SpadOverflowError:
    """The error for a plan that needs more scratchpad than a dispatch may use (requirement T-2)."""
    tile = ", ".join(f"{axis.name}={extent}" for axis, extent in zip(plan.axes, plan.tile.extents))
    sizes = sorted(plan.buffers, key=lambda buffer: -buffer.bytes_per_lane)
    listing = ", ".join(f"{buffer.name} {buffer.bytes_per_lane}" for buffer in sizes)
    return SpadOverflowError(
        f"kernel {plan.name} does not fit the scratchpad",
        expected=f"at most {machine.dispatch_budget_bytes} bytes per lane (half of {machine.spad_bytes_per_lane})",
        found=f"{plan.spad_bytes_per_lane} bytes per lane; buffers: {listing}",
        where=f"tile {tile}; origins: {', '.join(plan.origins) or 'none'}",
        hint="use a smaller tile, a machine with more scratchpad, or fewer fused operations",
    )
