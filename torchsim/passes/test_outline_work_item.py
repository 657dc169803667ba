from __future__ import annotations

from dataclasses import replace

from torchsim.dialect import togsim
from torchsim.dialect.build import Index, add, collect
from torchsim.dialect.function import KERNEL, KERNEL_TILE, entry, find
from torchsim.passes.loops import WORK_ITEM
from torchsim.passes.outline_work_item import outline_work_item
from torchsim.passes.test_support import MACHINE, kernel_module, plan_loop, transfer


def test_the_innermost_body_becomes_a_function_of_the_indices() -> None:
    def body(i: Index) -> None:
        plan_loop(WORK_ITEM, 3, 1, lambda j: replace(transfer((togsim.Dim(4, 1, 1, 4, None),)), offset=add(i, j)).build() and None)

    with kernel_module(lambda: plan_loop(WORK_ITEM, 2, 1, body)) as module:
        outline_work_item(module, MACHINE)
        kernel, tile = find(module, KERNEL), find(module, KERNEL_TILE)
        assert len(entry(tile).arguments) == 3
        assert len(collect(tile, togsim.TRANSFER)) == 1
        assert not collect(kernel, togsim.TRANSFER)
        assert len(collect(kernel, "scf.for")) == 2
        [call] = collect(kernel, "llvm.call")
        assert len(call.operands) == 3


def test_a_kernel_of_one_work_item_has_no_loop() -> None:
    with kernel_module(lambda: transfer((togsim.Dim(4, 1, 1, 4, None),)).build() and None) as module:
        outline_work_item(module, MACHINE)
        assert len(collect(find(module, KERNEL_TILE), togsim.TRANSFER)) == 1
        assert len(collect(find(module, KERNEL), "llvm.call")) == 1
