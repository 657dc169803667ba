"""What every model here offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True, slots=True)
class Batch:
    """One training batch: ``inputs`` for the module, ``target`` for its loss."""

    inputs: tuple[torch.Tensor, ...]
    target: torch.Tensor


class Model(Protocol):
    """A reduced network: seeded module, seeded batch, loss."""

    name: str

    def module(self) -> torch.nn.Module:
        """A fresh module with seeded weights, on the CPU."""
        ...

    def batch(self) -> Batch:
        """A seeded batch."""
        ...

    def loss(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Scalar loss."""
        ...
