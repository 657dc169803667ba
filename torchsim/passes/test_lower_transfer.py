from __future__ import annotations

from dataclasses import replace

import pytest

from torchsim._mlir import ir
from torchsim.dialect import togsim
from torchsim.dialect.build import Index, add, collect, constant, known
from torchsim.dialect.function import KERNEL, entry, find
from torchsim.dialect.togsim import Dim
from torchsim.passes.instructions import function_name
from torchsim.passes.loops import TILE
from torchsim.passes.lower_transfer import lower_transfer
from torchsim.passes.test_support import MACHINE, kernel_module, plan_loop, transfer
from torchsim.plan.dtypes import DType

DIMS = (Dim(5, 100, 3, 5, None), Dim(24, -2, 1, 24, None))


def _calls(module: ir.Module) -> list[tuple[str, Index, Index]]:
    names = {
        function_name(f"npu.{one}"): one for one in "config config2 config3 config_mask config_fill tag mvin mvin2 mvin3 mvout wait".split()
    }
    return [
        (names[ir.FlatSymbolRefAttr(op.attributes["callee"]).value], *(known(value) for value in op.operands))
        for op in collect(module, "llvm.call")
    ]


@pytest.mark.req("L-3")
def test_words_of_a_configuration_group() -> None:
    """Fields of docs/isa.md section 3; ranks below four are padded on the left."""
    with kernel_module(lambda: transfer(DIMS, vlane_stride=2, tag=3).build() and None) as module:
        lower_transfer(module, MACHINE)
        calls = _calls(module)
        assert [name for name, *_ in calls] == ["config", "config2", "config3", "tag", "mvin"]
        assert calls[0][1:] == (1 << 48 | 1 << 32 | 5 << 16 | 24, 2 << 32 | 0 << 17 | 3 << 14 | 4)
        assert calls[1][1:] == (0, 100 << 32 | 0xFFFF_FFFE)
        assert calls[2][1:] == (0, 3 << 32 | 1)
        assert calls[3][1:] == (3, 0)


@pytest.mark.req("L-3", "C-20")
def test_mask_and_fill_are_set_only_when_needed() -> None:
    def build() -> None:
        transfer((replace(DIMS[0], high=constant(4)), DIMS[1]), fill=0x7F800000).build()
        transfer(DIMS, direction="store", accumulate=True, dtype=DType.I32).build()

    with kernel_module(build) as module:
        lower_transfer(module, MACHINE)
        calls = _calls(module)
        load, store = calls[: calls.index(next(c for c in calls if c[0] == "mvin")) + 1], calls[7:]
        assert [name for name, *_ in load] == ["config", "config2", "config3", "config_mask", "config_fill", "tag", "mvin"]
        assert load[4][1:] == (0x7F800000, 6)
        assert [name for name, *_ in store] == ["config", "config2", "config3", "config_fill", "tag", "mvout"]
        assert store[3][1:] == (0, 3 | 256)


def test_loads_take_turns_on_the_slots() -> None:
    with kernel_module(lambda: [transfer(DIMS).build() for _ in range(4)] and None) as module:
        lower_transfer(module, MACHINE)
        assert [name for name, *_ in _calls(module) if name.startswith("mvin")] == ["mvin", "mvin2", "mvin3", "mvin"]


def test_a_group_alone_on_its_slot_leaves_the_loops() -> None:
    """Whole, and only as far as its bounds are known outside."""

    def build() -> None:
        plan_loop(TILE, 8, 4, lambda i: transfer(DIMS, offset=i).build() and None)
        plan_loop(TILE, 8, 4, lambda i: transfer((replace(DIMS[0], high=add(i, 1)), DIMS[1])).build() and None)

    with kernel_module(build) as module:
        lower_transfer(module, MACHINE)
        first, second = collect(module, "scf.for")
        inside = [list(map(str, collect(one, "llvm.call"))) for one in (first, second)]
        assert not any(function_name("npu.config") + "(" in call for call in inside[0])
        assert sum(function_name("npu.config_mask") + "(" in call for call in inside[1]) == 1
        assert sum(function_name("npu.config") + "(" in call for call in inside[1]) == 1


def test_two_transfers_on_a_slot_configure_where_they_are() -> None:
    def build() -> None:
        plan_loop(TILE, 8, 4, lambda i: [transfer(DIMS, direction="store", offset=i).build() for _ in range(2)] and None)

    with kernel_module(build) as module:
        lower_transfer(module, MACHINE)
        [loop] = collect(module, "scf.for")
        assert sum(function_name("npu.config") + "(" in str(call) for call in collect(loop, "llvm.call")) == 2


def test_addresses_come_from_the_argument_block() -> None:
    with kernel_module(lambda: [transfer(DIMS, arg=2, offset=10).build() for _ in range(2)] and None) as module:
        lower_transfer(module, MACHINE)
        [load] = collect(find(module, KERNEL), "llvm.load")
        assert "invariant" in str(load)
        assert entry(find(module, KERNEL)).arguments[0] == load.operands[0].owner.operation.operands[0]


@pytest.mark.req("L-2")
def test_wait_covers_all_transfers_of_a_slot() -> None:
    with kernel_module(lambda: togsim.wait(7) and None) as module:
        lower_transfer(module, MACHINE)
        assert _calls(module) == [("wait", 7, 0)]
