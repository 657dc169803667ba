"""Plan oracle: the NumPy plan interpreter runs every kernel call beside the machine code; tells a planning fault from an emission fault."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from oracles import snapshot
from oracles.tolerance import NOISE_SEEDS, compare, largest_error
from torchsim.errors import DivergenceError
from torchsim.plan.dtypes import DType
from torchsim.plan.interpreter import run
from torchsim.plan.model import KernelPlan
from torchsim.plan.poison import poisoned
from torchsim.plan.rounding import RoundingNoise
from torchsim.runtime.cycles import blocks
from torchsim.runtime.launch import Launch, Observer

_TORCH = {DType.F64: torch.float64, DType.F32: torch.float32, DType.F16: torch.float16, DType.BF16: torch.bfloat16}


class PlanOracle(Observer):
    """Interprets the plan of every kernel call on copies of its memory, with padding poisoned, and compares the outputs.

    The interpreter adds in another order than the vector code, so floats that went through a reduction or the array are compared
    with the derived
    tolerance; everything else bit for bit in value.
    """

    def __init__(self) -> None:
        self.checked = 0
        self._before: snapshot.Snapshot | None = None

    def before(self, launch: Launch) -> None:
        """Keep the memory as it is before the call."""
        self._before = snapshot.take(launch.windows)

    def after(self, launch: Launch) -> float | None:
        """Interpret and compare.

        Raises:
            DivergenceError: the plan computes other values than the machine code.
        """
        if launch.execution is None or self._before is None:
            return None
        plan, bases = launch.call.kernel.plan, launch.call.bases
        windows, copies = self._before.on_copies()
        expected = [_view(plan, number, bases[number], windows, copies) for number in range(len(plan.args))]
        run(poisoned(plan), expected)
        now = snapshot.take(launch.windows)
        for number, arg in enumerate(plan.args):
            if arg.role != "input":
                found = _view(plan, number, bases[number], now.windows, now.contents)
                self._compare(
                    plan, arg.name, arg.dtype, expected[number], found, partial(self._sensitivity, launch, number, expected[number])
                )
        self.checked += 1
        return None

    def _compare(
        self, plan: KernelPlan, name: str, dtype: DType, expected: np.ndarray, found: np.ndarray, sensitivity: Callable[[], float]
    ) -> None:
        if not dtype.is_float:
            outcome = compare(torch.from_numpy(found), torch.from_numpy(expected), torch.from_numpy(expected), exact=True)
        else:
            want, got = (_tensor(array, dtype) for array in (expected, found))
            length = reduction_length(plan)
            # Both legs are approximations of the same sum: allow what two f32 sums of this length may differ by, relative to the
            # largest element.
            scale = float(want.double().abs().nan_to_num(0, 0, 0).max()) if want.numel() else 0.0
            inexact = length > 1 or any(op.name in _INEXACT for block in blocks(plan.body) for op in block.ops)
            atol = 4 * length * torch.finfo(_TORCH[DType.F32 if dtype.is_half else dtype]).eps * scale if inexact else 0.0
            rtol = 4 * torch.finfo(_TORCH[dtype]).eps if inexact else None
            outcome = compare(got, want, want.double(), exact=not inexact, rtol=rtol, atol=atol if inexact else None)
            if outcome.difference is not None and inexact and smooth(plan):
                outcome = compare(got, want, want.double(), exact=False, rtol=rtol, atol=atol + 4 * sensitivity())
        if outcome.difference is not None:
            raise DivergenceError(
                f"the plan of kernel {plan.name} computes other values than its machine code",
                expected="the plan interpreter's value",
                found=str(outcome.difference),
                where=f"argument {name}, origins {', '.join(plan.origins)}",
                hint="emission or a pass is wrong, unless the golden disagrees with the plan too",
            )

    def _sensitivity(self, launch: Launch, number: int, expected: np.ndarray) -> float:
        """Largest change of an output under random rounding errors: how far apart two right executions of this kernel may be."""
        assert self._before is not None
        plan, bases = launch.call.kernel.plan, launch.call.bases
        dtype, largest = plan.args[number].dtype, 0.0
        for seed in NOISE_SEEDS:
            windows, copies = self._before.on_copies()
            arrays = [_view(plan, position, bases[position], windows, copies) for position in range(len(plan.args))]
            run(poisoned(plan), arrays, noise=RoundingNoise(seed))
            largest = max(largest, largest_error(_tensor(arrays[number], dtype), _tensor(expected, dtype)))
        return largest


_JUMPS = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "floor", "ceil", "trunc", "round", "sign", "floordiv", "mod", "remainder", "truncdiv", "bitcast"}
)


def smooth(plan: KernelPlan) -> bool:
    """Whether no op of the plan jumps, so that a rounding error stays a small error (masks of padding aside)."""
    return not any(op.name in _JUMPS for block in blocks(plan.body) for op in block.ops)


_INEXACT = frozenset({"exp", "tanh", "erf", "sin", "cos", "log", "atan", "sigmoid", "rsqrt", "fma"})


def reduction_length(plan: KernelPlan) -> int:
    """Number of terms behind one output element."""
    length = 1
    for axis in plan.axes:
        length *= max(axis.extent, 1) if axis.reduction else 1
    return length


def _tensor(array: np.ndarray, dtype: DType) -> torch.Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(array).view(np.int16) if dtype is DType.BF16 else np.ascontiguousarray(array))
    return tensor.view(torch.bfloat16) if dtype is DType.BF16 else tensor


def _view(plan: KernelPlan, number: int, base: int, windows: object, contents: object) -> np.ndarray:
    """The argument's elements as a 1-d array over the copied window bytes."""
    arg = plan.args[number]
    nbytes = arg.elements * arg.dtype.bytes
    if nbytes == 0:
        return np.empty(0, arg.dtype.numpy)
    for window, content in zip(windows, contents, strict=True):  # type: ignore[call-overload]
        start = base - window.address
        if 0 <= start and start + nbytes <= window.nbytes:
            return content[start : start + nbytes].view(arg.dtype.numpy)
    raise AssertionError(f"argument {arg.name} of {plan.name} lies in no window")
