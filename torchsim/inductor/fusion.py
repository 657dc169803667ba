"""The fusion decision. Pure: asking changes nothing; the scheduler commits.

Graph facts (dependencies, ancestors) are core's; here it is decided whether the nodes make one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torchsim.errors import InternalError
from torchsim.inductor.analysis.body import RawBody
from torchsim.inductor.analysis.domain import Declined, Domain
from torchsim.inductor.analysis.unify import accesses, same, unify
from torchsim.inductor.nodes import NodeReader
from torchsim.runtime import hooks


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """A fusion that is possible.

    Attributes:
        kind: "fusion", "reduction_reduction", "prologue" or "epilogue".
        remap: node -> its loop variables as affine forms of the kernel's axes. Nodes keep their own loops; the kernel is
            generated through this map.
    """

    kind: str
    remap: dict[str, tuple[str, ...]]


def plan_fusion(reader: NodeReader, node1: Any, node2: Any, horizontal: bool) -> FusionPlan:
    """The plan of fusing two scheduler nodes.

    Raises:
        Declined: they stay apart; says why.
        UnsupportedError: one of them has no NPU code at all.
    """
    if node1.is_template() or node2.is_template():
        from torchsim.inductor.templates import plan_template_fusion

        return plan_template_fusion(reader, node1, node2, horizontal)
    first, second = [reader.body(node) for node in node1.get_nodes()], [reader.body(node) for node in node2.get_nodes()]
    kind = _kind(first, second)
    if not hooks.machine().optimization_enabled(kind):
        raise Declined(f"{kind} is switched off")
    domain = unify([*first, *second])
    if horizontal:
        _require_shared_access(domain, first, second)
    return FusionPlan(kind, describe(domain))


def commit_fusion(reader: NodeReader, node1: Any, node2: Any) -> FusionPlan:
    """Make the plan of a fusion that was decided again, on the nodes as they are now.

    Raises:
        InternalError: it does not exist any more.
    """
    try:
        return plan_fusion(reader, node1, node2, horizontal=False)
    except Declined as reason:
        raise InternalError(
            "a fusion was committed that is not possible", found=str(reason), where=f"{node1.get_name()} with {node2.get_name()}"
        ) from None


def describe(domain: Domain) -> dict[str, tuple[str, ...]]:
    """Every node's loop variables over the domain, as text."""
    return {placement.raw.name: tuple(str(form) for form in placement.variables) for placement in domain.placements}


def _kind(first: Sequence[RawBody], second: Sequence[RawBody]) -> str:
    both = all(any(body.reduction is not None for body in part) for part in (first, second))
    return "reduction_reduction" if both else "fusion"


def _require_shared_access(domain: Domain, first: Sequence[RawBody], second: Sequence[RawBody]) -> None:
    """Side by side fusion pays when both parts read one element at one position (row and column sums of a square matrix do not)."""
    mine = {body.name for body in first}
    left = [access for placement in domain.placements if placement.raw.name in mine for access in accesses(domain, placement)]
    right = [access for placement in domain.placements if placement.raw.name not in mine for access in accesses(domain, placement)]
    if not any(name == other and same(index, where) for name, index in left for other, where in right):
        raise Declined("no common access at one position")
