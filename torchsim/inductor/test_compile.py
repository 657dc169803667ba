"""The front door: activation, guards of machine and shape, errors, fallback policy, training, retagged CPU graphs."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from torchsim.errors import InvalidInputError, UnsupportedError
from torchsim.inductor.evaluator_backend import EvaluatorBackend
from torchsim.runtime import selection
from torchsim.runtime.options import options

R = torch.randn


def mlp() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))


def test_import_loads_no_compiler() -> None:
    """``import torchsim`` registers the device and leaves Dynamo and Inductor alone."""
    code = (
        "import torch, torchsim, sys; assert torch.ones(2, device='npu').is_npu;"
        "print([m for m in ('torch._inductor', 'torch._dynamo') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.req("D-1")
def test_backend_by_entry_point_alone() -> None:
    """Dynamo finds the installed entry point and imports torchsim by it."""
    code = (
        "from importlib.metadata import EntryPoint; import torch._dynamo.backends.registry as r;"
        "r._BACKENDS['torchsim'] = EntryPoint('torchsim', 'torchsim.inductor.backend:torchsim', 'torch_dynamo_backends');"
        "print(r.lookup_backend('torchsim').__module__, r.lookup_backend('torchsim') is r._COMPILER_FNS['torchsim'])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["torchsim.inductor.backend", "True"]


@pytest.mark.req("D-1", "D-2")
@pytest.mark.parametrize("door", ["npu", "backend"])
def test_training_through_both_doors(backend: EvaluatorBackend, door: str) -> None:
    torch.manual_seed(0)
    reference = mlp()
    model = copy.deepcopy(reference).to("npu") if door == "npu" else copy.deepcopy(reference)
    compiled = torch.compile(model) if door == "npu" else torch.compile(model, backend="torchsim")
    optimizers = [torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9) for module in (reference, model)]
    for _ in range(3):
        x, target = R(5, 6), torch.randint(0, 3, (5,))
        for module, optimizer, where in ((reference, optimizers[0], "cpu"), (compiled, optimizers[1], "npu" if door == "npu" else "cpu")):
            optimizer.zero_grad()
            loss = F.mse_loss(module(x.to(where)), F.one_hot(target, 3).float().to(where))
            loss.backward()
            optimizer.step()
    for expected, found in zip(reference.parameters(), model.parameters()):
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-5)
    assert len({graph for _, context, _ in backend.groups for graph in [context.graph_id]}) == 2  # forward and backward
    assert any(node.kind == "matmul" for group, _, _ in backend.groups for node in group.nodes)
    assert [graph for graph, _ in backend.graph_calls] == [*backend.graphs] * 3


@pytest.mark.req("D-2")
@pytest.mark.parametrize(
    "make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, lr=0.1)], ids=("sgd", "adam")
)
def test_compiled_optimizer_step(backend: EvaluatorBackend, make: Callable[[Any], torch.optim.Optimizer]) -> None:
    start = [R(4, 5), R(5)]
    gradients = [R(4, 5), R(5)]
    found, expected = [], []
    for results, where, compiled in ((found, "npu", True), (expected, "cpu", False)):
        parameters = [value.clone().to(where).requires_grad_() for value in start]
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient.clone().to(where)
        optimizer = make(parameters)
        step = torch.compile(optimizer.step) if compiled else optimizer.step
        for _ in range(3):
            step()
        results.extend(parameter.detach().cpu() for parameter in parameters)
    for want, got in zip(expected, found):
        torch.testing.assert_close(got, want)
    assert backend.groups


@pytest.mark.req("D-3")
@pytest.mark.parametrize(
    ("function", "op", "node"),
    [
        (lambda x: x.cumsum(1) + 1, "aten.cumsum.default", "cumsum"),
        (lambda x: torch.lgamma(x) * 2, "lgamma", "lgamma"),
        (lambda x: F.pad(x, (1, 1)) + 1, "mask", "constant_pad_nd"),
        (lambda x: F.dropout(x, 0.5), "aten.native_dropout.default", "native_dropout"),
        (lambda x: x[torch.tensor([1, 2], device=x.device)], "gather", "index"),
        (lambda x: x.roll(1, 0), "gather", "index"),
    ],
    ids=("extern", "pointwise", "pad", "random", "gather", "roll"),
)
def test_unsupported_is_an_error_that_names_op_and_node(backend: EvaluatorBackend, function: Any, op: str, node: str) -> None:
    compiled = torch.compile(function)
    for _ in range(2):  # the second call meets the compiled error
        with pytest.raises(UnsupportedError) as caught:
            compiled(R(4, 6).abs().to("npu"))
        assert op in str(caught.value)
        assert node in caught.value.where
    assert not backend.calls


@pytest.mark.req("D-3")
def test_fallback_runs_on_the_host_and_is_counted(backend: EvaluatorBackend) -> None:
    x, index = R(4, 6), torch.tensor([1, 2])

    def function(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.lgamma(x.abs().cumsum(1) + 1)[index] * 2

    compiled = torch.compile(function)
    with pytest.raises(UnsupportedError):
        compiled(x.to("npu"), index.to("npu"))
    with options(fallback="cpu"):
        for call in range(1, 3):
            torch.testing.assert_close(compiled(x.to("npu"), index.to("npu")).cpu(), function(x, index))
            assert [op for op, _ in backend.fallbacks].count("aten.cumsum.default") == call
    assert {"aten.index.Tensor", "aten.lgamma.default"} <= {op for op, _ in backend.fallbacks}
    assert ("aten.cumsum.default", "cumsum") in backend.fallbacks


@pytest.mark.req("D-8")
@pytest.mark.parametrize("dynamic", [None, True, pytest.param(False, marks=pytest.mark.slow)])
def test_other_shapes_recompile(backend: EvaluatorBackend, dynamic: bool | None) -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ w, -1) + x.shape[0]

    compiled = torch.compile(function, dynamic=dynamic)
    for rows, columns in ((3, 4), (5, 4), (7, 9), (3, 4), (2, 2), (1, 3)):
        x, w = R(rows, columns), R(columns, 5)
        torch.testing.assert_close(compiled(x.to("npu"), w.to("npu")).cpu(), function(x, w))
    assert len(backend.graphs) == 5


@pytest.mark.req("D-8")
def test_many_shapes_never_fall_back_to_eager(backend: EvaluatorBackend) -> None:
    """Dynamo's default limit of eight compiled forms would silently run the rest on the host."""
    compiled = torch.compile(lambda x: x * 2 + 1, dynamic=False)
    for size in range(1, 13):
        compiled(R(size).to("npu"))
    assert len(backend.calls) == 12


@pytest.mark.req("D-8")
@pytest.mark.parametrize("door", ["npu", "backend"])
def test_numbers_become_kernel_arguments(backend: EvaluatorBackend, door: str) -> None:
    """Dynamo passes a changing float as a tensor on the CPU; every machine gets its own kernel for it."""

    def function(x: torch.Tensor, scale: float, shift: int) -> torch.Tensor:
        return torch.relu(x * scale + scale) + shift

    compiled = torch.compile(function, backend="inductor" if door == "npu" else "torchsim")
    x = R(4, 5)
    for machine, scale, shift in (("8x8", 2.5, 1), ("8x8", 3.5, 1), ("32x32", 4.5, 1), ("8x8", 2.5, 2), ("32x32", 9.5, 3)):
        with selection.machine(machine):
            found = compiled(x.to("npu") if door == "npu" else x, scale, shift)
        torch.testing.assert_close(found.cpu(), function(x, scale, shift))
    assert len(backend.calls) == 5
    assert any(arg.dtype.value == "f64" and arg.elements == 1 for group, _, _ in backend.groups for arg in group.args)


@pytest.mark.req("D-8")
def test_graph_breaks_and_several_graphs(backend: EvaluatorBackend) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x) * 2
        torch._dynamo.graph_break()
        return y.sum(1) + 1

    x = R(4, 6)
    torch.testing.assert_close(torch.compile(function)(x.to("npu")).cpu(), function(x))
    assert len(backend.graphs) == 2
    assert len(backend.calls) == 2


def test_eager_ops_after_a_graph_break_are_not_traced(backend: EvaluatorBackend) -> None:
    """The device's own Python kernels run as they are: Dynamo neither compiles nor warns about them."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print(end="")
        return y[y > 0].view(-1) + 1

    x = R(8)
    torch.testing.assert_close(torch.compile(function)(x.to("npu")).cpu(), function(x))
    assert backend.calls


@pytest.mark.req("D-4")
def test_machine_is_part_of_what_is_compiled(backend: EvaluatorBackend) -> None:
    """128, 8, 128 on one compiled function; backward belongs to the machine of its forward, whatever is selected when it runs."""
    compiled = torch.compile(lambda x, w: torch.relu(x @ w))
    x, w = R(4, 5).to("npu").requires_grad_(), R(5, 6).to("npu").requires_grad_()
    kernels: list[int] = []
    for forward in ("128x128", "8x8", "128x128", "8x8"):
        with selection.machine(forward):
            y = compiled(x, w)
        with selection.machine("32x32"):
            y.sum().backward()
        kernels.append(len(backend.groups))
    assert kernels[1] == 2 * kernels[0]
    assert kernels[1] == kernels[2] == kernels[3]
    machines = [machine.name for _, _, machine in backend.groups]
    assert machines == ["128x128"] * kernels[0] + ["8x8"] * kernels[0]


@pytest.mark.req("D-4")
def test_machine_is_seen_on_other_threads(backend: EvaluatorBackend) -> None:
    compiled = torch.compile(lambda x: x + 1)
    x = R(4).to("npu")
    compiled(x)

    def work() -> None:
        compiled(x)

    with selection.machine("32x32"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert [machine.name for _, _, machine in backend.groups] == ["8x8", "32x32"]


@pytest.mark.req("D-3")
def test_complex_is_refused(backend: EvaluatorBackend) -> None:
    with pytest.raises(UnsupportedError, match="complex"):
        torch.compile(lambda x: torch.fft.fft(x).real)(R(4, 6).to("npu"))


def test_in_place_updates_and_aliases(check: Any) -> None:
    def update(x: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        b.mul_(0.9).add_(x.mean(0))
        return x.view(-1)[2:], b * 1

    check(update, R(3, 4), R(4))
    check(lambda x: x.sub_(x.mean(1, keepdim=True)).sum(1), R(5, 7))
    check(lambda x, w: x.copy_(x @ w), R(5, 5), R(5, 5))
    check(lambda x: (x.copy_(x.flip(0)), x * 2), R(6, 5))
    check(lambda x: x[1:].add_(x[:-1].clone()), R(6))
    check(lambda x: x.relu_(), R(6, 5), kernels=1)


def test_update_from_its_own_transpose_is_two_kernels(backend: EvaluatorBackend) -> None:
    """Eager refuses this; compiled, the sum is complete before the first element is overwritten."""
    x = R(5, 5)
    y = x.to("npu")
    torch.compile(lambda x: x.add_(x.t()))(y)
    torch.testing.assert_close(y.cpu(), x + x.t())
    assert len(backend.groups) == 2


@pytest.mark.req("D-1")
def test_retagged_graph_updates_the_callers_tensors(backend: EvaluatorBackend) -> None:
    def function(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        b.add_(1)
        return x.cpu() * b + torch.ones(4) + torch.tensor([1.0, 2.0, 3.0, 4.0]) + torch.arange(4, device="cpu")

    x, b = R(3, 4), R(4)
    expected_b = b.clone()
    expected = function(x, expected_b)
    version = b._version
    found = torch.compile(function, backend="torchsim")(x, b)
    assert found.device.type == "cpu"
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(b, expected_b)
    assert b._version > version
    assert backend.groups
    assert not backend.fallbacks


@pytest.mark.req("D-1")
def test_retagged_inputs_that_share_memory(backend: EvaluatorBackend) -> None:
    def function(x: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        row.mul_(2)
        return x.sum(1)

    base, expected = R(3, 4), None
    other = base.clone()
    expected = function(other, other[1])
    torch.testing.assert_close(torch.compile(function, backend="torchsim")(base, base[1]), expected)
    torch.testing.assert_close(base, other)


@pytest.mark.req("D-1")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_retagged_update_of_a_tensor_with_history_is_refused(backend: EvaluatorBackend) -> None:
    x = R(4, requires_grad=True)
    with pytest.raises(UnsupportedError, match="in-place"):
        torch.compile(lambda y: y.mul_(2).sum(), backend="torchsim")(x * 1)


def test_overlapping_storages_are_refused(backend: EvaluatorBackend) -> None:
    memory = torch.zeros(16)
    array = memory.numpy()
    first, second = torch.from_numpy(array[:8]), torch.from_numpy(array[4:12])
    compiled = torch.compile(lambda x, y: x.add_(y), backend="torchsim")
    with pytest.raises(InvalidInputError, match="share memory"):
        compiled(first, second)


@pytest.mark.req("H-2")
def test_context_names_goldens_and_reasons(backend: EvaluatorBackend) -> None:
    """Each written argument is the value of an fx node of the announced graph, or has a reason why it is none."""
    compiled = torch.compile(lambda x, w: (torch.var_mean(x @ w, 1), torch.softmax(x, 1).half().sum(0)))
    compiled(R(4, 6).to("npu"), R(6, 5).to("npu"))
    for group, context, _ in backend.groups:
        nodes = {node.name for node in backend.graphs[context.graph_id].graph.nodes}
        written = {arg.name for arg in group.args if arg.role != "input"}
        assert written == set(context.golden) | set(context.incomparable)
        assert set(context.golden.values()) <= nodes
        assert all(context.incomparable.values())


@pytest.mark.req("F-8", "F-3", "F-6")
@pytest.mark.parametrize(
    ("enabled", "kernels"), [(("fusion", "prologue", "reduction_reduction"), 2), ((), 5), (("fusion", "reduction_reduction"), 3)]
)
def test_fusion_switches_change_kernels_not_values(
    check: Any, caplog: pytest.LogCaptureFixture, enabled: tuple[str, ...], kernels: int
) -> None:
    machine = selection.current_machine().model_copy(update={"codegen_compiler_optimization": enabled})
    with selection.machine(machine), caplog.at_level(logging.INFO, "torchsim.fusion"):
        check(lambda x, w: torch.softmax(torch.relu((x * 2) @ w) + 1, -1), R(6, 8), R(8, 5), kernels=kernels)
    if not enabled:
        assert any("why_no_fuse" in message and "switched off" in message for message in caplog.messages)


def test_other_devices_are_left_alone(backend: EvaluatorBackend) -> None:
    """A CPU graph compiled with another backend in the same process never meets torchsim."""
    torch.compile(lambda x: x @ x + 1, backend="aot_eager")(R(3, 3))
    assert not backend.groups
