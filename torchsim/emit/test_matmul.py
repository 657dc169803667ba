from __future__ import annotations

import numpy as np
import pytest

from torchsim.config import load_machine
from torchsim.emit.test_support import check_against_plan, matmul_group, random_array
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.override import TileOverride


def _check(machine_name: str, m: int, n: int, k: int, dtype: DType, *, relu: bool = False, override: TileOverride | None = None) -> None:
    machine = load_machine(machine_name)
    plan = build(matmul_group(m, n, k, dtype=dtype, relu=relu), machine, override)
    rng = np.random.default_rng(m + n + k)
    arrays = [random_array(arg.dtype, arg.elements, rng, small=True) for arg in plan.args]
    tolerance = {DType.F32: 1e-5, DType.F64: 1e-12, DType.BF16: 1e-2, DType.F16: 2e-3}.get(dtype, 0.0) * max(k, 1) ** 0.5
    check_against_plan(plan, machine, arrays, rtol=tolerance, atol=tolerance)


@pytest.mark.req("C-1", "L-5")
@pytest.mark.parametrize("machine", ["8x8", "32x32", "128x128"])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (5, 3, 2), (64, 32, 32), (100, 50, 70), (33, 129, 65)])
def test_shapes(machine: str, m: int, n: int, k: int) -> None:
    _check(machine, m, n, k, DType.F32)


@pytest.mark.req("C-1", "C-22")
@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F64, DType.I32, DType.I64])
def test_types(dtype: DType) -> None:
    """Half types are widened before the push; f64 and integers take the vector form."""
    _check("8x8", 20, 17, 25, dtype)


@pytest.mark.req("L-4")
def test_more_rows_than_the_queue_holds() -> None:
    _check("8x8", 300, 8, 24, DType.F32, override=TileOverride({"m": 300, "n": 8, "k": 8}))


@pytest.mark.req("C-17")
def test_fused_epilogue() -> None:
    _check("8x8", 45, 30, 20, DType.F32, relu=True)
