"""Device npu in eager mode: storage, views, autograd, modules, persistence, errors."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from torchsim import device as npu
from torchsim.errors import InvalidInputError, UnsupportedError

npu.register()
pytestmark = pytest.mark.req("D-9")


def network() -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(128, 10),
        torch.nn.LayerNorm(10),
    )


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    ],
)
def test_round_trip(dtype: torch.dtype) -> None:
    x = (torch.randn(4, 5) * 10).to(dtype)
    y = x.to("npu")
    assert y.device == torch.device("npu", 0)
    assert y.is_npu
    assert type(y) is torch.Tensor
    assert torch.equal(y.cpu(), x)
    y.zero_()
    assert not torch.equal(y.cpu(), x)


def test_strides_survive_the_move() -> None:
    x = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    assert x.to("npu").stride() == x.stride()
    assert torch.randn(4, 5).t().to("npu").cpu().stride() == (1, 5)


def test_views_alias_their_base() -> None:
    y = torch.randn(4, 6).to("npu")
    y[1:3].t().mul_(0)
    assert y.cpu()[1:3].abs().sum() == 0
    w = y.view(2, 12)
    w.fill_(3)
    assert bool((y == 3).all())
    assert w.data_ptr() == y.data_ptr()
    assert y[2:].untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    assert y.transpose(0, 1).reshape(-1).data_ptr() != y.data_ptr()
    y.as_strided((2, 2), (6, 1), 1).sub_(1)
    assert y.cpu()[0].tolist() == [3, 2, 2, 3, 3, 3]
    y.unsqueeze(0).select(0, 0)[3, 3] = 9
    assert y[3, 3].item() == 9


def test_storage_outlives_its_tensor() -> None:
    x = torch.arange(1000.0).to("npu")
    part = x[10:20]
    del x
    gc.collect()
    junk = [torch.full((1000,), 7.0) for _ in range(20)]
    assert torch.equal(part.cpu(), torch.arange(10.0, 20.0))
    del junk


def test_factories_and_printing() -> None:
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert make(2, 3, device="npu").is_npu
    assert torch.arange(5, device="npu").tolist() == [0, 1, 2, 3, 4]
    assert torch.full((2,), 2.5, device="npu").tolist() == [2.5, 2.5]
    assert torch.tensor([1, 2], device="npu").tolist() == [1, 2]
    assert torch.equal(torch.eye(3, device="npu").cpu(), torch.eye(3))
    assert "device='npu:0'" in repr(torch.arange(3.0, device="npu"))
    assert torch.empty(3, 4, device="npu").stride() == (4, 1)
    assert torch.zeros_like(torch.ones(2, device="npu")).is_npu
    torch.manual_seed(0)
    drawn = torch.randn(3, device="npu")
    torch.manual_seed(0)
    assert torch.equal(drawn.cpu(), torch.randn(3))


def test_scalars_and_truth() -> None:
    assert torch.tensor(3.0, device="npu").item() == 3.0
    assert bool(torch.tensor(1, device="npu"))
    assert torch.ones(2, device="npu").sum().tolist() == 2.0
    assert (torch.ones(2, device="npu") + torch.tensor(2.0)).tolist() == [3.0, 3.0]


def test_in_place_and_out_arguments_return_the_callers_tensor() -> None:
    y = torch.ones(3, device="npu")
    assert y.add_(1) is y
    out = torch.empty(0, device="npu")
    assert torch.add(y, 1, out=out) is out
    assert out.tolist() == [3, 3, 3]
    full = torch.empty(3, device="npu")
    pointer = full.data_ptr()
    torch.mul(y, 2, out=full)
    assert full.data_ptr() == pointer
    assert full.tolist() == [4, 4, 4]
    y.resize_(5)
    assert y.shape == (5,)
    assert y[:3].tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized:UserWarning")
def test_out_argument_that_cannot_be_resized_in_place() -> None:
    held = torch.ones(2, device="npu")
    with pytest.raises((UnsupportedError, RuntimeError)):
        torch.add(torch.ones(5000, device="npu"), 1, out=held)


def test_data_dependent_ops() -> None:
    x = torch.tensor([3.0, 1.0, 2.0], device="npu")
    values, order = torch.sort(x)
    assert values.tolist() == [1, 2, 3]
    assert order.tolist() == [1, 2, 0]
    assert x[x > 1].tolist() == [3, 2]
    assert torch.nonzero(x > 1).flatten().tolist() == [0, 2]
    x[torch.tensor([0, 2], device="npu")] = 5.0
    assert x.tolist() == [5, 1, 5]


def test_autograd_matches_cpu() -> None:
    a = torch.randn(3, 4, requires_grad=True)
    b = a.detach().to("npu").requires_grad_()
    w = torch.randn(4, 5)
    for x in (a, b):
        torch.softmax(torch.relu(x @ w.to(x.device)), -1).sum(0)[1].backward()
    assert b.grad is not None
    assert b.grad.is_npu
    torch.testing.assert_close(b.grad.cpu(), a.grad)


@pytest.mark.parametrize(
    "make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.AdamW(p, lr=0.1)], ids=("sgd", "adamw")
)
def test_eager_training(make: Any) -> None:
    torch.manual_seed(0)
    reference = network()
    model = copy.deepcopy(reference).to("npu")
    x, target = torch.randn(2, 3, 8, 8), torch.tensor([1, 2])
    optimizers = [make(module.parameters()) for module in (reference, model)]
    for _ in range(2):
        for module, optimizer, where in ((reference, optimizers[0], "cpu"), (model, optimizers[1], "npu")):
            optimizer.zero_grad()
            F.cross_entropy(module(x.to(where)), target.to(where)).backward()
            optimizer.step()
    for expected, found in zip(reference.state_dict().values(), model.state_dict().values()):
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)
    assert all(value.is_npu for state in optimizers[1].state.values() for value in state.values() if value.dim())


def test_save_and_load_everywhere() -> None:
    model = network().to("npu")
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    for location, expected in ((None, "npu"), ("cpu", "cpu"), ("npu", "npu"), ("npu:0", "npu")):
        file.seek(0)
        state = torch.load(file, map_location=location)
        assert state["0.weight"].device.type == expected
        torch.testing.assert_close(state["0.weight"].cpu(), model[0].weight.detach().cpu())
    model.load_state_dict(state)
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    assert torch.load(file, map_location="npu").is_npu


def test_copies_are_independent() -> None:
    x = torch.arange(3.0, device="npu")
    for other in (copy.deepcopy(x), x.clone(), pickle.loads(pickle.dumps(x)), x.detach().clone(), x.cpu().to("npu")):
        assert other.is_npu
        other.zero_()
    assert x.tolist() == [0, 1, 2]
    shared = [x, x[1:]]
    deep = copy.deepcopy(shared)
    deep[0].fill_(7)
    assert deep[1].tolist() == [7, 7]


def test_adopting_shares_memory_and_gradients() -> None:
    x = torch.randn(3, 4)
    y = npu.to_npu(x)
    y.add_(1)
    assert torch.equal(x, y.cpu())
    assert npu.host_view(y).data_ptr() == x.data_ptr() == npu.host_pointer(y)
    assert npu.storage_nbytes(y) == 48
    assert npu.to_npu(x[1:]).untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    assert npu.to_npu(y) is y
    leaf = torch.randn(3, requires_grad=True)
    (npu.to_cpu(npu.to_npu(leaf) * 2) * 3).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [6, 6, 6]
    assert leaf.grad.device.type == "cpu"


def test_adopted_memory_lives_as_long_as_the_device_tensor() -> None:
    y = npu.to_npu(torch.arange(100.0))
    gc.collect()
    junk = [torch.zeros(100) for _ in range(50)]
    assert y.sum().item() == 4950
    del junk


@pytest.mark.req("D-3")
def test_errors() -> None:
    with pytest.raises(UnsupportedError, match="complex"):
        torch.randn(2, dtype=torch.complex64).to("npu")
    with pytest.raises(UnsupportedError, match="complex"):
        torch.fft.fft(torch.randn(4, device="npu"))
    with pytest.raises(UnsupportedError):
        npu.to_npu(torch.eye(3).to_sparse())
    with pytest.raises(RuntimeError, match="device"):
        torch.ones(2, device="npu") + torch.ones(2)
    with pytest.raises(InvalidInputError):
        npu.to_npu(torch.ones(2, device="meta"))


def test_autocast_and_scaler() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert (torch.randn(2, 2, device="npu") @ torch.randn(2, 2, device="npu")).dtype == torch.bfloat16
        assert (torch.randn(2, device="npu") + 1).dtype == torch.float32


def test_modules_that_core_decomposes() -> None:
    torch.manual_seed(0)
    encoder = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = torch.randn(2, 3, 16)
    torch.testing.assert_close(copy.deepcopy(encoder).to("npu")(x.to("npu")).cpu(), encoder(x), rtol=1e-4, atol=1e-5)
    lstm = torch.nn.LSTM(4, 5)
    sequence = torch.randn(3, 2, 4)
    torch.testing.assert_close(copy.deepcopy(lstm).to("npu")(sequence.to("npu"))[0].cpu(), lstm(sequence)[0])
    for loss in (F.mse_loss, F.smooth_l1_loss, F.l1_loss, F.huber_loss):
        torch.testing.assert_close(loss(x.to("npu"), x.to("npu") * 2).cpu(), loss(x, x * 2))


def test_defaults_and_meta_modules() -> None:
    assert torch.nn.Linear(3, 4, device="meta").to_empty(device="npu").weight.is_npu
    assert torch.nn.Linear(2, 2).npu().weight.is_npu
    with torch.device("npu"):
        assert torch.nn.Linear(3, 4)(torch.ones(2, 3)).is_npu
    assert torch.npu.is_available()
    assert torch.npu.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.func.vmap(torch.func.grad(lambda x: (x**2).sum()))(torch.ones(2, 3, device="npu")).tolist() == [[2, 2, 2], [2, 2, 2]]


def test_overlap_check() -> None:
    memory = torch.zeros(16)
    array = memory.numpy()
    first, second = (npu.to_npu(torch.from_numpy(part)) for part in (array[:8], array[4:12]))
    npu.check_overlap([first, second], ["input", "input"])
    with pytest.raises(InvalidInputError, match="share memory"):
        npu.check_overlap([first, second], ["input", "inout"], ["x", "y"])
    whole = torch.zeros(16, device="npu")
    npu.check_overlap([whole[:8], whole[4:]], ["inout", "output"])
    far = npu.to_npu(torch.from_numpy(array[8:]))
    npu.check_overlap([first, far], ["output", "output"])


def test_registering_twice_is_harmless() -> None:
    npu.register()
    assert torch.ones(2, device="npu").sum().item() == 2
