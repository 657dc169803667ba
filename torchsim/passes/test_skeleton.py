from __future__ import annotations

import pytest

from torchsim._mlir import ir
from torchsim.dialect import spad, togsim
from torchsim.dialect.build import binary, collect
from torchsim.dialect.togsim import BlockInfo, ByteRange, Dim
from torchsim.passes.loops import TILE
from torchsim.passes.lower_block import lower_block
from torchsim.passes.skeleton import skeleton
from torchsim.passes.test_support import MACHINE, kernel_module, plan_loop, records, transfer


def _kernel() -> None:
    transfer((Dim(16, 1, 1, 16, None),), buffer=1, buffer_offset=64, spad=64 + 8, tag=4).build()
    togsim.wait(4)

    def tile(i: object) -> None:
        BlockInfo(7, "vector", (ByteRange(1, 0, 32),), (ByteRange(2, i, 16),)).build(togsim.BLOCK_BEGIN)
        value = spad.load(64, ir.F32Type.get(), 1, 4, 4)
        spad.store(binary("arith.addf", value, value), 128, 1, 4)
        togsim.block_end(7)

    plan_loop(TILE, 8, 4, tile)
    BlockInfo(8, "preload", (ByteRange(1, 0, 32),), ()).build(togsim.BLOCK_BEGIN)
    togsim.block_end(8)
    BlockInfo(9, "matmul", (ByteRange(1, 0, 32),), (ByteRange(2, 0, 16),)).build(togsim.BLOCK_BEGIN)
    togsim.block_end(9)
    transfer((Dim(16, 1, 1, 16, None),), direction="store", tag=5).build()
    togsim.wait(5)


@pytest.mark.req("L-7")
def test_loops_transfers_and_waits_stay_and_blocks_become_costs() -> None:
    with kernel_module(_kernel) as module:
        skeleton(module, MACHINE)
        names = [op.name for op in collect(module, togsim.DMA, togsim.MEMORY_BARRIER, togsim.COMPUTE, "scf.for")]
        assert names == [
            togsim.DMA,
            togsim.MEMORY_BARRIER,
            "scf.for",
            togsim.COMPUTE,
            togsim.COMPUTE,
            togsim.COMPUTE,
            togsim.DMA,
            togsim.MEMORY_BARRIER,
        ]
        assert not collect(module, "llvm.load", "llvm.store", "arith.addf", togsim.BLOCK_BEGIN, togsim.BLOCK_END, togsim.TRANSFER)


@pytest.mark.req("L-7", "L-8")
def test_records() -> None:
    with kernel_module(_kernel) as module:
        found = records(module)
    load, wait, first, second, preload, matmul, store, last = found
    assert load == ("dma", 0, 0, 0, (16,), (1,), (0,), (16,), 32, True, 4, (), ((1, 64, 8, 8),))
    assert wait == ("bar", 4, 0)
    assert first == ("compute", 7, 0, ((1, 0, 0, 32),), ((2, 0, 0, 16),))
    assert second[4] == ((2, 0, 4, 16),)
    assert preload == ("compute", 8, 2, ((1, 0, 0, 32),), ((-1, 0, 0, 0),))
    assert matmul == ("compute", 9, 1, ((1, 0, 0, 32), (-1, 0, 0, 0)), ((2, 0, 0, 16),))
    assert store[:3] == ("dma", 1, 0)
    assert store[11:] == (((0, 0, 0, 8),), ())
    assert last == ("bar", 5, 0)


def test_block_marks_become_instructions() -> None:
    with kernel_module(_kernel) as module:
        lower_block(module, MACHINE)
        assert not collect(module, togsim.BLOCK_BEGIN, togsim.BLOCK_END)
        assert len(collect(module, "llvm.call")) == 6
