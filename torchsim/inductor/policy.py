"""What happens to ops without NPU code: an error by default, a counted host call when the user allows it.

Two kinds exist. Ops that Inductor hands to an extern kernel are seen before fusion. Ops inside a loop body are found when the body
is analysed; with ``fallback="cpu"`` the graph is then compiled again with the fx nodes concerned forced into extern kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.custom_graph_pass import CustomGraphModulePass

from torchsim.device import DEVICE_TYPE
from torchsim.errors import UnsupportedError
from torchsim.inductor.graphs import copy_graph
from torchsim.runtime import hooks

_forced = threading.local()

MAX_ROUNDS = 64
"""Recompilations of one graph in search of ops that must run on the host."""


class ForceFallback(CustomGraphModulePass):
    """End of the post-grad passes: mark the fx nodes that must become extern kernels."""

    def __call__(self, graph_module: torch.fx.GraphModule) -> None:
        names: set[str] = getattr(_forced, "names", set())
        for node in graph_module.graph.nodes:
            if node.name in names:
                node.meta["should_fallback"] = True

    def uuid(self) -> Any:
        """No cache key: these graphs are not cached by Inductor."""
        return None


def compile_with_policy(inner: Callable[..., Any], graph: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
    """Compile a post-grad graph; with ``fallback="cpu"`` move unsupported ops to the host until it compiles."""
    if hooks.options().fallback != "cpu":
        return inner(graph, *args, **kwargs)
    names: set[str] = set()
    for _ in range(MAX_ROUNDS):
        _forced.names = names
        try:
            return inner(copy_graph(graph), *args, **kwargs)
        except Exception as error:
            from torchsim.inductor.compile import find_own_error

            own = find_own_error(error)
            origins = set(getattr(own, "origins", ())) - names
            if not isinstance(own, UnsupportedError) or not origins:
                raise
            names |= origins
        finally:
            _forced.names = set()
    raise UnsupportedError("too many ops without NPU code in one graph", found=", ".join(sorted(names)), hint="run this part outside torch.compile")


def before_fusion(nodes: list[Any]) -> list[Any]:
    """Judge the extern kernels of a graph; Inductor calls this with the scheduler's nodes, which are returned as they are.

    Raises:
        UnsupportedError: an extern kernel on npu tensors, and the fallback is "error"; names the op and the fx node.
    """
    for node in nodes:
        kernel = node.node
        if not isinstance(kernel, ir.ExternKernel) or isinstance(kernel, (ir.NopKernel, ir.MultiOutput, ir.DeviceCopy)) or not _on_npu(kernel):
            continue
        op, origins = _op_name(kernel), [origin.name for origin in kernel.get_origins()]
        where = ", ".join(origins) or kernel.get_name()
        if hooks.options().fallback == "error":
            raise UnsupportedError(
                f"no NPU kernel for {op}", expected="an op that torchsim lowers", found=op, where=f"fx node {where}",
                hint="torchsim.set_options(fallback='cpu') runs it on the host and lists it in the session",
            )  # fmt: skip
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


def _count_calls(kernel: Any, op: str, where: str) -> None:
    """Put a line that counts the call before the kernel's own code."""
    original = kernel.codegen

    def codegen(wrapper: Any) -> Any:
        wrapper.writeline(f"torchsim.runtime.hooks.record_fallback({op!r}, {where!r})")
        return original(wrapper)

    object.__setattr__(kernel, "codegen", codegen)  # IR nodes are frozen dataclasses
