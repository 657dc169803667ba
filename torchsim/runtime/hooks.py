"""The seam between generated wrapper code and the runtime.

The Inductor front end calls these functions while it generates code and the generated code calls them while it runs. Behind
them stands one backend object; the default is the real runtime (compile, simulate), tests may install another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from torchsim.config import Machine
from torchsim.plan.group import Group
from torchsim.runtime.options import Options


@dataclass(frozen=True, slots=True)
class KernelContext:
    """What the golden comparison must know about a kernel.

    Attributes:
        graph_id: the graph (forward, backward, ..) that the kernel belongs to, as given to ``graph_started``.
        golden: argument name -> name of the fx node whose CPU value it must equal.
        incomparable: argument name -> reason why it cannot be compared.
    """

    graph_id: str
    golden: dict[str, str] = field(default_factory=dict[str, str])
    incomparable: dict[str, str] = field(default_factory=dict[str, str])


class Backend(Protocol):
    """What stands behind the hooks."""

    def define_kernel(self, group: Group, context: KernelContext) -> str:
        """Compile a group; returns the key under which generated code finds the kernel."""
        ...

    def kernel(self, key: str) -> Callable[..., None]:
        """The launcher of a defined kernel; called with the tensors of ``Group.args`` in order."""
        ...

    def record_fallback(self, op: str, node: str) -> None:
        """An op ran on the host because the user allowed it."""
        ...

    def graph_started(self, graph_module: Any, graph_id: str) -> None:
        """A graph with npu tensors is being lowered; ``graph_module`` is its post-grad fx graph."""
        ...

    def graph_called(self, graph_id: str, inputs: Sequence[Any], mutated: Sequence[int]) -> None:
        """A compiled graph begins to run on these inputs; ``mutated``: positions of those that it writes."""
        ...

    def machine(self) -> Machine:
        """The machine for which code is generated now."""
        ...

    def options(self) -> Options:
        """The options in force."""
        ...


_installed: list[Backend] = []


def backend() -> Backend:
    """The backend in force; the real runtime is made at the first use."""
    if not _installed:
        from torchsim.runtime.backend import RuntimeBackend

        _installed.append(RuntimeBackend())
    return _installed[-1]


@contextmanager
def install(replacement: Backend) -> Iterator[Backend]:
    """Put another backend in force for a while (tests, tools)."""
    backend()
    _installed.append(replacement)
    try:
        yield replacement
    finally:
        _installed.remove(replacement)


def define_kernel(group: Group, context: KernelContext) -> str:
    """See Backend.define_kernel."""
    return backend().define_kernel(group, context)


def kernel(key: str) -> Callable[..., None]:
    """See Backend.kernel."""
    return backend().kernel(key)


def record_fallback(op: str, node: str) -> None:
    """See Backend.record_fallback."""
    backend().record_fallback(op, node)


def graph_started(graph_module: Any, graph_id: str) -> None:
    """See Backend.graph_started."""
    backend().graph_started(graph_module, graph_id)


def graph_called(graph_id: str, inputs: Sequence[Any], mutated: Sequence[int] = ()) -> None:
    """See Backend.graph_called."""
    backend().graph_called(graph_id, inputs, mutated)


def machine() -> Machine:
    """See Backend.machine."""
    return backend().machine()


def options() -> Options:
    """See Backend.options."""
    return backend().options()
