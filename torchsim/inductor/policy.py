"""What happens to ops without NPU code: an error by default, a counted host call when the user allows it.

Two kinds exist. Ops that Inductor hands to an extern kernel are seen before fusion. Ops inside a loop body are found when the body
is analysed; the graph is then compiled again with help.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.custom_graph_pass import CustomGraphModulePass

from torchsim.device import DEVICE_TYPE
from torchsim.errors import UnsupportedError
from torchsim.inductor.failures import find_own_error
from torchsim.inductor.graphs import copy_graph
from torchsim.runtime import hooks

RESHAPES = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default, torch.ops.aten.reshape.default)
REALISE = "torchsim_realise"
"""Metadata of a reshape whose operand must be realised first."""
MAX_ROUNDS = 64
"""Recompilations of one graph."""

_current = threading.local()


class Help:
    """What a graph needs so that it compiles.

    Attributes:
        realise: names of the reshapes whose operand becomes a buffer.
        host: names of the fx nodes that become extern kernels.
    """

    def __init__(self) -> None:
        self.realise: set[str] = set()
        self.host: set[str] = set()
        self._reshapes: set[str] = set()

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Applied by ``ApplyHelp`` to graphs that are lowered on this thread."""
        before = getattr(_current, "help", None)
        _current.help = self
        try:
            yield
        finally:
            _current.help = before

    def apply(self, graph: torch.fx.Graph) -> None:
        """Mark the nodes of a post-grad graph."""
        for node in graph.nodes:
            if node.target in RESHAPES:
                self._reshapes.add(node.name)
                node.meta[REALISE] = node.name in self.realise
            if node.name in self.host:
                node.meta["should_fallback"] = True

    def grow(self, origins: Iterable[str]) -> bool:
        """Add help for a failure in a body that comes from ``origins``; False when there is none left to try."""
        reshapes = (set(origins) & self._reshapes) - self.realise
        if reshapes:
            self.realise |= reshapes
            return True
        more = set(origins) - self.host if hooks.options().fallback == "cpu" else set[str]()
        self.host |= more
        return bool(more)


class ApplyHelp(CustomGraphModulePass):
    """End of the post-grad passes: mark the fx nodes that need help."""

    def __call__(self, graph_module: torch.fx.GraphModule) -> None:
        current: Help | None = getattr(_current, "help", None)
        if current is not None:
            current.apply(graph_module.graph)

    def uuid(self) -> Any:
        """No cache key: these graphs are not cached by Inductor."""
        return None


def refuse_complex(graph: torch.fx.GraphModule) -> None:
    """Complex values never reach a kernel.

    Raises:
        UnsupportedError: the graph computes one; names op and fx node.
    """
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dtype.is_complex:
            raise UnsupportedError(
                f"no NPU kernels on complex numbers ({node.target})",
                expected="real tensors",
                found=str(value.dtype),
                where=f"fx node {node.name}",
                hint="compute the real and imaginary parts as real tensors, or run this part outside torch.compile on the CPU",
            )


def compile_with_policy(inner: Callable[..., Any], graph: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
    """Compile a post-grad graph, again with more help while that removes the reason of a failure.

    First the operands of reshapes inside a node without affine indices are realised (a reshape of a buffer is affine, one of a
    computation need not be). Then, with ``fallback="cpu"``, the fx nodes of an unsupported loop body move to the host.

    Raises:
        UnsupportedError: no help is left.
    """
    refuse_complex(graph)
    help_ = Help()
    for _ in range(MAX_ROUNDS):
        try:
            with help_.in_force():
                return inner(copy_graph(graph), *args, **kwargs)
        except Exception as error:
            own = find_own_error(error)
            if not isinstance(own, UnsupportedError) or not help_.grow(getattr(own, "origins", ())):
                raise
    raise UnsupportedError(
        "too many ops without NPU code in one graph", found=", ".join(sorted(help_.host)), hint="run this part outside torch.compile"
    )


def before_fusion(nodes: list[Any]) -> list[Any]:
    """Judge the extern kernels of a graph; Inductor calls this with the scheduler's nodes, which are returned as they are.

    Raises:
        UnsupportedError: an extern kernel on npu tensors, and the fallback is "error"; names the op and the fx node.
    """
    for node in nodes:
        kernel = node.node
        if (
            not isinstance(kernel, ir.ExternKernel)
            or isinstance(kernel, (ir.NopKernel, ir.MultiOutput, ir.DeviceCopy))
            or not _on_npu(kernel)
        ):
            continue
        op, where = _op_name(kernel), _fx_node(kernel)
        if hooks.options().fallback == "error":
            raise UnsupportedError(
                f"no NPU kernel for {op}",
                expected="an op that torchsim lowers",
                found=op,
                where=f"fx node {where}",
                hint="torchsim.set_options(fallback='cpu') runs it on the host and lists it in the session",
            )
        _count_calls(kernel, op, where)
    return nodes


def _on_npu(kernel: Any) -> bool:
    """Whether the kernel reads or writes an npu tensor."""
    involved = [kernel, *kernel.inputs] if all(isinstance(value, ir.IRNode) for value in kernel.inputs) else [kernel]
    for value in involved:
        device = value.get_device() if hasattr(value, "get_device") else None
        if device is not None and device.type == DEVICE_TYPE:
            return True
    return False


def _op_name(kernel: Any) -> str:
    overload = getattr(kernel, "op_overload", None)
    if overload is not None:
        return str(overload)
    return str(getattr(kernel, "python_kernel_name", None) or type(kernel).__name__)


def _fx_node(kernel: Any) -> str:
    """The fx node that calls the kernel's op; else all fx nodes that led to it."""
    origins = sorted(kernel.get_origins(), key=lambda node: node.name)
    mine = [node for node in origins if node.target is getattr(kernel, "op_overload", None)]
    return ", ".join(node.name for node in mine or origins) or kernel.get_name()


def _count_calls(kernel: Any, op: str, where: str) -> None:
    """Put a line that counts the call before the kernel's own code."""
    original = kernel.codegen

    def codegen(wrapper: Any) -> Any:
        wrapper.writeline(f"torchsim.runtime.hooks.record_fallback({op!r}, {where!r})")
        return original(wrapper)

    object.__setattr__(kernel, "codegen", codegen)  # IR nodes are frozen dataclasses
