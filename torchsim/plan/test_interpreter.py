"""The interpreter notices what a wrong plan does: races, leaks, stray elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from torchsim.config import load_machine
from torchsim.errors import PlanError
from torchsim.plan.build import build
from torchsim.plan.group_numpy import evaluate
from torchsim.plan.interpreter import Order, run
from torchsim.plan.model import Affine, Block, KernelPlan, Transfer, Wait
from torchsim.plan.override import TileOverride
from torchsim.plan.poison import poisoned, relied_upon
from torchsim.plan.test_build import matmul, random_case, softmax
from torchsim.plan.test_groups import Case
from torchsim.plan.test_validate import SOFTMAX, block, edit, reduces, unmasked

pytestmark = pytest.mark.unit
MACHINE = load_machine("8x8")
CASE = random_case(softmax(20, 300))


def differs(plan: KernelPlan, case: Case = CASE, order: Order = "late") -> bool:
    expected, found = ([array.copy() for array in case.arrays] for _ in range(2))
    evaluate(case.group, expected)
    run(plan, found, order)
    return not all(np.allclose(one, other, rtol=1e-4, atol=1e-6) for one, other in zip(found, expected))


@pytest.mark.req("S-4")
def test_a_missing_wait_shows_in_late_order_only() -> None:
    """The load lands behind the block that uses it."""

    def late(plan: KernelPlan) -> KernelPlan:
        first = next(item for item in plan.body if isinstance(item, Wait))
        rest = tuple(item for item in plan.body if item is not first)
        return replace(plan, body=(*rest, first))

    plan = late(build(softmax(20, 300), MACHINE, TileOverride({"p0": 16, "r0": 300})))
    assert not differs(plan, order="early")
    assert differs(plan, order="late")


@pytest.mark.req("C-20")
def test_poison_shows_a_missing_mask() -> None:
    """An unmasked sum of zeros goes unnoticed until the fill is poisoned."""

    def sums(item: Block) -> bool:
        return reduces(item) and item.reduces[0].kind == "sum"

    assert not differs(poisoned(SOFTMAX))
    assert differs(poisoned(block(sums, unmasked)(SOFTMAX)))


def test_fills_of_plain_operands_are_kept() -> None:
    """x and w go to the array as they are loaded; with a prologue their raw buffers may be poisoned."""
    plain = build(matmul(20, 20, 20), MACHINE)
    assert {plain.buffers[index].name for index in relied_upon(plain)} == {"x", "w"}
    loads = {
        plain.buffers[item.buffer].name: item.fill
        for item in poisoned(plain).body
        if isinstance(item, Transfer) and item.direction == "load"
    }
    assert loads["x"] == loads["w"] == 0.0
    assert np.isnan(loads["in_b"])


def test_elements_outside_of_a_tensor_are_refused() -> None:
    """A shifted load."""
    broken = edit(SOFTMAX, Transfer, lambda item: [replace(item, element_offset=Affine(1, item.element_offset.terms))])
    with pytest.raises(PlanError, match="outside"):
        differs(broken)


def test_forgotten_transfers_are_refused() -> None:
    """A store that nobody waits for, in late order."""
    with pytest.raises(PlanError, match="never waited"):
        differs(edit(SOFTMAX, Wait, lambda item: []))


def test_arguments_are_checked() -> None:
    """Wrong type or too short."""
    with pytest.raises(PlanError, match="argument"):
        run(SOFTMAX, [CASE.arrays[0].astype(np.float64), CASE.arrays[1]])
    with pytest.raises(PlanError, match="argument"):
        run(SOFTMAX, [CASE.arrays[0][:-1], CASE.arrays[1]])
