"""A fuzzed program: inputs and a straight line of steps, as data that prints, replays and shrinks.

A program is built so that its true value is well conditioned: divisors, logarithms and roots are kept away from their singular points,
and discontinuous operations (compares, rounding, casts to integers) apply to exact values only, where device and CPU must agree
bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "bool": torch.bool,
}


@dataclass(frozen=True, slots=True)
class Input:
    """One input tensor: logical ``shape`` after a view of a contiguous tensor.

    ``view``: contiguous, transposed (last two axes), sliced (every second element of the last axis), offset (starts one element
    in), expanded (first axis
    broadcast).
    """

    shape: tuple[int, ...]
    dtype: str
    view: str
    seed: int

    def make(self) -> torch.Tensor:
        """The tensor; values are small multiples of 1/8, so that sums of a few are exact."""
        generator = torch.Generator().manual_seed(self.seed)
        shape = list(self.shape)
        if self.view == "transposed" and len(shape) > 1:
            shape[-1], shape[-2] = shape[-2], shape[-1]
        elif self.view == "sliced":
            shape[-1] *= 2
        elif self.view == "offset":
            shape[-1] += 1
        elif self.view == "expanded":
            shape[0] = 1
        base = torch.randint(-24, 25, shape, generator=generator)
        dtype = DTYPES[self.dtype]
        tensor = base > 0 if dtype is torch.bool else (base / 8).to(dtype) if dtype.is_floating_point else base.to(dtype)
        if self.view == "transposed" and len(shape) > 1:
            return tensor.transpose(-1, -2)
        if self.view == "sliced":
            return tensor[..., ::2]
        if self.view == "offset":
            return tensor[..., 1:]
        return tensor.expand(self.shape) if self.view == "expanded" else tensor


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on earlier values (inputs first, then step results); ``parameters`` are plain values."""

    op: str
    operands: tuple[int, ...]
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Inputs, steps and which values are returned. Callable on tensors."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    tiles: tuple[tuple[str, int], ...] = ()

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run the steps on the inputs."""
        values: list[torch.Tensor] = list(tensors)
        for step in self.steps:
            values.append(APPLY[step.op](*[values[i] for i in step.operands], *step.parameters))
        return tuple(values[i] for i in self.outputs)

    def make_inputs(self) -> list[torch.Tensor]:
        """Fresh input tensors."""
        return [item.make() for item in self.inputs]


def _reduce(name: str) -> Callable[..., torch.Tensor]:
    def apply(value: torch.Tensor, axes: Sequence[int], keepdim: bool) -> torch.Tensor:
        return getattr(torch, name)(value, dim=tuple(axes), keepdim=keepdim)

    return apply


APPLY: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "divide": lambda a, b: a / (b.abs() + 0.5),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "neg": torch.neg,
    "abs": torch.abs,
    "relu": torch.relu,
    "scale": lambda a, k: a * k,
    "exp": lambda a: torch.exp(torch.clamp(a, -6, 4)),
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "gelu": torch.nn.functional.gelu,
    "sqrt": lambda a: torch.sqrt(a.abs() + 0.25),
    "rsqrt": lambda a: torch.rsqrt(a.abs() + 0.25),
    "where": lambda a, b: torch.where(a > 0.25, a, b),
    "less": torch.lt,
    "equal": torch.eq,
    "select": torch.where,
    "cast": lambda a, name: a.to(DTYPES[name]),
    "sum": _reduce("sum"),
    "mean": _reduce("mean"),
    "amax": _reduce("amax"),
    "amin": _reduce("amin"),
    "var": lambda a, axes, keepdim: torch.var(a, dim=tuple(axes), keepdim=keepdim, correction=0),
    "softmax": torch.softmax,
    "layer_norm": lambda a: torch.nn.functional.layer_norm(a, a.shape[-1:]),
    "mm": torch.mm,
    "addmm": torch.addmm,
    "transpose": lambda a: a.transpose(-1, -2),
}
