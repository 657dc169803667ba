"""The real backend behind the hooks: compiles groups and hands out launchers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import torch

from torchsim.config import Machine
from torchsim.device import check_overlap
from torchsim.errors import ConfigError
from torchsim.plan.group import Group
from torchsim.runtime import kernel as kernels
from torchsim.runtime.hooks import KernelContext
from torchsim.runtime.launch import Launcher, add_observer
from torchsim.runtime.options import Options, current_options
from torchsim.runtime.selection import current_machine, current_tiles
from torchsim.runtime.session import active_session

VERIFIER_GROUP = "torchsim.verifier"


class GraphWatcher:
    """Receives post-grad graphs and their calls; the golden oracle subclasses this."""

    def graph_started(self, graph_module: Any, graph_id: str) -> None:
        """A graph is being lowered."""

    def graph_called(self, graph_id: str, inputs: Sequence[Any]) -> None:
        """A compiled graph begins to run."""


class RuntimeBackend:
    """Compiles each distinct group once per process and machine."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._launchers: dict[str, Launcher] = {}
        self._kernels: dict[str, kernels.Kernel] = {}
        self.compiled = 0
        self.watchers: list[GraphWatcher] = []
        self.graphs: dict[str, Any] = {}
        self._verifier_loaded = False

    def define_kernel(self, group: Group, context: KernelContext) -> str:
        """See hooks.Backend. The machine and the tile override in force now are captured."""
        machine, tiles = current_machine(), current_tiles()
        key = kernels.kernel_key(group, machine, tiles)
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                kernel = kernels.obtain(group, machine, tiles)
                self._kernels[key] = kernel
                self.compiled += int(kernel.compiled)
            name = f"{key[:16]}_{context.graph_id}_{len(self._launchers)}"
            self._launchers[name] = Launcher(kernel, context.graph_id, context.golden, context.incomparable)
        return name

    def kernel(self, key: str) -> Callable[..., None]:
        """See hooks.Backend."""
        return self._launchers[key]

    def record_fallback(self, op: str, node: str) -> None:
        """See hooks.Backend."""
        session = active_session()
        if session is not None:
            session.add_fallback(op, node)

    def graph_started(self, graph_module: Any, graph_id: str) -> None:
        """See hooks.Backend."""
        self.graphs[graph_id] = graph_module
        for watcher in self.watchers:
            watcher.graph_started(graph_module, graph_id)

    def graph_called(self, graph_id: str, inputs: Sequence[Any], mutated: Sequence[int]) -> None:
        """See hooks.Backend.

        Raises:
            InvalidInputError: two input storages share memory and one of them is written.
        """
        if mutated:
            tensors = [(i, item) for i, item in enumerate(inputs) if isinstance(item, torch.Tensor)]
            roles = ["inout" if i in mutated else "input" for i, _ in tensors]
            check_overlap([item for _, item in tensors], roles, [f"input {i}" for i, _ in tensors])
        options = current_options()
        if options.functional and options.verify:
            self._ensure_verifier()
        for watcher in self.watchers:
            watcher.graph_called(graph_id, inputs)

    def _ensure_verifier(self) -> None:
        """Load the golden oracle, which lives outside this package, the first time that verify is on."""
        with self._lock:
            if self._verifier_loaded:
                return
            found = list(metadata.entry_points(group=VERIFIER_GROUP))
            if not found:
                raise ConfigError(
                    "per-kernel verify is on but no verifier is installed",
                    expected=f"an entry point in group {VERIFIER_GROUP!r}",
                    hint="pip install -e . in the project folder, or set_options(verify=False)",
                )
            verifier = found[0].load()(only_when_option_set=True)
            self.watchers.append(verifier)
            add_observer(verifier)
            self._verifier_loaded = True

    def machine(self) -> Machine:
        """See hooks.Backend."""
        return current_machine()

    def options(self) -> Options:
        """See hooks.Backend."""
        return current_options()
