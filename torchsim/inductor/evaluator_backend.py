"""A runtime backend that executes groups with the group evaluator: the front end alone, without compiler and simulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from torchsim.config import Machine
from torchsim.device import check_overlap, host_view
from torchsim.inductor.group_evaluator import evaluate_group
from torchsim.plan.group import Group
from torchsim.runtime.hooks import KernelContext
from torchsim.runtime.options import Options, current_options
from torchsim.runtime.selection import current_machine


@dataclass
class EvaluatorBackend:
    """Install with ``hooks.install(EvaluatorBackend())``.

    Attributes:
        groups: every kernel defined, with its context and the machine in force, in order.
        calls: keys of the kernels that ran, in order.
        fallbacks: (op, fx node) of ops that ran on the host.
        graphs: post-grad fx graphs by id.
        graph_calls: (graph id, inputs) of compiled graphs that ran.
    """

    groups: list[tuple[Group, KernelContext, Machine]] = field(default_factory=list[tuple[Group, KernelContext, Machine]])
    calls: list[str] = field(default_factory=list[str])
    fallbacks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    graphs: dict[str, Any] = field(default_factory=dict[str, Any])
    graph_calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list[tuple[str, tuple[Any, ...]]])

    def define_kernel(self, group: Group, context: KernelContext) -> str:
        """See hooks.Backend."""
        self.groups.append((group, context, current_machine()))
        return f"kernel{len(self.groups) - 1}"

    def kernel(self, key: str) -> Callable[..., None]:
        """See hooks.Backend."""
        group = self.groups[int(key.removeprefix("kernel"))][0]

        def launch(*tensors: torch.Tensor) -> None:
            check_overlap(tensors, [arg.role for arg in group.args], [arg.name for arg in group.args])
            self.calls.append(key)
            evaluate_group(group, [host_view(tensor) for tensor in tensors])

        return launch

    def record_fallback(self, op: str, node: str) -> None:
        """See hooks.Backend."""
        self.fallbacks.append((op, node))

    def graph_started(self, graph_module: Any, graph_id: str) -> None:
        """See hooks.Backend."""
        self.graphs[graph_id] = graph_module

    def graph_called(self, graph_id: str, inputs: Sequence[Any], mutated: Sequence[int]) -> None:
        """See hooks.Backend."""
        self.graph_calls.append((graph_id, tuple(inputs)))

    def machine(self) -> Machine:
        """See hooks.Backend."""
        return current_machine()

    def options(self) -> Options:
        """See hooks.Backend."""
        return current_options()
