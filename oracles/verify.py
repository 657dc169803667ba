"""Per-kernel verify (requirement H-2): every realised buffer is compared with the golden value of its fx node, at the first use.

Switched on by ``torchsim.set_options(verify=True)``, by ``pytorchsim_functional_verify_per_kernel`` in a machine file, or by the
pytest plugin; stops at the first divergence with kernel, op, indices and figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from oracles.golden import Golden
from oracles.tolerance import compare
from torchsim import device
from torchsim.errors import DivergenceError
from torchsim.runtime import hooks
from torchsim.runtime.backend import GraphWatcher, RuntimeBackend
from torchsim.runtime.launch import Launch, Observer, add_observer, remove_observer
from torchsim.runtime.options import current_options


@dataclass(slots=True)
class Verified:
    """What a verify run looked at: compared (kernel, buffer, ulp) and buffers that could not be compared with the reason."""

    compared: list[tuple[str, str, float]] = field(default_factory=list[tuple[str, str, float]])
    skipped: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])


class KernelVerifier(GraphWatcher, Observer):
    """Watches graphs and kernel calls.

    Args:
        only_when_option_set: act only while ``torchsim.set_options(verify=True)`` is in force.
    """

    def __init__(self, *, only_when_option_set: bool = False) -> None:
        self._by_option = only_when_option_set
        self.result = Verified()
        self._goldens: dict[str, Golden] = {}

    def graph_called(self, graph_id: str, inputs: Sequence[Any]) -> None:
        """Run the golden once, on copies of the inputs."""
        if self._by_option and not current_options().verify:
            return
        self._goldens[graph_id] = Golden(_backend().graphs[graph_id], inputs)

    def after(self, launch: Launch) -> float | None:
        """Compare the outputs of one kernel call.

        Raises:
            DivergenceError: at the first buffer that is off.
        """
        if launch.execution is None or (self._by_option and not launch.options.verify):
            return None
        plan = launch.call.kernel.plan
        golden = self._goldens.get(launch.graph_id)
        worst: float | None = None
        for arg, tensor in zip(plan.args, launch.tensors, strict=True):
            if arg.role == "input":
                continue
            node = launch.golden.get(arg.name)
            value = golden.value(node) if golden is not None and node is not None else None
            if value is None:
                reason = launch.incomparable.get(arg.name) or (
                    "no golden value" if golden is not None else "the graph was called before verify was on"
                )
                self.result.skipped.append((plan.name, arg.name, reason))
                continue
            measured = self._check(plan.name, plan.origins, arg.name, str(node), tensor, value)
            worst = measured if worst is None else max(worst, measured)
        return worst

    def _check(self, kernel: str, origins: tuple[str, ...], buffer: str, node: str, tensor: Any, value: Any) -> float:
        found = device.host_view(tensor) if tensor.device.type == "npu" else tensor
        if tuple(found.shape) != tuple(value.eager.shape):
            if found.numel() != value.eager.numel():
                self.result.skipped.append(
                    (kernel, buffer, f"layout differs: buffer {tuple(found.shape)}, node {tuple(value.eager.shape)}")
                )
                return 0.0
            found = found.reshape(value.eager.shape)
        rtol, atol = (_environment(name) for name in ("TORCHSIM_FUNCTIONAL_VERIFY_RTOL", "TORCHSIM_FUNCTIONAL_VERIFY_ATOL"))
        outcome = compare(
            found,
            value.eager,
            value.truth,
            exact=value.exact and rtol is None and atol is None,
            length=value.length,
            error=value.error,
            signed_zero=value.signed_zero,
            rtol=rtol,
            atol=atol,
        )
        self.result.compared.append((kernel, buffer, outcome.max_ulp))
        if outcome.difference is not None:
            own = compare(value.eager, value.truth.to(value.eager.dtype), value.truth, exact=False, length=value.length)
            note = "" if own.difference is None else f"; eager itself is {own.max_ulp:.3g} ulp from float64"
            raise DivergenceError(
                f"kernel {kernel} computes wrong values",
                expected=f"the CPU value of fx node {node} ({'bit for bit' if value.exact else 'within the derived tolerance'})",
                found=f"{outcome.difference}{note}",
                where=f"buffer {buffer}, origins {', '.join(origins)}",
                hint="TORCHSIM_DUMP=folder writes every compile stage; docs/read-a-failure.md",
            )
        return outcome.max_ulp


def _environment(name: str) -> float | None:
    text = os.environ.get(name)
    return float(text) if text else None


def _backend() -> RuntimeBackend:
    found = hooks.backend()
    assert isinstance(found, RuntimeBackend)
    return found


@contextmanager
def verified() -> Iterator[Verified]:
    """Verify every kernel that runs inside the block.

    Raises:
        DivergenceError: from the kernel call that diverges.
    """
    verifier = KernelVerifier()
    backend = _backend()
    backend.watchers.append(verifier)
    add_observer(verifier)
    try:
        yield verifier.result
    finally:
        backend.watchers.remove(verifier)
        remove_observer(verifier)


def eager_agrees(found: torch.Tensor, eager: torch.Tensor, truth: torch.Tensor, *, length: int = 1) -> bool:
    """Whether a model's output agrees with the uncompiled eager model under the derived tolerance."""
    return compare(found, eager, truth, exact=False, length=length).difference is None
