"""Producers: what they say, and what is refused."""

from __future__ import annotations

import ctypes
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

import togsim
from togsim import Compute, ComputeType, Direction, Dma, MemoryBar, Range, TileBegin, TileEnd, TraceError

INCLUDE = Path(togsim.__file__).parent / "include"

PRODUCER = """
#include "togsim_runtime.h"
int32_t togsim_abi_version(void) { return VERSION; }
static void tile(togsim_context* ctx, const int64_t* iv, int32_t n_iv) {
  (void)n_iv;
  const int64_t dims[2] = {4, 8}, strides[2] = {-8, 1}, low[2] = {0, 1}, high[2] = {4, 8};
  const togsim_range in = {0, 64, 0, 16}, out = {1, 128, 16, 32};
  ctx->api->dma(ctx, TOGSIM_LOAD, 2, iv[0] * 32 - 1, 2, dims, strides, low, high, 32, 1, 3, 0, 0, &in, 1);
  ctx->api->memory_barrier(ctx, 3, 1);
  ctx->api->compute(ctx, 7, TOGSIM_VECTOR, &in, 1, &out, 1);
}
void togsim_kernel(togsim_context* ctx, const int64_t* shape, int32_t n) {
  if (n != 1) { ctx->api->memory_barrier(ctx, 0, 0); return; }
  for (int64_t i = 0; i < shape[0]; ++i) ctx->api->dispatch(ctx, tile, &i, 1);
}
"""


def compile_producer(folder: Path, source: str, *, version: str = "TOGSIM_ABI_VERSION") -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("g++")
    assert compiler is not None, "the test set-up needs a C compiler"
    path = folder / "producer.c"
    path.write_text(source)
    target = folder / "producer.so"
    subprocess.run(
        [compiler, "-x", "c", "-shared", "-fPIC", f"-I{INCLUDE}", f"-DVERSION={version}", str(path), "-o", str(target)], check=True
    )
    return target


@pytest.mark.req("G-1", "G-2", "L-8")
def test_shared_object_gives_its_records(tmp_path: Path) -> None:
    kernel, abi = togsim.load_shared_object(compile_producer(tmp_path, PRODUCER))
    records = togsim.enumerate_records(kernel, abi, [2])
    place = Range(0, 64, 0, 16)
    expected = []
    for item in range(2):
        load = Dma(Direction.LOAD, 2, item * 32 - 1, (4, 8), (-8, 1), (0, 1), (4, 8), 32, True, 3, (), (place,))
        block = Compute(7, ComputeType.VECTOR, (place,), (Range(1, 128, 16, 32),))
        expected += [TileBegin(item, (item,)), load, MemoryBar(3, 1), block, TileEnd(item)]
    assert list(records) == expected
    assert [len(item) for item in records.work_items()] == [5, 5]
    assert togsim.records_of(togsim.synthetic_producer(records)) == records


@pytest.mark.req("L-8")
def test_stale_producer_is_refused(tmp_path: Path) -> None:
    path = compile_producer(tmp_path, PRODUCER, version=str(togsim.ABI_VERSION - 1))
    with pytest.raises(TraceError, match="stale trace producer") as caught:
        togsim.load_shared_object(path)
    assert str(togsim.ABI_VERSION) in caught.value.expected
    assert pickle.loads(pickle.dumps(caught.value)).expected == caught.value.expected
    library = ctypes.CDLL(str(path))
    kernel, abi = (ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in ("togsim_kernel", "togsim_abi_version"))
    with pytest.raises(TraceError, match="stale trace producer"):
        togsim.enumerate_records(kernel, abi)


@pytest.mark.req("L-8")
def test_missing_symbol_file_and_address(tmp_path: Path) -> None:
    without_kernel = PRODUCER.replace("void togsim_kernel", "void other_kernel")
    with pytest.raises(TraceError, match="missing symbol") as caught:
        togsim.load_shared_object(compile_producer(tmp_path, without_kernel))
    assert caught.value.expected == "togsim_kernel"
    with pytest.raises(TraceError, match="cannot load"):
        togsim.load_shared_object(tmp_path / "absent.so")
    with pytest.raises(TraceError, match="without togsim_kernel"):
        togsim.enumerate_records(0, 0)


@pytest.mark.req("G-1")
def test_record_outside_a_work_item_is_refused(tmp_path: Path) -> None:
    kernel, abi = togsim.load_shared_object(compile_producer(tmp_path, PRODUCER))
    with pytest.raises(TraceError, match="togsim_memory_barrier called outside a work-item"):
        togsim.enumerate_records(kernel, abi, [])
    nested = PRODUCER.replace("ctx->api->memory_barrier(ctx, 3, 1);", "ctx->api->dispatch(ctx, tile, iv, 1);")
    (tmp_path / "nested").mkdir()
    kernel, abi = togsim.load_shared_object(compile_producer(tmp_path / "nested", nested))
    with pytest.raises(TraceError, match="togsim_dispatch called inside a work-item"):
        togsim.enumerate_records(kernel, abi, [1])


GOOD = Dma(Direction.LOAD, 0, 0, (4,), (1,), (0,), (4,), 32, False, 0, (), (Range(0, 0, 0, 16),))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Dma(Direction.LOAD, -1, 0, (4,), (1,), (0,), (4,), 32, False, 0), "negative tensor argument"),
        (Dma(Direction.LOAD, 0, 0, (), (), (), (), 32, False, 0), "transfer rank"),
        (Dma(Direction.LOAD, 0, 0, (0,), (1,), (0,), (0,), 32, False, 0), "transfer extent"),
        (Dma(Direction.LOAD, 0, 0, (4,), (1,), (0,), (5,), 32, False, 0), "transfer bounds"),
        (Dma(Direction.LOAD, 0, 0, (4,), (1,), (-1,), (4,), 32, False, 0), "transfer bounds"),
        (Dma(Direction.LOAD, 0, 0, (4,), (1,), (0,), (4,), 12, False, 0), "element width"),
        (Dma(Direction.LOAD, 0, 0, (4,), (1, 2), (0,), (4,), 32, False, 0), "different rank"),
        (Dma(Direction.LOAD, 0, 0, (4,), (1,), (0,), (4,), 32, True, -2), "tag slot"),
        (Compute(0, ComputeType.VECTOR, (Range(0, 0, 0, -4),)), "range out of bounds"),
        (Compute(0, ComputeType.VECTOR, (Range(-2, 0, 0, 4),)), "unknown virtual buffer"),
        (MemoryBar(0, -1), "count of a barrier"),
    ],
)
def test_malformed_records_are_refused(record: togsim.Record, message: str) -> None:
    assert len(togsim.records_of(togsim.synthetic_producer([TileBegin(0), GOOD, TileEnd(0)]))) == 3
    with pytest.raises(TraceError, match=message) as caught:
        togsim.synthetic_producer([TileBegin(0), GOOD, record, TileEnd(0)])
    assert caught.value.where == "" or "record 1" in caught.value.where


@pytest.mark.parametrize("records", [[GOOD], [TileBegin(0), TileBegin(1)], [TileBegin(0), GOOD], [TileEnd(0)]])
def test_records_must_lie_in_work_items(records: list[togsim.Record]) -> None:
    with pytest.raises(TraceError):
        togsim.synthetic_producer(records)
