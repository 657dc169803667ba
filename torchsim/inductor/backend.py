"""``torch.compile(model, backend="torchsim")`` on CPU tensors: the graph is retagged to device npu and takes the one path.

Inputs are adopted without a copy, so in-place updates land in the caller's tensors; outputs are CPU views of the results; gradients
flow through both moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.fx.node import map_aggregate
from torch.utils._device import _device_constructors

from torchsim.device import DEVICE_TYPE, device_view, to_cpu, to_npu
from torchsim.errors import UnsupportedError
from torchsim.inductor.compile import static_inputs
from torchsim.inductor.graphs import copy_graph, number_positions


def torchsim(
    graph: torch.fx.GraphModule, inputs: Sequence[Any], *, mode: str | None = None, options: dict[str, Any] | None = None, **ignored: Any
) -> Callable[..., Any]:
    """Backend function for ``torch.compile``.

    Args:
        graph: Dynamo's graph.
        inputs: fake example inputs.
        mode: accepted for compatibility; torchsim has one mode.
        options: Inductor configuration, as with the default backend.

    Returns:
        A callable on CPU (or npu) tensors that returns CPU tensors.

    Raises:
        UnsupportedError: at the first call, when something in the graph has no NPU code.
    """
    import torch._inductor.compile_fx as inductor

    del mode, ignored
    retagged, numbers = retag_graph(graph), number_positions(graph)
    examples = retag_inputs(static_inputs(graph, inputs), numbers)
    placeholders = [node for node in retagged.graph.nodes if node.op == "placeholder"]
    for node, value in zip(placeholders, examples):
        if isinstance(value, torch.Tensor):
            node.meta["example_value"] = value
    compiled: Any = inductor.compile_fx(retagged, examples, config_patches=options)
    return _Retagged(compiled, numbers)


class _Retagged:
    """Runs a compiled npu graph on CPU tensors."""

    def __init__(self, compiled: Callable[..., Any], numbers: Collection[int]) -> None:
        self._compiled = compiled
        self._numbers = numbers

    def __call__(self, *args: Any) -> Any:
        adopted = [to_npu(v) if isinstance(v, torch.Tensor) and i not in self._numbers else v for i, v in enumerate(args)]
        versions = [value._version if isinstance(value, torch.Tensor) else 0 for value in adopted]
        outputs = self._compiled(*adopted)
        for original, value, version in zip(args, adopted, versions):
            if isinstance(value, torch.Tensor) and value is not original and value._version != version:
                _note_update(original)
        return [to_cpu(value) if isinstance(value, torch.Tensor) else value for value in outputs]


def _note_update(tensor: torch.Tensor) -> None:
    """Tell autograd that the graph wrote into a CPU tensor.

    Raises:
        UnsupportedError: the tensor is part of a gradient computation, whose history the graph cannot rewrite.
    """
    if tensor.requires_grad and torch.is_grad_enabled():
        raise UnsupportedError(
            "an in-place update of a CPU tensor that requires grad",
            expected="in-place updates of tensors without gradients, or under torch.no_grad()",
            found=f"a tensor of shape {tuple(tensor.shape)} with requires_grad",
            where="backend='torchsim'",
            hint="move the tensor to npu, or write y = x + 1 instead of x.add_(1)",
        )
    torch.autograd.graph.increment_version(tensor)


def retag_graph(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A copy in which every CPU device and every device-less factory call is on npu; tensors held by the graph are adopted."""
    retagged = copy_graph(graph)
    constructors = _device_constructors()
    for node in retagged.graph.nodes:
        node.args = map_aggregate(node.args, _retag_value)
        node.kwargs = map_aggregate(node.kwargs, _retag_value)
        if node.op == "call_function" and node.target in constructors and node.kwargs.get("device") is None:
            node.kwargs = {**node.kwargs, "device": torch.device(DEVICE_TYPE, 0)}
        if node.op == "call_method" and node.target == "cpu":
            node.target = DEVICE_TYPE
        if node.op == "get_attr":
            _retag_attribute(retagged, str(node.target))
    retagged.recompile()
    return retagged


def _retag_value(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cpu":
        return torch.device(DEVICE_TYPE, 0)
    return DEVICE_TYPE if isinstance(value, str) and value == "cpu" else value


def _retag_attribute(module: torch.nn.Module, path: str) -> None:
    *parents, name = path.split(".")
    owner = module
    for parent in parents:
        owner = getattr(owner, parent)
    value = getattr(owner, name)
    if isinstance(value, torch.nn.Parameter):
        setattr(owner, name, torch.nn.Parameter(device_view(value), requires_grad=value.requires_grad))
    elif isinstance(value, torch.Tensor):
        setattr(owner, name, device_view(value))


def retag_inputs(inputs: Sequence[Any], numbers: Collection[int] = ()) -> list[Any]:
    """Fake npu tensors in place of fake CPU tensors; tensors that share memory still share it, and ``numbers`` stay on the CPU."""
    fake_mode = detect_fake_mode(inputs)
    if fake_mode is None:
        return [to_npu(value) if isinstance(value, torch.Tensor) else value for value in inputs]
    shared: dict[int, int] = {}
    for value in inputs:
        if isinstance(value, torch.Tensor):
            key = value.untyped_storage()._cdata
            shared[key] = shared.get(key, 0) + 1
    bases: dict[tuple[int, torch.dtype], torch.Tensor] = {}
    retagged: list[Any] = []
    for position, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or position in numbers:
            retagged.append(value)
            continue
        with fake_mode:
            if shared[value.untyped_storage()._cdata] > 1:
                key = (value.untyped_storage()._cdata, value.dtype)
                if key not in bases:
                    bases[key] = torch.empty(
                        value.untyped_storage().nbytes() // value.dtype.itemsize, dtype=value.dtype, device=DEVICE_TYPE
                    )
                fake = bases[key].as_strided(value.size(), value.stride(), value.storage_offset())
            else:
                fake = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=DEVICE_TYPE)
        if isinstance(value, torch.nn.Parameter):
            fake = torch.nn.Parameter(fake, requires_grad=value.requires_grad)
        else:
            fake.requires_grad_(value.requires_grad)
        retagged.append(fake)
    return retagged
