"""The Inductor front end: from ``torch.compile`` to analysed groups (``torchsim.plan.group.Group``).

``install()`` is called by ``import torchsim`` and only leaves watchers behind; ``activate()`` loads and registers the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from torchsim.inductor.lazy import after_import

_OWN_FRAMES = ("torchsim.device", "torchsim.runtime", "torchsim.inductor.compile", "torchsim.inductor.backend")
"""What runs around compiled graphs and after graph breaks. Not all of torchsim: models and tests live there too."""
_lock = threading.RLock()
_state = {"installed": False, "activated": False}


def install() -> None:
    """Watch for Dynamo and Inductor; cheap, idempotent, imports neither."""
    with _lock:
        if _state["installed"]:
            return
        _state["installed"] = True
        after_import("torch._dynamo.trace_rules", _skip_own_frames)
        after_import("torch._dynamo.device_interface", _register_interface)
        after_import("torch._dynamo.backends.registry", _register_backend)
        after_import("torch._inductor.compile_fx", _hook_compile)


def activate() -> None:
    """Register scheduling, wrapper and lowerings with Inductor; idempotent. Happens by itself at the first graph with npu tensors."""
    with _lock:
        if _state["activated"]:
            return
        _state["activated"] = True
        from torchsim.inductor import registration

        registration.register()


def _skip_own_frames(module: ModuleType) -> None:
    """Dynamo must not try to compile the device's eager kernels when they run after a graph break."""
    for name in _OWN_FRAMES:
        module.add(name)


def _register_interface(module: ModuleType) -> None:
    from torchsim.inductor.interface import make_interface

    module.register_interface_for_device("npu", make_interface(module.DeviceInterface))


def _register_backend(module: ModuleType) -> None:
    if module._BACKENDS.get("torchsim") is not None:
        return  # the entry point was found first: Dynamo is loading it right now and registers what it gets

    def torchsim(graph: Any, inputs: Sequence[Any], **options: Any) -> Any:
        from torchsim.inductor.backend import torchsim as compile_graph

        return compile_graph(graph, inputs, **options)

    module.register_backend(torchsim, name="torchsim")


def _hook_compile(module: ModuleType) -> None:
    original = module.compile_fx

    def compile_fx(model_: Any, example_inputs_: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        from torchsim.inductor.compile import compile_npu, needs_npu

        if not needs_npu(model_, example_inputs_):
            return original(model_, example_inputs_, *args, **kwargs)
        activate()
        return compile_npu(original, model_, example_inputs_, *args, **kwargs)

    compile_fx.__doc__ = original.__doc__
    setattr(module, "compile_fx", compile_fx)  # noqa: B010  (a module's attribute that type checkers do not know)
