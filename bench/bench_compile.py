"""Time from an analysed group to a loaded image and a ready trace producer: median over the kernels of a few networks, cold cache,
one run."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable

import torch

os.environ["TORCHSIM_CACHE_DIR"] = tempfile.mkdtemp(prefix="torchsim-bench-")

import torchsim
from torchsim.runtime import kernel as kernels
from torchsim.runtime import timing

LIMIT_SECONDS = 0.150

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu chain": lambda x: torch.relu(x * 2 - 1) / 3,
    "gelu": torch.nn.functional.gelu,
    "sum": lambda x: x.sum(1),
    "softmax": lambda x: torch.softmax(x, 1),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "matmul, bias, relu": lambda x: torch.relu(x @ x.t() + 1),
    "half matmul": lambda x: x.half() @ x.half().t(),
}


def main() -> int:
    """0 when the median is within the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", default="8x8,32x32,128x128")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times: list[float] = []
    original = kernels.obtain

    def timed(*arguments: object) -> kernels.Kernel:
        start = time.perf_counter()
        made = original(*arguments)  # type: ignore[arg-type]
        timing.producer(made)
        times.append(time.perf_counter() - start)
        return made

    kernels.obtain = timed  # type: ignore[assignment]
    for machine in options.machines.split(","):
        with torchsim.machine(machine):
            for function in FUNCTIONS.values():
                torch._dynamo.reset()
                torch.compile(function, backend="torchsim", dynamic=False)(torch.randn(96, 200))
    first, rest = times[0], times[1:]  # the first kernel of a process also imports MLIR and LLVM
    median = statistics.median(rest)
    if options.json:
        print(json.dumps({"kernels": len(rest), "median_s": median, "max_s": max(rest), "first_s": first, "limit_s": LIMIT_SECONDS}))
    else:
        print(
            f"kernel compile: median {median * 1e3:.0f} ms over {len(rest)} kernels, {min(rest) * 1e3:.0f} to {max(rest) * 1e3:.0f} "
            f"(limit {LIMIT_SECONDS * 1e3:.0f}); first in the process {first * 1e3:.0f} ms"
        )
    return int(median > LIMIT_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
