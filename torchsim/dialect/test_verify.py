from __future__ import annotations

from collections.abc import Callable

import pytest

from torchsim._mlir import ir
from torchsim.dialect import rvv, togsim
from torchsim.dialect.build import binary, constant, create, integer, integers, single, splat
from torchsim.dialect.definition import DEFINITION
from torchsim.dialect.togsim import BlockInfo, ByteRange, Dim, Transfer
from torchsim.dialect.verify import verify
from torchsim.errors import InternalError
from torchsim.passes.test_support import MACHINE, kernel_module, transfer
from torchsim.plan.dtypes import DType

DIMS = (Dim(6, 8, 8, 6, None), Dim(8, 1, 1, 8, None))


def _begin(block: int = 1) -> None:
    BlockInfo(block, "vector", (ByteRange(0, 0, 4),), ()).build(togsim.BLOCK_BEGIN)


def _escape() -> None:
    _begin()
    value = splat(1.0, rvv.vector(4, ir.F32Type.get()))
    togsim.block_end(1)
    binary("arith.addf", value, value)


def _transfer_in_block() -> None:
    _begin()
    transfer(DIMS).build()
    togsim.block_end(1)


def _unequal_lists() -> None:
    transfer(DIMS).build().attributes["dram_strides"] = integers([1])


def _lost_bound() -> None:
    transfer(DIMS).build().attributes["bounded"] = integers([1, 0])


def _lost_range() -> None:
    BlockInfo(1, "vector", (ByteRange(0, 0, 4),), ()).build(togsim.BLOCK_BEGIN).attributes["read_lengths"] = integers([])
    togsim.block_end(1)


BROKEN: dict[str, tuple[Callable[[], object], str]] = {
    "subtile": (lambda: transfer((Dim(6, 8, 8, 4, None),)).build(), "subtile does not divide"),
    "split": (lambda: transfer(DIMS, split=2).build(), "split dimension does not exist"),
    "stride": (lambda: transfer((Dim(6, 1 << 31, 8, 6, None),)).build(), "exceeds 32 bits"),
    "lists": (_unequal_lists, "differ in length"),
    "bounds": (_lost_bound, "as many bounds"),
    "direction": (lambda: transfer(DIMS, direction="sideways").build(), "neither load nor store"),
    "vlane_stride": (lambda: transfer(DIMS, vlane_stride=0).build(), "vlane_stride"),
    "fill": (lambda: transfer(DIMS, direction="store", fill=1).build(), "a store has a fill"),
    "accumulating load": (lambda: transfer(DIMS, accumulate=True).build(), "cannot accumulate"),
    "accumulating f16": (lambda: transfer(DIMS, direction="store", accumulate=True, dtype=DType.F16).build(), "cannot accumulate"),
    "preload": (lambda: create(togsim.PRELOAD, operands=[constant(0)], attributes={"count": integer(4)}), "number of lanes"),
    "matmul": (lambda: create(togsim.MATMUL, operands=[constant(0)] * 2, attributes={"rows": integer(0)}), "no rows"),
    "ranges": (_lost_range, "differ in number"),
    "no end": (_begin, "without its end"),
    "no begin": (lambda: togsim.block_end(1), "without its begin"),
    "wrong end": (lambda: (_begin(), togsim.block_end(2)), "without its end"),
    "nested": (lambda: (_begin(), _begin(), togsim.block_end(1), togsim.block_end(1)), "inside a block"),
    "transfer in a block": (_transfer_in_block, "inside a block"),
    "escape": (_escape, "used outside"),
    "operand type": (lambda: create(togsim.WAIT, operands=[constant(0, 32)]), "invalid"),
    "operand count": (lambda: create(togsim.WAIT), "invalid"),
    "attribute": (lambda: create(togsim.BLOCK_END), "invalid"),
    "result": (lambda: single(togsim.VLANE_IDX, ir.F32Type.get()), "invalid"),
}


@pytest.mark.req("L-2")
@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules_are_named(name: str) -> None:
    build, message = BROKEN[name]
    with kernel_module(lambda: None) as module:
        block = module.body.operations[1].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            build()
        with pytest.raises(InternalError, match=message) as found:
            verify(module, MACHINE.lanes, where="after a pass")
        assert "after a pass" in str(found.value)
        for one in reversed(list(block.operations)[:-1]):
            one.operation.erase()


@pytest.mark.req("L-2")
def test_views_round_trip() -> None:
    with kernel_module(lambda: None) as module, ir.InsertionPoint.at_block_begin(module.body.operations[1].regions[0].blocks[0]):
        dims = (Dim(6, -8, 8, 3, 5), Dim(16, 1, 1, 8, None))
        one = transfer(dims, id=3, arg=2, dtype=DType.BF16, buffer=1, buffer_offset=64, vlane_stride=2, fill=7, offset=-5, spad=96, tag=11)
        assert Transfer.read(one.build()) == one
        block = BlockInfo(4, "matmul", (ByteRange(0, 8, 32), ByteRange(1, 0, 16)), (ByteRange(2, 4, 64),))
        assert BlockInfo.read(block.build(togsim.BLOCK_BEGIN)) == block
        togsim.block_end(4)


def test_in_lane_geometry() -> None:
    one = transfer((Dim(3, 1, 40, 3, None), Dim(21, 1, 1, 21, None)), vlane_stride=2)
    # 21 positions on eight lanes of stride 2 are two rows: four in-lane positions
    assert one.in_lane_extent(1, 8) == 4
    assert one.span_bytes(8) == (2 * 40 + 3 + 1) * 4


def test_every_operation_says_what_it_means() -> None:
    assert all(definition.meaning for definition in DEFINITION.values())
