"""Compiling one graph that holds npu tensors, once per machine and option set that it meets.

Nothing in Dynamo's guards knows the selected machine. What Dynamo keeps is therefore a ``Variants`` object: it looks at the machine
and the options in force at every call and compiles the graph again when it has not seen them. That holds on every thread.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._dynamo.exc import exceptions_allowed_to_be_fallback
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch._inductor import config
from torch._subclasses.fake_tensor import FakeTensor

from torchsim.config import Machine
from torchsim.device import DEVICE_TYPE
from torchsim.errors import TorchsimError, UnsupportedError
from torchsim.inductor.failures import find_own_error
from torchsim.inductor.graphs import copy_graph, number_positions
from torchsim.inductor.policy import compile_with_policy
from torchsim.inductor.settings import inductor_settings
from torchsim.runtime import hooks, selection
from torchsim.runtime.options import options as scoped_options

_nested = threading.local()


def needs_npu(graph: Any, inputs: Sequence[Any]) -> bool:
    """Whether a graph touches npu tensors: an input, a parameter, or a factory call inside."""
    if getattr(_nested, "active", False):
        return False
    if any(_on_npu(value) for value in inputs):
        return True
    if isinstance(graph, torch.nn.Module) and any(_on_npu(value) for value in [*graph.parameters(), *graph.buffers()]):
        return True
    if not isinstance(graph, torch.fx.GraphModule):
        return False
    return any(
        _on_npu(node.kwargs.get("device")) or any(_on_npu(value) for value in node.args) or _on_npu(node.meta.get("example_value"))
        for node in graph.graph.nodes
    )


def _on_npu(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.device.type == DEVICE_TYPE
    if isinstance(value, torch.device):
        return value.type == DEVICE_TYPE
    return isinstance(value, str) and value.split(":")[0] == DEVICE_TYPE


@dataclass(frozen=True)
class Choice:
    """Everything outside the graph that changes generated code."""

    machine: Machine
    fallback: str
    tiles: tuple[tuple[str, Any], ...]

    @classmethod
    def current(cls) -> Choice:
        """What is selected now."""
        return cls(hooks.machine(), hooks.options().fallback, tuple(sorted(selection.current_tiles().items())))

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Select this choice for a ``with`` block, unless it is selected already."""
        if self == Choice.current():
            yield
            return
        with selection.machine(self.machine), selection.tiles(**dict(self.tiles)), scoped_options(fallback=self.fallback):
            yield


class Variants:
    """The compiled forms of one graph, by ``Choice``."""

    def __init__(
        self,
        graph: torch.fx.GraphModule,
        inputs: Sequence[Any],
        compile_graph: Callable[[torch.fx.GraphModule, Sequence[Any]], Callable[..., Any]],
    ) -> None:
        self._graph = graph
        self._inputs = list(inputs)
        self._compile_graph = compile_graph
        self._lock = threading.RLock()
        self._compiled: dict[Choice, Callable[..., Any]] = {}
        self._fake_mode = detect_fake_mode(self._inputs)
        context = TracingContext.try_get()
        known = context.tensor_to_context if context is not None else {}
        self._numbers = [(value, known[value]) for position in number_positions(graph) if (value := self._inputs[position]) in known]

    def compile_now(self) -> None:
        """Compile for the machine in force, inside Dynamo's own tracing context."""
        self._compiled[Choice.current()] = self._guarded(copy_graph(self._graph))

    def __call__(self, *args: Any) -> Any:
        key = Choice.current()
        compiled = self._compiled.get(key)
        if compiled is None:
            with self._lock:
                compiled = self._compiled.get(key)
                if compiled is None:
                    context = TracingContext(self._fake_mode)
                    context.tensor_to_context.update(self._numbers)
                    with tracing(context):
                        compiled = self._compiled[key] = self._guarded(copy_graph(self._graph))
        return compiled(*args)

    def _guarded(self, graph: torch.fx.GraphModule) -> Callable[..., Any]:
        """Compile; an error of ours becomes the result, so that the user sees it as it is and not inside a compiler failure.

        Dynamo answers some failures of a backend by running the function eagerly, which here would be the host behind the user's back.
        """
        try:
            return self._compile_graph(graph, self._inputs)
        except Exception as error:
            own = find_own_error(error)
            if own is None and isinstance(error, exceptions_allowed_to_be_fallback) and hooks.options().fallback == "error":
                own = UnsupportedError(
                    "cannot compile a graph whose shapes or values depend on data",
                    found=str(error).split("\n", 1)[0],
                    where="torch.compile",
                    hint="run this part outside torch.compile, or allow fallback='cpu'",
                )
            if own is None:
                raise
            return _Raise(own)


class _Raise:
    """Stands for a graph that could not be compiled: every call raises the reason."""

    def __init__(self, error: TorchsimError) -> None:
        self._error = error

    def __call__(self, *args: Any) -> Any:
        raise self._error.with_traceback(None)


def static_inputs(graph: Any, inputs: Sequence[Any]) -> list[Any]:
    """Fake inputs with every symbolic size fixed to the value at hand.

    torchsim compiles per shape; Dynamo turns the choice into a guard and compiles again for another shape. Fakes also keep no
    real tensor alive; only numbers that Dynamo passes as tensors stay real, because AOTAutograd finds their symbols by the tensor.
    """
    fake_mode = detect_fake_mode(inputs)
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"] if isinstance(graph, torch.fx.GraphModule) else []
    numbers = number_positions(graph)
    fixed: list[Any] = []
    for position, value in enumerate(inputs):
        if isinstance(value, torch.Tensor) and position not in numbers:
            if fake_mode is not None and not isinstance(value, FakeTensor):
                known = placeholders[position].meta.get("example_value") if position < len(placeholders) else None
                value = known if isinstance(known, FakeTensor) else fake_mode.from_tensor(value, static_shapes=True)
            for number in (*value.shape, *value.stride(), value.storage_offset()):
                _fix(number)
        else:
            _fix(value)
        fixed.append(value)
    return fixed


def _fix(number: Any) -> None:
    """Asking for the value of a symbol installs the guard."""
    if isinstance(number, torch.SymInt):
        int(number)
    elif isinstance(number, torch.SymFloat):
        float(number)
    elif isinstance(number, torch.SymBool):
        bool(number)


def compile_npu(
    original: Callable[..., Any],
    graph: Any,
    inputs: Sequence[Any],
    inner_compile: Callable[..., Any] | None = None,
    config_patches: dict[str, Any] | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """``compile_fx`` for a graph with npu tensors.

    Args:
        original: Inductor's own ``compile_fx``.
        graph: Dynamo's graph.
        inputs: fake example inputs.
        inner_compile: Inductor's compiler of one post-grad graph; the default when None.
        config_patches: the user's Inductor options; torchsim's settings win over them.
        options: passed on.
    """
    from torch._inductor.compile_fx import compile_fx_inner

    settings = {**(config_patches or {}), **inductor_settings()}
    inner = inner_compile or compile_fx_inner

    def compile_post_grad(choice: Choice, *args: Any, **kwargs: Any) -> Any:
        """Also runs lazily, on another thread, for the backward graph: with the choice that the forward was compiled for."""
        with config.patch(settings), choice.in_force():
            try:
                return compile_with_policy(inner, *args, **kwargs)
            except Exception as error:
                own = find_own_error(error)
                if own is None:
                    raise
                raise own from None

    def compile_graph(module: torch.fx.GraphModule, example: Sequence[Any]) -> Callable[..., Any]:
        _nested.active = True
        try:
            with config.patch(settings):
                return original(module, example, inner_compile=functools.partial(compile_post_grad, Choice.current()), **options)
        finally:
            _nested.active = False

    examples = static_inputs(graph, inputs)
    if not isinstance(graph, torch.fx.GraphModule):
        return compile_graph(graph, examples)
    variants = Variants(graph, examples, compile_graph)
    variants.compile_now()
    return variants
