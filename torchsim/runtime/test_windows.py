"""Device addresses and windows: canonical, exact, and safe against overlapping storages."""

from __future__ import annotations

import pytest
import torch

from torchsim.errors import InvalidInputError
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Role, TensorArg
from torchsim.runtime.arena import ALIGNMENT, DEVICE_BASE, Arena
from torchsim.runtime.windows import map_arguments


def _arg(name: str, elements: int, role: Role = "input") -> TensorArg:
    return TensorArg(name, DType.F32, elements, role)


@pytest.mark.req("G-23")
def test_addresses_follow_first_use_not_allocation() -> None:
    late, early = torch.zeros(100), torch.zeros(3)
    arena = Arena()
    assert arena.address(early.untyped_storage()) == DEVICE_BASE
    assert arena.address(late.untyped_storage()) == DEVICE_BASE + ALIGNMENT
    assert arena.address(early.untyped_storage()) == DEVICE_BASE
    assert Arena().address(late.untyped_storage()) == DEVICE_BASE


def test_freed_storage_is_never_taken_for_a_new_one() -> None:
    arena = Arena()
    first = arena.address(torch.zeros(64).untyped_storage())
    assert arena.address(torch.zeros(64).untyped_storage()) != first


def test_views_of_one_storage_share_its_address() -> None:
    whole = torch.zeros(64)
    bases, windows = map_arguments([_arg("a", 8), _arg("b", 8, "output")], [whole[4:12], whole[8:16]], Arena())
    assert bases == [DEVICE_BASE + 16, DEVICE_BASE + 32]
    assert [(w.address, w.nbytes, w.writable) for w in windows] == [(DEVICE_BASE + 16, 48, True)]


def test_window_covers_touched_bytes_only() -> None:
    _, windows = map_arguments([_arg("a", 3)], [torch.zeros(10)[2:]], Arena())
    assert [(w.address, w.nbytes) for w in windows] == [(DEVICE_BASE + 8, 12)]


@pytest.mark.parametrize("written", [True, False])
def test_two_storages_over_the_same_bytes(written: bool) -> None:
    import numpy as np

    base = np.zeros(16, np.float32)
    a, b = torch.from_numpy(base), torch.from_numpy(base[4:])
    args = [_arg("a", 16), _arg("b", 12, "output" if written else "input")]
    if written:
        with pytest.raises(InvalidInputError, match="share memory"):
            map_arguments(args, [a, b], Arena())
    else:
        assert len(map_arguments(args, [a, b], Arena())[1]) == 2
