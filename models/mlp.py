"""Multi-layer perceptron: linear, ReLU, linear; squared error (requirement M-1)."""

from __future__ import annotations

import torch

from models.interface import Batch


class Mlp:
    """``features`` -> ``hidden`` -> ``classes``, batch of ``rows``."""

    name = "mlp"

    def __init__(self, rows: int = 24, features: int = 40, hidden: int = 56, classes: int = 10) -> None:
        self._sizes = (rows, features, hidden, classes)

    def module(self) -> torch.nn.Module:
        """A fresh module with seeded weights, on the CPU."""
        torch.manual_seed(7)
        _, features, hidden, classes = self._sizes
        return torch.nn.Sequential(torch.nn.Linear(features, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes))

    def batch(self) -> Batch:
        """A seeded batch."""
        generator = torch.Generator().manual_seed(8)
        rows, features, _, classes = self._sizes
        return Batch((torch.randn(rows, features, generator=generator),), torch.randn(rows, classes, generator=generator))

    def loss(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Mean squared error."""
        return torch.nn.functional.mse_loss(output, target)
