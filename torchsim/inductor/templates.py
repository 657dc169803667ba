"""The matrix product as an Inductor template, and what may be fused into it.

A template owns its conditions: ``try_fuse_epilogue`` and ``try_fuse_prologue`` decide without changing anything.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from torchsim.errors import UnsupportedError
from torchsim.inductor.analysis.domain import Declined
from torchsim.inductor.analysis.matmul import MatmulOperand, MatmulSource, matmul_domain
from torchsim.inductor.analysis.types import plan_dtype
from torchsim.inductor.fusion import FusionPlan, describe
from torchsim.inductor.nodes import NodeReader, static_int
from torchsim.runtime import hooks

log = logging.getLogger("torchsim.fusion")


class MatmulBuffer(ir.TemplateBuffer):
    """``lhs @ rhs`` on the systolic array: (m, k) x (k, n), accumulated in f32, rounded once to the output type."""

    def __init__(self, layout: ir.Layout, lhs: Any, rhs: Any, origin: torch.fx.Node | None) -> None:
        super().__init__(layout, [lhs, rhs], make_kernel_render=None)
        self.epilogue_fusable_outputs = {self.name: self.name}
        names = [operand.get_name() for operand in self.inputs]
        # A buffer that is both operands would need its prologue twice, in two loop orders.
        self.allowed_prologue_inps = OrderedSet(name for name in names if names.count(name) == 1)
        self.origin_node = origin

    def get_outputs(self) -> list[Any]:
        """The product alone."""
        return [self]

    @staticmethod
    def create(lhs: Any, rhs: Any) -> Any:
        """Lower ``aten.mm``; operands keep their strides, the result is contiguous."""
        operands = [ir.ExternKernel.realize_input(value) for value in (lhs, rhs)]
        size = [lhs.get_size()[0], rhs.get_size()[1]]
        layout = ir.FixedLayout(lhs.get_device(), lhs.get_dtype(), size, ir.FlexibleLayout.contiguous_strides(size))
        node = V.graph.current_node
        exact = node.target is torch.ops.aten.mm.default  # addmm's product alone is no fx node's value
        return ir.TensorBox.create(MatmulBuffer(layout, operands[0], operands[1], node if exact else None))


def source_of(template_node: Any) -> MatmulSource:
    """The matrix product of a template's scheduler node as data.

    Raises:
        UnsupportedError: another template, or a size that depends on data.
    """
    buffer = template_node.node
    if not isinstance(buffer, MatmulBuffer):
        raise UnsupportedError(f"no NPU kernel for the template {type(buffer).__name__}", where=buffer.get_name())
    name = buffer.get_name()
    operands: list[MatmulOperand] = []
    for operand in buffer.inputs:
        layout = operand.get_layout()
        sizes, strides = ([static_int(value, name) for value in part] for part in (layout.size, layout.stride))
        offset = static_int(layout.offset, name) if isinstance(operand, ir.ReinterpretView) else 0
        operands.append(
            MatmulOperand(operand.get_name(), plan_dtype(operand.get_dtype(), name), (sizes[0], sizes[1]), (strides[0], strides[1]), offset)
        )
    origins = tuple(sorted(origin.name for origin in buffer.get_origins()))
    strides = tuple(static_int(value, name) for value in buffer.get_layout().stride)
    return MatmulSource(name, operands[0], operands[1], plan_dtype(buffer.get_dtype(), name), (strides[0], strides[1]), origins)


def try_fuse_epilogue(
    reader: NodeReader, template_node: Any, prologues: Sequence[Any], existing_epilogues: Sequence[Any], node: Any
) -> FusionPlan | None:
    """Whether pointwise ``node`` can follow the product and the epilogues it has already. Pure; None: no, the reason is logged."""
    return _attempt(reader, "epilogue", template_node, prologues, [*existing_epilogues, *node.get_nodes()], node)


def try_fuse_prologue(
    reader: NodeReader, template_node: Any, existing_prologues: Sequence[Any], epilogues: Sequence[Any], node: Any
) -> FusionPlan | None:
    """Whether pointwise ``node`` can be computed while an operand is loaded. Pure; None: no, the reason is logged."""
    return _attempt(reader, "prologue", template_node, [*node.get_nodes(), *existing_prologues], epilogues, node)


def plan_template_fusion(reader: NodeReader, node1: Any, node2: Any, horizontal: bool) -> FusionPlan:
    """Fusion of a template (node1 with an epilogue node2, or node2 with a prologue node1).

    Raises:
        Declined: not possible; the reason is logged by the template.
    """
    if node1.is_template() and node2.is_template():
        raise Declined("two templates")
    if horizontal:
        raise Declined("a template fuses with what it feeds or reads")
    fused, other = (node1, node2) if node1.is_template() else (node2, node1)
    template, prologues, epilogues = split_template(fused)
    attempt = try_fuse_epilogue if fused is node1 else try_fuse_prologue
    plan = attempt(reader, template, prologues, epilogues, other)
    if plan is None:
        raise Declined("the template refuses")
    return plan


def split_template(fused: Any) -> tuple[Any, list[Any], list[Any]]:
    """(template node, prologue nodes, epilogue nodes) of a scheduler node that holds a template."""
    nodes = list(fused.get_nodes())
    position = next(i for i, node in enumerate(nodes) if node.is_template())
    return nodes[position], nodes[:position], nodes[position + 1 :]


def _attempt(
    reader: NodeReader, kind: str, template_node: Any, prologues: Sequence[Any], epilogues: Sequence[Any], node: Any
) -> FusionPlan | None:
    try:
        if not hooks.machine().optimization_enabled("prologue" if kind == "prologue" else "fusion"):
            raise Declined(f"{kind} fusion is switched off")
        source = source_of(template_node)
        if kind == "prologue" and source.lhs.buffer == source.rhs.buffer:
            raise Declined("both operands are one buffer")
        domain = matmul_domain(source, [reader.body(part) for part in prologues], [reader.body(part) for part in epilogues])
    except Declined as reason:
        log.info("why_no_fuse %s %s into %s: %s", kind, node.get_name(), template_node.get_name(), reason)
        return None
    return FusionPlan(kind, describe(domain))
