"""The hand-over of one kernel: its call in the generated program and what the golden comparison must know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch._inductor import ir
from torch._inductor.virtualized import V

from torchsim.device import DEVICE_TYPE
from torchsim.inductor.graph_ids import graph_id
from torchsim.plan.group import Group
from torchsim.runtime.hooks import KernelContext


def call_line(name: str, group: Group) -> str:
    """The call; a CPU tensor (a scalar that lives on the host) is passed as an npu view of the same bytes."""
    arguments: list[str] = []
    for arg in group.args:
        device = V.graph.get_buffer(arg.name).get_device() if arg.name not in V.graph.constants else V.graph.constants[arg.name].device
        on_npu = device is not None and device.type == DEVICE_TYPE
        arguments.append(arg.name if on_npu else f"torchsim.device.to_npu({arg.name})")
    return f"{name}({', '.join(arguments)})"


def kernel_context(group: Group, nodes: Sequence[Any]) -> KernelContext:
    """Which fx node's value each written argument must equal, and why some cannot be compared."""
    golden: dict[str, str] = {}
    incomparable: dict[str, str] = {}
    by_name = {output.get_name(): output.node for node in nodes for output in node.get_outputs()}
    for node in group.nodes:
        if node.store is None:
            continue
        argument = node.store.tensor
        origin, reason = _origin(by_name[node.name])
        if origin is None:
            incomparable[argument] = reason
        else:
            golden[argument] = origin
    return KernelContext(graph_id(V.graph), golden, incomparable)


def _origin(buffer: Any) -> tuple[str | None, str]:
    """The fx node that a buffer holds the value of; else the reason why there is none."""
    origin = buffer.get_origin_node()
    if origin is None:
        names = ", ".join(sorted(node.name for node in buffer.get_origins()))
        return None, f"an intermediate of a lowering that no fx node equals (from {names or 'unknown nodes'})"
    value = origin.meta.get("val")
    if not hasattr(value, "shape"):
        return None, f"fx node {origin.name} has no tensor value"
    if isinstance(buffer, ir.MutationOutput):
        return origin.name, ""
    size, dtype = tuple(int(extent) for extent in buffer.get_size()), buffer.get_dtype()
    if tuple(value.shape) != size or value.dtype != dtype:
        return None, f"stored as {dtype} {size}, while fx node {origin.name} is {value.dtype} {tuple(value.shape)}"
    return origin.name, ""
