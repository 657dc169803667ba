"""Fixtures of the front end's tests: compile on the evaluator backend, compare with eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import torchsim  # noqa: F401  (registers the device)
from torchsim.inductor.evaluator_backend import EvaluatorBackend
from torchsim.runtime import hooks, selection

with warnings.catch_warnings():  # torch's own modules use deprecated parts of torch when they are first imported
    warnings.simplefilter("ignore")
    import torch._inductor.compile_fx


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[EvaluatorBackend]:
    """Kernels are evaluated as groups; the machine is 8x8; Dynamo starts empty."""
    evaluator = EvaluatorBackend()
    monkeypatch.setattr(hooks, "_installed", [evaluator])
    torch._dynamo.reset()
    torch.manual_seed(0)
    with selection.machine("8x8"):
        yield evaluator


@pytest.fixture
def check(backend: EvaluatorBackend) -> Callable[..., EvaluatorBackend]:
    """``check(function, *cpu_tensors)``: compiled on npu copies equals eager on the CPU, in values, types and updated inputs."""

    def run(
        function: Callable[..., Any], *inputs: Any, rtol: float | None = None, atol: float | None = None, kernels: int | None = None
    ) -> EvaluatorBackend:
        backend.groups.clear()
        mine = [to_device(value) for value in inputs]
        theirs = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
        with torch.no_grad():
            expected = function(*theirs)
            found = torch.compile(function)(*mine)
        for want, got in zip(_flat(expected), _flat(found), strict=True):
            torch.testing.assert_close(got.cpu(), want, rtol=rtol, atol=atol, equal_nan=True)
        for want, got in zip(theirs, mine, strict=True):
            if isinstance(want, torch.Tensor):
                torch.testing.assert_close(got.cpu(), want, rtol=rtol, atol=atol, equal_nan=True)
        if kernels is not None:
            assert len(backend.groups) == kernels, [group.origins for group, _, _ in backend.groups]
        assert not backend.fallbacks
        return backend

    return run


def to_device(value: Any) -> Any:
    """The tensor on npu with the same strides and storage offset."""
    if not isinstance(value, torch.Tensor):
        return value
    storage = torch.empty(value.untyped_storage().nbytes() // value.element_size(), dtype=value.dtype)
    storage.copy_(torch.as_strided(value, storage.shape, (1,), 0))
    return storage.to("npu").as_strided(value.size(), value.stride(), value.storage_offset())


def _flat(value: Any) -> list[torch.Tensor]:
    return [part for item in value for part in _flat(item)] if isinstance(value, (list, tuple)) else [value]
