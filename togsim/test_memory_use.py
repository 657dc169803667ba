"""Memory of a simulation: bounded by the work-items that run, and small for each record of those."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from togsim.test_records import compile_producer

# One work-item: per step a vector block makes weights and input of the step from the sums before, a preload and ten matmuls follow. Each
# step waits for the one before, so that the time of the run is linear in its length.
PRODUCER = """
#include "togsim_runtime.h"
int32_t togsim_abi_version(void) { return VERSION; }
static void tile(togsim_context* ctx, const int64_t* iv, int32_t n_iv) {
  (void)n_iv;
  const togsim_range weights = {TOGSIM_SA_WEIGHTS, 0, 0, 0}, input = {0, 0, 0, 64}, sums = {2, 128, 0, 80};
  for (int64_t k = 0; k < iv[0]; ++k) {
    ctx->api->compute(ctx, 0, TOGSIM_VECTOR, &sums, 1, &input, 1);
    ctx->api->compute(ctx, 0, TOGSIM_PRELOAD, &input, 1, &weights, 1);
    for (int64_t part = 0; part < 10; ++part) {
      const togsim_range out = {2, 128, 8 * part, 8}, reads[2] = {input, weights};
      ctx->api->compute(ctx, 1, TOGSIM_MATMUL, reads, 2, &out, 1);
    }
  }
  const togsim_range whole = {2, 128, 0, 80};
  const int64_t dims[1] = {20}, strides[1] = {1}, low[1] = {0}, high[1] = {20};
  ctx->api->dma(ctx, TOGSIM_STORE, 2, 0, 1, dims, strides, low, high, 32, 0, 0, &whole, 1, 0, 0);
}
void togsim_kernel(togsim_context* ctx, const int64_t* shape, int32_t n) {
  (void)n;
  for (int64_t i = 0; i < shape[0]; ++i) ctx->api->dispatch(ctx, tile, &shape[1], 1);
}
"""
RECORDS_PER_STEP = 12
CHILD = """
import resource, sys
import togsim
library, items, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
machine = {"num_cores": 1, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 1, "dram_type": "simple",
           "dram_freq_mhz": 940, "dram_channels": 4, "icnt_freq_mhz": 940, "num_systolic_array_per_core": 2}
simulator = togsim.Simulator(machine)
kernel, abi = togsim.load_shared_object(library)
run = lambda items, steps: simulator.run(kernel, abi, [items, steps], [1 << 20, 1 << 24, 1 << 28], [(4, 0), (3, 1)])
run(1, 1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = run(items, steps)
print(sum(result.cores[0].instructions.values()), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def bytes_for(library: Path, items: int, steps: int) -> tuple[int, int]:
    """Instructions issued, and bytes by which the process grew."""
    child = subprocess.run([sys.executable, "-c", CHILD, str(library), str(items), str(steps)], capture_output=True, text=True, check=True)
    issued, grown = map(int, child.stdout.split())
    return issued, grown


@pytest.mark.req("G-2")
@pytest.mark.parametrize(
    ("few", "many", "steps"),
    [(3, 30, 2000), pytest.param(200, 20_000, 5, id="as many as ResNet-50")],  # 53 convolutions in some hundred work-items each
)
def test_memory_does_not_grow_with_the_number_of_work_items(few: int, many: int, steps: int, tmp_path: Path) -> None:
    library = compile_producer(tmp_path, PRODUCER)
    issued_few, grown_few = bytes_for(library, few, steps)
    issued_many, grown_many = bytes_for(library, many, steps)
    assert issued_few == few * (RECORDS_PER_STEP * steps + 1)
    assert issued_many == many * (RECORDS_PER_STEP * steps + 1)
    assert grown_many <= grown_few + (4 << 20)


@pytest.mark.req("G-2")
def test_a_million_records_in_one_work_item_take_at_most_200_mb(tmp_path: Path) -> None:
    library = compile_producer(tmp_path, PRODUCER)
    issued, grown = bytes_for(library, 1, 84_000)
    assert issued > 1_000_000
    assert grown <= 200_000_000
