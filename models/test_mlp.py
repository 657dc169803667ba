"""MLP: inference, backward and a compiled SGD step on the NPU equal CPU training (requirements D-1, D-2, M-1)."""

from __future__ import annotations

import pytest
import torch

import torchsim
from models.mlp import Mlp
from oracles.differential import Differential

pytestmark = pytest.mark.model


def _train(module: torch.nn.Module, inputs: torch.Tensor, target: torch.Tensor, steps: int, *, compiled: bool) -> list[float]:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    forward = torch.compile(lambda x, y: Mlp().loss(module(x), y), dynamic=False) if compiled else lambda x, y: Mlp().loss(module(x), y)
    step = torch.compile(optimizer.step) if compiled else optimizer.step
    losses: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = forward(inputs, target)
        loss.backward()
        step()
        losses.append(float(loss.detach().cpu()))
    return losses


@pytest.mark.req("D-1", "D-2", "M-1")
def test_training_on_the_device_equals_cpu(npu_machine: torchsim.Machine) -> None:
    model = Mlp()
    batch = model.batch()
    cpu, npu = model.module(), model.module().to("npu")
    expected = _train(cpu, batch.inputs[0], batch.target, 3, compiled=False)
    torch._dynamo.reset()
    with Differential.on(npu_machine), torchsim.options(record=True), torchsim.session() as session:
        found = _train(npu, batch.inputs[0].to("npu"), batch.target.to("npu"), 3, compiled=True)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-5, atol=1e-6)
    for mine, theirs in zip(npu.parameters(), cpu.parameters(), strict=True):
        torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), rtol=1e-5, atol=1e-6)
    assert session.fallbacks == []
    assert session.cycles > 0
    assert expected[-1] < expected[0]


@pytest.mark.req("D-1")
def test_inference_through_the_backend(differential: Differential) -> None:
    model = Mlp()
    module = model.module().eval().requires_grad_(False)
    outcome = differential.check(module, model.batch().inputs[0], length=56, kernels=2)
    assert all(run.sa_utilization > 0 for run in outcome.session.kernels)
