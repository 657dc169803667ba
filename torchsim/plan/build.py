"""From an analysed group to a kernel plan that fits the machine."""

from __future__ import annotations

from torchsim.config import Machine
from torchsim.plan.group import Group
from torchsim.plan.model import KernelPlan
from torchsim.plan.normalise import normalise
from torchsim.plan.overflow import overflow
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
