"""Any group, any tile, any machine: the plan is valid and computes what the group says, whatever its padding holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.config import Machine
from torchsim.errors import SpadOverflowError
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group_numpy import evaluate
from torchsim.plan.interpreter import run
from torchsim.plan.model import KernelPlan
from torchsim.plan.override import TileOverride
from torchsim.plan.poison import poisoned
from torchsim.plan.test_groups import Case, machines, matmul_cases, overrides, vector_cases
from torchsim.plan.validate import validate
from torchsim.plan.values import decode

pytestmark = pytest.mark.unit


def check_values(case: Case, plan: KernelPlan) -> None:
    """Early and late completion, zero, NaN and huge fills all give the group's values."""
    expected = [array.copy() for array in case.arrays]
    evaluate(case.group, expected)
    for variant, order in ((plan, "late"), (plan, "early"), (poisoned(plan, "nan"), "late"), (poisoned(plan, "huge"), "late")):
        found = [array.copy() for array in case.arrays]
        run(variant, found, order)
        for arg, one, other in zip(plan.args, found, expected):
            left, right = (decode(array, arg.dtype).astype(np.float64) for array in (one, other))
            rtol = {DType.F16: 2e-3, DType.BF16: 1e-2, DType.F32: 1e-4, DType.F64: 1e-12}.get(arg.dtype, 0)
            np.testing.assert_allclose(left, right, rtol=rtol, atol=rtol, equal_nan=True, err_msg=f"{arg.name} {order}")


def plan_or_skip(case: Case, machine: Machine, override: TileOverride | None) -> KernelPlan | None:
    """The plan; None when it cannot fit, which must then be true of the smallest tile too, or be the override's doing."""
    try:
        plan = build(case.group, machine, override)
    except SpadOverflowError:
        assert override is not None or machine.dispatch_budget_bytes <= 2048
        return None
    validate(plan, machine)
    return plan


@pytest.mark.req("T-8", "C-20", "C-23", "C-4")
@settings(max_examples=150, deadline=None)
@given(st.data(), vector_cases(), machines())
def test_vector_groups(data: st.DataObject, case: Case, machine: Machine) -> None:
    """Pointwise and reduction groups."""
    plan = plan_or_skip(case, machine, data.draw(overrides(case.group)))
    if plan is not None:
        check_values(case, plan)


@pytest.mark.req("T-8", "C-20", "F-6")
@settings(max_examples=100, deadline=None)
@given(st.data(), matmul_cases(), machines())
def test_matmul_groups(data: st.DataObject, case: Case, machine: Machine) -> None:
    """Matmuls on the array, and f64 ones in vector form."""
    override = None
    if data.draw(st.booleans()) and case.group.nodes[0].dtype is not DType.F64:
        side = machine.lanes
        extents = {axis.name: axis.extent for axis in case.group.axes}
        override = TileOverride(
            {
                "m": data.draw(st.integers(1, extents["m"])),
                "n": side * data.draw(st.integers(1, -(-extents["n"] // side))),
                "k": side * data.draw(st.integers(1, -(-extents["k"] // side))),
            }
        )
    plan = plan_or_skip(case, machine, override)
    if plan is not None:
        check_values(case, plan)
