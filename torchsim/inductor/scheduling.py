"""Inductor's scheduling for device npu: which nodes fuse, and what a fused group becomes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch._inductor.codegen.common import BackendFeature
from torch._inductor.scheduler import BaseScheduling, FusedSchedulerNode
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from torchsim.errors import UnsupportedError
from torchsim.inductor import fusion
from torchsim.inductor.analysis.domain import Declined
from torchsim.inductor.kernels import call_line, kernel_context
from torchsim.inductor.nodes import NodeReader
from torchsim.plan.group import Group
from torchsim.runtime import hooks

log = logging.getLogger("torchsim.fusion")


class NpuScheduling(BaseScheduling):
    """One per graph and device."""

    def __init__(self, scheduler: Any) -> None:
        super().__init__(scheduler)
        self._reader = NodeReader()

    def get_backend_features(self, device: torch.device) -> OrderedSet[BackendFeature]:
        """In-place buffers are handled; reductions to a single element stay one node."""
        return OrderedSet([BackendFeature.REDUCE_TO_SINGLE_ELEMENT, BackendFeature.INPLACE_BUFFERS])

    def group_fn(self, sizes: Sequence[Sequence[sympy.Expr]]) -> tuple[Any, ...]:
        """(positions, reduced positions): core multiplies the two for devices that are no CPU."""
        return tuple(V.graph.sizevars.simplify(sympy.sympify(sympy.prod(part))) for part in sizes)

    # -- fusion
    def can_fuse_vertical(self, node1: Any, node2: Any) -> bool:
        """Producer and consumer."""
        return self._can_fuse(node1, node2, horizontal=False)

    def can_fuse_horizontal(self, node1: Any, node2: Any) -> bool:
        """Two nodes that share an input."""
        return self._can_fuse(node1, node2, horizontal=True)

    def _can_fuse(self, node1: Any, node2: Any, horizontal: bool) -> bool:
        try:
            fusion.plan_fusion(self._reader, node1, node2, horizontal)
        except Declined as reason:
            log.info("why_no_fuse %s %s: %s", node1.get_name(), node2.get_name(), reason)
            return False
        except UnsupportedError as error:
            log.info("why_no_fuse %s %s: %s", node1.get_name(), node2.get_name(), error.summary)
            return False
        return True

    def fuse(self, node1: Any, node2: Any) -> FusedSchedulerNode:
        """Commit: the plan is made again, so that nothing decided on a stale node survives."""
        fusion.commit_fusion(self._reader, node1, node2)
        return FusedSchedulerNode.fuse(node1, node2)

    # -- code
    def codegen_node(self, node: Any) -> None:
        """A fused group of loops."""
        nodes = list(node.get_nodes())
        self._emit(nodes, lambda name: self._reader.vector_group(name, nodes))

    def codegen_template(self, template_node: Any, epilogue_nodes: Sequence[Any], prologue_nodes: Sequence[Any]) -> None:
        """A template with the nodes fused into it."""
        nodes = [*prologue_nodes, template_node, *epilogue_nodes]
        self._emit(nodes, lambda name: self._reader.template_group(name, template_node, list(epilogue_nodes), list(prologue_nodes)))

    def _emit(self, nodes: list[Any], build: Any) -> None:
        wrapper = V.graph.wrapper_code
        name = f"torchsim_kernel_{wrapper.next_kernel_suffix()}"
        group: Group = build(name)
        for node in nodes:
            node.mark_run()  # emits allocations, so before the call line
        V.graph.removed_buffers |= OrderedSet(self._reader.internal(nodes))
        key = hooks.define_kernel(group, kernel_context(group, nodes))
        wrapper.define_kernel(name, f"torchsim.runtime.hooks.kernel({key!r})  # {', '.join(group.origins)}")
        wrapper.writeline(call_line(name, group))
        self.free_buffers_in_scheduler()

    def codegen_sync(self) -> None:
        """Kernels complete before their call returns."""

    def flush(self) -> None:
        """Nothing is held back."""

    def ready_to_flush(self) -> bool:
        """Nothing is held back."""
        return False
