"""Reads scheduler nodes: captured bodies (cached), memory facts, and the groups of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch._inductor.virtualized import V

from torchsim.errors import InternalError, TorchsimError, UnsupportedError
from torchsim.inductor.analysis.assemble import Buffers, assemble
from torchsim.inductor.analysis.body import RawBody
from torchsim.inductor.analysis.capture import capture
from torchsim.inductor.analysis.domain import Declined, Domain
from torchsim.inductor.analysis.matmul import matmul_group
from torchsim.inductor.analysis.types import plan_dtype
from torchsim.inductor.analysis.unify import unify
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Group


def real_name(name: str) -> str:
    """Buffer whose memory a name means: an in-place update's own name leads to what it updates."""
    seen: set[str] = set()
    names: dict[str, str] = V.graph.scheduler.mutation_real_name
    while name in names and name not in seen:
        seen.add(name)
        name = names[name]
    return name


def static_int(value: Any, where: str) -> int:
    """A size as a number.

    Raises:
        UnsupportedError: it is known at run time only.
    """
    try:
        return int(value)
    except (TypeError, ValueError):
        raise UnsupportedError(
            "a size that depends on data", expected="static shapes", found=str(value), where=where, hint="torch.compile(..., dynamic=False)"
        ) from None


class NodeReader:
    """Analysis of one graph's nodes. Bodies are captured once; core replaces a body when it reorders loops, so the body is the key."""

    def __init__(self) -> None:
        self._captured: dict[int, tuple[Any, RawBody]] = {}

    def body(self, node: Any) -> RawBody:
        """The computation of a loop node.

        Raises:
            UnsupportedError: something in it has no NPU code; carries ``origins``.
        """
        known = self._captured.get(id(node._body))
        if known is not None:
            return known[1]
        origins = tuple(sorted((origin.name for origin in node.node.get_origins()), key=_position))
        try:
            sizes = tuple(tuple(static_int(extent, node.get_name()) for extent in part) for part in node._sizes)
            raw = capture(node._body, (sizes[0], sizes[1]), origins, V.graph.get_dtype, real_name)
        except TorchsimError as error:
            error.origins = origins  # pyright: ignore[reportAttributeAccessIssue]
            raise
        self._captured[id(node._body)] = (node._body, raw)
        return raw

    def vector_group(self, name: str, nodes: Sequence[Any]) -> Group:
        """The group of a kernel without a template.

        Raises:
            UnsupportedError: a single node that has no affine domain.
        """
        bodies = [self.body(node) for node in nodes]
        return assemble(name, self.domain(bodies), self.buffers(nodes))

    def template_group(self, name: str, template_node: Any, epilogues: Sequence[Any], prologues: Sequence[Any]) -> Group:
        """The group of a template kernel.

        Raises:
            InternalError: the fusion that was decided does not exist.
        """
        from torchsim.inductor.templates import source_of

        nodes = [*prologues, template_node, *epilogues]
        try:
            return matmul_group(
                name,
                source_of(template_node),
                [self.body(node) for node in prologues],
                [self.body(node) for node in epilogues],
                self.buffers(nodes),
            )
        except Declined as reason:
            raise InternalError("a template kernel has nodes that do not fit", found=str(reason), where=name) from None

    def domain(self, bodies: Sequence[RawBody]) -> Domain:
        """The common domain of nodes that are to become one kernel.

        Raises:
            UnsupportedError: there is none.
        """
        try:
            return unify(bodies)
        except Declined as reason:
            error = UnsupportedError(
                "cannot compile an access pattern",
                expected="indices that are affine in the loops",
                found=str(reason),
                where=f"fx nodes {', '.join(o for b in bodies for o in b.origins)}",
            )
            error.origins = tuple(origin for body in bodies for origin in body.origins)  # pyright: ignore[reportAttributeAccessIssue]
            raise error from None

    def internal(self, nodes: Sequence[Any]) -> list[str]:
        """Buffers that the nodes write and nobody else reads."""
        operations = {operation for node in nodes for operation in node.get_operation_names()}
        written = [name for node in nodes for name in node.get_buffer_names()]
        return [name for name in written if V.graph.scheduler.can_buffer_be_removed_through_fusion(name, operations)]

    def buffers(self, nodes: Sequence[Any]) -> Buffers:
        """Memory facts for the assembler."""
        return Buffers(elements=elements_of, dtype=dtype_of, real=real_name, internal=frozenset(self.internal(nodes)))


def dtype_of(name: str) -> DType:
    """Element type of a buffer."""
    return plan_dtype(V.graph.get_dtype(name), name)


def elements_of(name: str) -> int:
    """Elements from a buffer's first element to its last, by its layout."""
    if name in V.graph.constants:
        constant = V.graph.constants[name]
        sizes, strides = list(constant.shape), list(constant.stride())
    else:
        layout = V.graph.get_buffer(name).get_layout()
        sizes, strides = list(layout.size), list(layout.stride)
    extents = [static_int(size, name) for size in sizes]
    if 0 in extents:
        return 0
    return 1 + sum((extent - 1) * static_int(stride, name) for extent, stride in zip(extents, strides))


def _position(name: str) -> tuple[int, str]:
    """Order of fx nodes in the graph, so that origins read like the program."""
    lowering: Any = V.graph
    order: dict[str, int] | None = getattr(lowering, "_torchsim_order", None)
    if order is None:
        order = {node.name: number for number, node in enumerate(lowering.graph.nodes)}
        lowering._torchsim_order = order
    return order.get(name, len(order)), name
