"""Run a function on the NPU under every oracle at once: the harness behind the ``differential`` fixture and the fuzzer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.node import map_aggregate
from torch.overrides import TorchFunctionMode

import torchsim
from oracles.dma_order import DmaOrderOracle
from oracles.plan_leg import PlanOracle
from oracles.records import RecordOracle
from oracles.scan_modes import ScanModeOracle
from oracles.stock_spike import StockSpikeOracle
from oracles.tolerance import NOISE_SEEDS, compare, error_scale, perturb
from oracles.trace_analysis.oracle import TraceAnalysisOracle
from oracles.verify import KernelVerifier, Verified
from torchsim.config import Machine
from torchsim.errors import DivergenceError
from torchsim.runtime import hooks
from torchsim.runtime.backend import RuntimeBackend
from torchsim.runtime.launch import Observer, add_observer, remove_observer
from torchsim.runtime.session import Session

ORACLES: dict[str, Callable[[Machine], Observer]] = {
    "plan": lambda machine: PlanOracle(),
    "dma": lambda machine: DmaOrderOracle(),
    "spike": StockSpikeOracle,
    "records": lambda machine: RecordOracle(),
    "scan": lambda machine: ScanModeOracle(),
    "analyser": lambda machine: TraceAnalysisOracle(),
}
"""Kernel oracles by name; the golden comparison is always on."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one checked call: device outputs on the host, the session, and what verify looked at."""

    outputs: tuple[torch.Tensor, ...]
    session: Session
    verified: Verified


class Differential:
    """Checks functions on one machine. Every kernel call is watched by the golden and the chosen kernel oracles."""

    def __init__(self, machine: Machine, observers: Sequence[Observer], verifier: KernelVerifier) -> None:
        self.machine = machine
        self.observers = observers
        self._verifier = verifier

    @property
    def wants_record(self) -> bool:
        """Whether an oracle needs the log of what the machine code executed (option ``record``)."""
        return any(isinstance(observer, RecordOracle) for observer in self.observers)

    @staticmethod
    @contextmanager
    def on(machine: Machine, oracles: Sequence[str] = tuple(ORACLES)) -> Iterator[Differential]:
        """Watch everything that runs inside the block.

        Args:
            machine: the selected machine.
            oracles: names out of ORACLES.
        """
        backend = hooks.backend()
        assert isinstance(backend, RuntimeBackend)
        verifier = KernelVerifier()
        observers = [ORACLES[name](machine) for name in oracles]
        with ExitStack() as stack:
            backend.watchers.append(verifier)
            stack.callback(backend.watchers.remove, verifier)
            for observer in (*observers, verifier):
                add_observer(observer)
                stack.callback(remove_observer, observer)
            yield Differential(machine, observers, verifier)

    def check(
        self, function: Callable[..., Any], *inputs: Any, kernels: int | None = None, exact: bool = False, length: int = 1
    ) -> Outcome:
        """Compile ``function``, run it on the NPU, compare outputs, mutated inputs and every kernel with the CPU.

        Args:
            function: takes ``inputs`` (a module is copied for each run on the CPU), returns a tensor or a tuple or list of them.
            inputs: CPU tensors (cloned for each run) or plain values.
            kernels: expected number of kernel calls, when given.
            exact: outputs must be equal bit for bit.
            length: longest reduction, for the tolerance of the outputs.

        Raises:
            DivergenceError: any oracle disagrees.
        """
        eager_inputs, device_inputs = _clone(inputs), _clone(inputs)
        eager = _flatten((copy.deepcopy(function) if isinstance(function, torch.nn.Module) else function)(*eager_inputs))
        truth_inputs, truth = _evaluate(function, inputs, torch.float64)
        narrow_inputs, narrow = _evaluate(function, inputs, torch.float32)
        noisy = [_evaluate(function, inputs, torch.float64, noise=seed, like=eager)[1] for seed in NOISE_SEEDS]
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="torchsim", dynamic=False)
        with torchsim.options(functional=True, timing=True, record=self.wants_record), torchsim.session() as session:
            found = _flatten(compiled(*device_inputs))
        self._outputs("output", found, eager, truth, narrow, exact, length, noisy)
        changed, kept, wide, rough = (
            [item for item in items if isinstance(item, torch.Tensor)]
            for items in (device_inputs, eager_inputs, truth_inputs, narrow_inputs)
        )
        self._outputs("input after the call", changed, kept, wide, rough, exact, length)
        if kernels is not None and len(session.kernels) != kernels:
            raise DivergenceError(
                "another number of kernels than expected",
                expected=f"{kernels} kernels",
                found=", ".join(f"{run.name}({'+'.join(run.origins)})" for run in session.kernels) or "none",
                hint="logger torchsim.fusion (level DEBUG) says why fusions were declined",
            )
        return Outcome(tuple(found), session, self._verifier.result)

    def _outputs(
        self,
        what: str,
        found: Sequence[torch.Tensor],
        eager: Sequence[torch.Tensor],
        truth: Sequence[torch.Tensor],
        narrow: Sequence[torch.Tensor],
        exact: bool,
        length: int,
        noisy: Sequence[Sequence[torch.Tensor]] = (),
    ) -> None:
        if len(found) != len(eager):
            raise DivergenceError(f"another number of {what}s", expected=str(len(eager)), found=str(len(found)))
        for number, (got, want, wide, rough) in enumerate(zip(found, eager, truth, narrow, strict=True)):
            host = got.detach().cpu()
            if host.shape != want.shape or host.dtype != want.dtype:
                raise DivergenceError(
                    f"{what} {number} has another form",
                    expected=f"{tuple(want.shape)} {want.dtype}",
                    found=f"{tuple(host.shape)} {host.dtype}",
                )
            error = error_scale(want.detach(), wide.detach(), rough.detach(), [run[number].detach() for run in noisy])
            outcome = compare(host, want.detach(), wide.detach(), exact=exact, length=length, error=error, signed_zero=False)
            if outcome.difference is not None:
                raise DivergenceError(
                    f"{what} {number} differs from uncompiled eager",
                    expected="the CPU's value",
                    found=str(outcome.difference),
                    where=f"machine {self.machine.name}",
                )


def _evaluate(
    function: Callable[..., Any], inputs: Sequence[Any], floats: torch.dtype, *, noise: int | None = None, like: Sequence[torch.Tensor] = ()
) -> tuple[list[Any], list[torch.Tensor]]:
    """Inputs after the call and outputs, with every float tensor converted first.

    ``noise``: seed of random rounding errors after every function, of the size that the narrowest type of ``like`` has.
    """
    if isinstance(function, torch.nn.Module):
        function = copy.deepcopy(function).to(floats)
    converted = [item.to(floats) if isinstance(item, torch.Tensor) and item.dtype.is_floating_point else item for item in _clone(inputs)]
    halves = [tensor for tensor in like if tensor.dtype.is_floating_point]
    narrowest = min(halves, key=lambda tensor: -torch.finfo(tensor.dtype).eps, default=torch.empty(0))
    with _Floats(floats, narrowest, None if noise is None else torch.Generator().manual_seed(noise)):
        return converted, _flatten(function(*converted))


class _Floats(TorchFunctionMode):
    """Conversions to any float type become conversions to one type, so that ``x.half()`` does not narrow an evaluation in float64."""

    def __init__(self, floats: torch.dtype, like: torch.Tensor, generator: torch.Generator | None) -> None:
        super().__init__()
        self._floats = floats
        self._like = like
        self._generator = generator

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Replace dtype arguments and the named conversions."""
        if func in _CONVERSIONS:
            return args[0].to(self._floats)
        replaced = map_aggregate(tuple(args), self._replace)
        named: dict[str, Any] = {name: map_aggregate(value, self._replace) for name, value in (kwargs or {}).items()}
        value = func(*replaced, **named)
        if isinstance(value, torch.Tensor) and value.dtype.is_floating_point and value.dtype is not self._floats:
            value = value.to(self._floats)  # made by a function of numbers, in torch's default type
        if self._generator is None or _shares_memory(value, replaced):
            return value
        return perturb(value, self._like, self._generator)

    def _replace(self, item: Any) -> Any:
        return self._floats if isinstance(item, torch.dtype) and item.is_floating_point else item


def _shares_memory(value: Any, arguments: Sequence[Any]) -> bool:
    """Whether a result is a view of an argument or the argument itself: nothing was rounded, and a copy would break the alias."""
    if not isinstance(value, torch.Tensor):
        return True
    tensors = [item for item in arguments if isinstance(item, torch.Tensor)]
    return any(item.untyped_storage().data_ptr() == value.untyped_storage().data_ptr() for item in tensors)


_CONVERSIONS = (torch.Tensor.half, torch.Tensor.bfloat16, torch.Tensor.float, torch.Tensor.double)


def _flatten(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for item in result for tensor in _flatten(item)] if isinstance(result, (tuple, list)) else []


def _clone(inputs: Sequence[Any]) -> list[Any]:
    """Copies that keep strides, offsets and sharing: the whole storage of each tensor is copied once."""
    storages: dict[int, torch.Tensor] = {}
    copies: list[Any] = []
    for item in inputs:
        if not isinstance(item, torch.Tensor):
            copies.append(item)
            continue
        storage = item.untyped_storage()
        flat = storages.get(storage.data_ptr())
        if flat is None:
            flat = torch.empty(0, dtype=torch.uint8).set_(storage).clone()  # type: ignore[arg-type]
            storages[storage.data_ptr()] = flat
        copied = torch.empty(0, dtype=item.dtype).set_(flat.untyped_storage(), item.storage_offset(), item.size(), item.stride())
        copies.append(copied.requires_grad_(item.requires_grad))
    return copies
